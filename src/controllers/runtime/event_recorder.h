#pragma once
// Tells what happened to an object as core/v1 Events. The same Event again only counts; many that
// differ in their words become one line that says so; one object cannot flood the store. All of it
// bounded. Loop thread.

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/loop.h"
#include "client/client.h"
#include "controllers/runtime/controller.h"

namespace yard {

struct EventLimits {
  size_t most_known = 4096;  // series remembered, the oldest go first
  int similar = 10;          // events of one reason in `similar_within` before they share a line
  Duration similar_within = std::chrono::minutes(10);
  int burst = 25;  // events about one object, one more every `refill`
  Duration refill = std::chrono::minutes(5);
};

class EventRecorder {
 public:
  // `component` is the source people see: job-controller.
  EventRecorder(Loop& loop, Client& client, std::string component, EventLimits limits = {});
  void record(const Resource& resource, const Object& about, const EventNote& note);

 private:
  struct Series {
    std::string name;  // of the Event object; empty: none yet
    int64_t count = 0;
  };
  struct Source {
    double tokens = 0;
    Time refilled{};
    std::unordered_map<std::string, Series> series;  // by reason and message
    struct Similar {
      int count = 0;
      Time since{};
    };
    std::unordered_map<std::string, Similar> similar;  // by reason
    std::list<std::string>::iterator age;
  };
  Source& source_of(const Object& about);
  bool may_tell(Source& source) const;
  void create(const Resource& resource, const Object& about, const EventNote& note,
              std::string name);
  void count_up(const Object& about, const EventNote& note, const std::string& key,
                const Series& series);

  Loop& loop_;
  Client& client_;
  const std::string component_;
  const EventLimits limits_;
  std::unordered_map<std::string, Source> sources_;  // by uid
  std::list<std::string> ages_;                      // uids, the latest used last
  int64_t last_name_ = 0;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
