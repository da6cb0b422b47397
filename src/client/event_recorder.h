#pragma once
// core/v1 Events as kubelet and scheduler write them: a repeat raises the count of the first. Loop
// thread.

#include <map>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

struct EventText {
  std::string type;  // Normal, Warning
  std::string reason, message;
  std::string field_path;
};

class PodEventRecorder {
 public:
  PodEventRecorder(Client& client, Loop& loop, std::string component, std::string host);
  // `about` is the tree of the object the event is about.
  void record(const Json& about, const EventText& text);

 private:
  struct Seen {
    std::string ns, name;
    int64_t count = 1;
  };
  Client& client_;
  Loop& loop_;
  std::string component_, host_;
  std::map<std::string, Seen> seen_;  // by object, type, reason, message and path; bounded
};

}  // namespace yard
