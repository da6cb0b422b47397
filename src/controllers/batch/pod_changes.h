#pragma once
// How many pods a Job makes or removes now (kubernetes-core A4.7, A6, A8, A11, A12).

#include "controllers/batch/job_standing.h"

namespace yard {

struct PodChanges {
  PodRefs remove;  // uncounted: they lose their finalizer first
  struct NewPod {
    std::optional<int> index;
    const PodFacts* replaced = nullptr;
    friend bool operator==(const NewPod&, const NewPod&) = default;
  };
  std::vector<NewPod> create;
  std::optional<Duration> wait;   // in back-off: look again after this
  bool creates_are_held = false;  // there would be more than `most_creates`
};

inline constexpr size_t kMostPodsPerPass = 500;

// `most_creates` is 0 while creating waits after an error.
PodChanges pod_changes(const JobFacts& job, const JobStanding& standing,
                       const BackoffRecord& backoff, size_t most_creates, Time now);

}  // namespace yard
