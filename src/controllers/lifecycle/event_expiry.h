#pragma once
// Events go an hour after they were last written (api-machinery 8.1). One timer, armed for the one
// that is due first.

#include <map>
#include <set>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

// When an Event was last written, as far as it tells: what the server noted, or what its writer
// says unless that lies ahead of `now`.
Time last_write(const Json& event, Time now);

class EventExpiry {
 public:
  EventExpiry(Loop& loop, Client& client);
  ~EventExpiry();
  size_t known() const { return due_.size(); }

 private:
  struct Name {
    std::string ns, name;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  void hear(const ObjectEvent& event);
  void set_due(const Name& name, Time due);
  void forget(const Name& name);
  void arm();
  void remove_due();
  void remove(const Name& name, const Object& event);

  Loop& loop_;
  Client& client_;
  // Filed under the hour after creation; only when that comes is the Event read to see whether it
  // was written since.
  std::map<Name, Time> due_;
  std::set<std::pair<Time, Name>> by_time_;
  Client::Subscription subscription_ = 0;
  TimerId timer_ = 0;
  Time armed_for_{};
};

}  // namespace yard
