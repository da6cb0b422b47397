#pragma once
// Tells what happened to an object as core/v1 Events: controllers, scheduler and node agent alike.
// The same Event again only counts; many that differ in their words become one line that says so;
// one object cannot flood the store. All of it bounded. Loop thread.

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

// What people read under `kubectl describe`.
struct EventNote {
  enum class Type { Normal, Warning };
  Type type = Type::Normal;
  std::string reason, message;
  std::string field_path = {};  // spec.containers{c}; "" for the whole object
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

struct EventLimits {
  size_t most_known = 4096;  // objects remembered, the oldest go first
  int similar = 10;          // events of one reason in `similar_within` before they share a line
  Duration similar_within = std::chrono::minutes(10);
  int burst = 25;  // events about one object, one more every `refill`
  Duration refill = std::chrono::minutes(5);
};

class EventRecorder {
 public:
  // `component` is the source people see: job-controller; `host` is the node that tells, if one.
  EventRecorder(Loop& loop, Client& client, std::string component, std::string host = "",
                EventLimits limits = {});
  void record(const Resource& resource, const Object& about, const EventNote& note);
  // `about` is the tree of a whole object: kind and apiVersion are read from it.
  void record(const Json& about, const EventNote& note);

 private:
  struct Subject;
  struct Series {
    std::string name;  // of the Event object; empty: none yet
    int64_t count = 0;
  };
  struct Source {
    double tokens = 0;
    Time refilled{};
    std::unordered_map<std::string, Series> series;  // by type, reason, message and path
    struct Similar {
      int count = 0;
      Time since{};
    };
    std::unordered_map<std::string, Similar> similar;  // by reason and path
    std::list<std::string>::iterator age;
  };
  void record(const Subject& subject, EventNote note);
  int64_t next_name();
  Source& source_of(const std::string& uid);
  bool may_tell(Source& source) const;
  void create(const Subject& subject, const EventNote& note, std::string name);
  void count_up(const Subject& subject, const EventNote& note, const std::string& key,
                const Series& series);

  Loop& loop_;
  Client& client_;
  const std::string component_, host_;
  const EventLimits limits_;
  std::unordered_map<std::string, Source> sources_;  // by uid
  std::list<std::string> ages_;                      // uids, the latest used last
  int64_t last_name_ = 0;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
