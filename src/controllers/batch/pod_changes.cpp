#include "controllers/batch/pod_changes.h"

#include <algorithm>

#include "controllers/batch/job_pod.h"
#include "controllers/batch/surplus_pods.h"

namespace yard {
namespace {

int wanted_active(const JobFacts& job, const JobStanding& standing) {
  const int active = static_cast<int>(standing.active.size());
  // A work queue is done with the first success: what runs may end, nothing begins.
  if (!job.completions) return standing.succeeded > 0 ? active : job.parallelism;
  return std::clamp(*job.completions - standing.succeeded, 0, std::max(0, job.parallelism));
}

// Each index waits for its own back-off; those that are ready go ahead.
void create_ready_indexes(PodChanges& out, const std::vector<int>& indexes,
                          const JobStanding& standing, Time now) {
  for (const int index : indexes) {
    const auto failure = standing.awaiting_replacement.find(index);
    const PodFacts* replaced =
        failure == standing.awaiting_replacement.end() ? nullptr : failure->second;
    const Duration left =
        replaced == nullptr ? Duration::zero() : remaining_index_backoff(*replaced, now);
    if (left == Duration::zero()) {
      out.create.push_back({index, replaced});
    } else {
      out.wait = std::min(out.wait.value_or(left), left);
    }
  }
}

void plan_creates(PodChanges& out, const JobFacts& job, const JobStanding& standing,
                  const BackoffRecord& backoff, size_t count, Time now) {
  if (!job.backoff_limit_per_index) {
    if (const Duration left = remaining_backoff(backoff, now); left > Duration::zero()) {
      out.wait = left;
      return;
    }
  }
  if (!job.indexed) {
    out.create.assign(count, {});
    return;
  }
  create_ready_indexes(out, pending_indexes(job, standing, count), standing, now);
}

}  // namespace

PodChanges pod_changes(const JobFacts& job, const JobStanding& standing,
                       const BackoffRecord& backoff, size_t most_creates, Time now) {
  PodChanges out;
  const int active = static_cast<int>(standing.active.size());
  if (job.suspend) {
    out.remove = standing.active;
  } else {
    const int want = wanted_active(job, standing);
    out.remove =
        surplus_pods(job, standing.active, static_cast<size_t>(std::max(0, active - want)));
    const int held = job.replaces_only_failed ? static_cast<int>(standing.terminating.size()) : 0;
    const int missing = want - active - held;
    if (out.remove.empty() && missing > 0) {
      plan_creates(out, job, standing, backoff,
                   std::min(static_cast<size_t>(missing), kMostPodsPerPass), now);
      out.creates_are_held = out.create.size() > most_creates;
      if (out.creates_are_held) out.create.resize(most_creates);
    }
  }
  if (out.remove.size() > kMostPodsPerPass) out.remove.resize(kMostPodsPerPass);
  return out;
}

}  // namespace yard
