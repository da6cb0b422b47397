#include "controllers/batch/job_standing.h"

#include <algorithm>
#include <set>

#include "controllers/batch/pod_failure_policy.h"

namespace yard {
namespace {

using Uids = std::set<std::string_view>;

bool fails_its_index(const JobFacts& job, const PodFacts& pod) {
  if (!is_considered_failed(pod, job)) return false;
  const FailureVerdict verdict = failure_verdict(job, pod);
  if (verdict.action == FailureVerdict::Action::FailIndex) return true;
  return verdict.counts() && pod.index_failures >= *job.backoff_limit_per_index;
}

void sort_new_ends(JobStanding& out, const JobFacts& job, const std::vector<PodFacts>& pods) {
  const Uids succeeded(job.uncounted_succeeded.begin(), job.uncounted_succeeded.end());
  const Uids failed(job.uncounted_failed.begin(), job.uncounted_failed.end());
  for (const PodFacts& pod : pods) {
    if (!pod.is_tracked() || (job.indexed && !job.is_valid_index(pod.index))) continue;
    if (pod.phase == PodPhase::Succeeded && !succeeded.contains(pod.uid) &&
        !failed.contains(pod.uid))
      out.new_succeeded.push_back(&pod);
    if (is_considered_failed(pod, job) && !failed.contains(pod.uid)) out.new_failed.push_back(&pod);
  }
}

void count(JobStanding& out, const JobFacts& job) {
  out.completed = job.completed;
  if (job.indexed) {
    for (const PodFacts* pod : out.new_succeeded)
      out.completed.insert(*pod->index);
    out.succeeded = out.completed.size();
  } else {
    out.succeeded =
        job.succeeded + static_cast<int>(out.new_succeeded.size() + job.uncounted_succeeded.size());
  }
  const auto counted = std::ranges::count_if(
      out.new_failed, [&](const PodFacts* pod) { return failure_verdict(job, *pod).counts(); });
  out.failed = job.failed +
               static_cast<int>(counted + static_cast<std::ptrdiff_t>(job.uncounted_failed.size()));
}

void sort_failed_indexes(JobStanding& out, const JobFacts& job, const std::vector<PodFacts>& pods) {
  out.failed_indexes = job.failed_indexes;
  std::set<int> active;
  for (const PodFacts* pod : out.active)
    if (pod->index) active.insert(*pod->index);
  for (const PodFacts& pod : pods) {
    // A success counts more than what was tried before or beside it.
    if (!job.is_valid_index(pod.index) || out.completed.contains(*pod.index)) continue;
    if (fails_its_index(job, pod)) out.failed_indexes.insert(*pod.index);
  }
  const auto tries = [](const PodFacts& pod) {
    return pod.index_failures + pod.index_ignored_failures;
  };
  for (const PodFacts& pod : pods) {
    if (!pod.is_tracked() || !job.is_valid_index(pod.index) || !is_considered_failed(pod, job))
      continue;
    if (out.completed.contains(*pod.index) || out.failed_indexes.contains(*pod.index) ||
        active.contains(*pod.index))
      continue;
    const PodFacts*& kept = out.awaiting_replacement[*pod.index];
    if (kept == nullptr || tries(*kept) < tries(pod)) kept = &pod;
  }
}

}  // namespace

JobStanding job_standing(const JobFacts& job, const std::vector<PodFacts>& pods) {
  JobStanding out;
  for (const PodFacts& pod : pods) {
    if (pod.is_active()) {
      out.active.push_back(&pod);
      out.ready += pod.is_ready;
    } else if (pod.is_terminating()) {
      out.terminating.push_back(&pod);
    }
  }
  sort_new_ends(out, job, pods);
  count(out, job);
  if (job.backoff_limit_per_index) sort_failed_indexes(out, job, pods);
  return out;
}

}  // namespace yard
