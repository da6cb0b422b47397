#pragma once
// One look at a Job: from its facts, its pods and the time to the writes that bring it on
// (kubernetes-core A4).

#include "controllers/batch/job_standing.h"
#include "controllers/runtime/controller.h"

namespace yard {

// A pod to adopt or to let go, decided by its labels and owners.
struct PodClaim {
  std::string name, uid;
  Revision revision = 0;
  JsonArray owners;  // as they should be
  JsonArray finalizers;
};

struct JobWorld {
  JobFacts job;
  std::vector<PodFacts>
      pods;  // owned and matching; ended ones that are counted already may be left out
  std::vector<PodClaim> claims;  // settled before anything else
  BackoffRecord backoff;
  size_t most_creates = 500;             // fewer after an error, 0 while waiting after one
  std::optional<Duration> create_again;  // then creating is tried again
  Time now;
};

struct JobPlan {
  Plan plan;
  BackoffRecord backoff;  // holds once the plan went well
};
JobPlan plan_job(const JobWorld& world);

}  // namespace yard
