#pragma once
// How long a Job waits before it replaces failed pods (kubernetes-core A6, A8).

#include <span>

#include "controllers/batch/job_facts.h"

namespace yard {

// Failures in a row since the last success, by finish time.
struct BackoffRecord {
  int failures = 0;
  Time last_failure{};
  friend bool operator==(const BackoffRecord&, const BackoffRecord&) = default;
};

using PodRefs = std::vector<const PodFacts*>;

// The record after these pods ended.
BackoffRecord next_backoff(BackoffRecord record, const PodRefs& succeeded, const PodRefs& failed);

// Zero when the next pod may start now.
Duration remaining_backoff(const BackoffRecord& record, Time now);
// The same for the pod that follows `failed` at its index.
Duration remaining_index_backoff(const PodFacts& failed, Time now);

}  // namespace yard
