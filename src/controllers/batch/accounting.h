#pragma once
// Counting every ended pod exactly once, whatever dies in between (kubernetes-core A16): first the
// status names the pod as uncounted, then the pod loses its finalizer, then the status counts it. A
// pod of which the status says nothing yet keeps its finalizer, so it cannot vanish; one without a
// finalizer is counted only if the status names it.

#include <set>

#include "controllers/batch/job_end.h"

namespace yard {

struct Accounts {
  PodRefs release;  // lose the finalizer now, before the status below is written
  int succeeded = 0, failed = 0;
  std::vector<std::string> uncounted_succeeded, uncounted_failed;
  IndexSet completed;
  bool has_more = false;  // pods are left that still have to be named or released
  bool is_settled() const {
    return !has_more && uncounted_succeeded.empty() && uncounted_failed.empty();
  }
};

inline constexpr size_t kMostUncounted = 500;

Accounts accounts(const JobFacts& job, const std::vector<PodFacts>& pods,
                  const JobStanding& standing, const std::optional<JobEnd>& end);

}  // namespace yard
