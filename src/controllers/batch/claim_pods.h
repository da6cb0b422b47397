#pragma once
// Which pods a Job takes for its own and which it lets go, by labels and owners (kubernetes-core
// A2).

#include "controllers/batch/plan_job.h"

namespace yard {

// A pod without a controller that the Job's selector matches: owner and finalizer are added.
PodClaim adoption(const JobFacts& job, const Json& pod, Revision revision);
// An owned pod that the selector matches no more: both are taken off.
PodClaim release_claim(const JobFacts& job, const Json& pod, Revision revision);

// The owner reference that controls the pod, if any.
std::optional<OwnerRef> controller_of(const Object& pod);

}  // namespace yard
