#pragma once
// Finished Jobs go when ttlSecondsAfterFinished has passed, by timer (kubernetes-core A13). Loop
// thread.

#include <optional>

#include "controllers/runtime/controller.h"
#include "controllers/runtime/first_hearing.h"

namespace yard {

// When the Job is due to go; none while it runs, or without a ttl.
std::optional<Time> expiry(const Json& job);
Plan plan_expiry(const Json& job, Time now);

class JobTtl {
 public:
  JobTtl(Loop& loop, Client& client);
  ~JobTtl();

 private:
  void hear(const Object& job);
  Loop& loop_;
  Client& client_;
  Controller controller_;
  Client::Subscription events_ = 0;
  FirstHearing first_hearing_;
};

}  // namespace yard
