#pragma once
// The pods a Job makes, and the small writes it makes to them (kubernetes-core A2, A7, A8).

#include "controllers/batch/job_standing.h"

namespace yard {

// `replaced` is the failure whose count of tries the new pod takes over, with backoffLimitPerIndex.
Json new_pod(const JobFacts& job, std::optional<int> index, const PodFacts* replaced);

Json owner_reference(const JobFacts& job);

ClientWrite create_pod(const JobFacts& job, std::optional<int> index, const PodFacts* replaced);
ClientWrite delete_pod(const JobFacts& job, const PodFacts& pod);
// Takes the tracking finalizer off. `at_revision`: only from the pod that was seen, so that no
// other's finalizer is lost.
ClientWrite release_pod(const JobFacts& job, const PodFacts& pod, bool at_revision);

// The pending indexes, smallest first, at most `count`.
std::vector<int> pending_indexes(const JobFacts& job, const JobStanding& standing, size_t count);

}  // namespace yard
