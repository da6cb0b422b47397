#pragma once
// Where a Job stands: its pods sorted by what they mean to it, and what they add up to
// (kubernetes-core A4.2, A4.3, A8).

#include <map>

#include "controllers/batch/backoff.h"

namespace yard {

struct JobStanding {
  PodRefs active, terminating;
  int ready = 0;
  PodRefs new_succeeded, new_failed;  // ended, tracked and in no count yet
  int succeeded = 0, failed = 0;      // with those and the uncounted
  IndexSet completed;                 // Indexed: with the new ones
  IndexSet failed_indexes;            // with backoffLimitPerIndex
  // backoffLimitPerIndex: the latest failure of an index that waits for its next pod. It stays
  // until that pod exists, which takes the count of failures over.
  std::map<int, const PodFacts*> awaiting_replacement;
};

// `pods` must outlive the answer.
JobStanding job_standing(const JobFacts& job, const std::vector<PodFacts>& pods);

}  // namespace yard
