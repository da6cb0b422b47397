#include "controllers/batch/job_end.h"

#include <fmt/format.h>

#include "controllers/batch/pod_failure_policy.h"
#include "controllers/batch/success_policy.h"

namespace yard {
namespace {

JobEnd failure(const char* reason, std::string message) {
  return {.success = false, .reason = reason, .message = std::move(message)};
}

std::optional<JobEnd> stored_end(const JobFacts& job) {
  for (const char* type : {"SuccessCriteriaMet", "FailureTarget"}) {
    const JobCondition* condition = job.condition(type);
    if (condition == nullptr) continue;
    return JobEnd{std::string_view(type) == "SuccessCriteriaMet", condition->reason,
                  condition->message, true};
  }
  return std::nullopt;
}

std::optional<JobEnd> policy_failure(const JobFacts& job, const JobStanding& standing) {
  if (job.failure_policy == nullptr) return std::nullopt;
  for (const PodFacts* pod : standing.new_failed) {
    FailureVerdict verdict = failure_verdict(job, *pod);
    if (verdict.action == FailureVerdict::Action::FailJob)
      return failure("PodFailurePolicy", std::move(verdict.message));
  }
  return std::nullopt;
}

// Containers restarted in place count as well, as long as their pods are there.
bool restarts_exceed(const JobFacts& job, const JobStanding& standing) {
  if (!job.restarts_in_place) return false;
  int64_t restarts = 0;
  for (const PodRefs* pods : {&standing.active, &standing.terminating}) {
    for (const PodFacts* pod : *pods)
      if (pod->phase != PodPhase::Unknown) restarts += pod->restarts;
  }
  return job.backoff_limit == 0 ? restarts > 0 : restarts >= job.backoff_limit;
}

std::optional<JobEnd> failed_indexes(const JobFacts& job, const JobStanding& standing) {
  if (!job.backoff_limit_per_index || !job.indexed) return std::nullopt;
  const int failed = standing.failed_indexes.size();
  if (job.max_failed_indexes && failed > *job.max_failed_indexes) {
    return failure("MaxFailedIndexesExceeded",
                   "Job has exceeded the specified maximal number of failed indexes");
  }
  if (failed > 0 && failed + standing.completed.size() >= job.completions.value_or(0)) {
    return failure("FailedIndexes", "Job has failed indexes");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Duration> remaining_deadline(const JobFacts& job, std::optional<Time> start_time,
                                           Time now) {
  if (!job.active_deadline_seconds || !start_time || job.suspend) return std::nullopt;
  // Longer than a century is never; and the sum below must not overflow.
  constexpr int64_t kNever = int64_t{100} * 365 * 24 * 3600;
  if (*job.active_deadline_seconds > kNever) return std::nullopt;
  return *start_time + std::chrono::seconds(*job.active_deadline_seconds) - now;
}

std::optional<JobEnd> job_end(const JobFacts& job, const JobStanding& standing,
                              std::optional<Time> start_time, Time now) {
  if (auto end = stored_end(job)) return end;
  if (auto end = policy_failure(job, standing)) return end;
  if (standing.failed > job.backoff_limit || restarts_exceed(job, standing)) {
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  if (const auto left = remaining_deadline(job, start_time, now);
      left && *left <= Duration::zero()) {
    return failure("DeadlineExceeded", "Job was active longer than specified deadline");
  }
  if (auto end = failed_indexes(job, standing)) return end;
  if (const auto rule = met_success_rule(job, standing.completed); rule && job.indexed) {
    return JobEnd{.success = true,
                  .reason = "SuccessPolicy",
                  .message = fmt::format("Matched rules at index {}", *rule)};
  }
  return std::nullopt;
}

std::optional<JobEnd> completion(const JobFacts& job, int succeeded, size_t active) {
  const bool enough = job.completions ? succeeded >= *job.completions : succeeded > 0;
  if (!enough || active > 0) return std::nullopt;
  return JobEnd{.success = true,
                .reason = "CompletionsReached",
                .message = "Reached expected number of succeeded pods"};
}

}  // namespace yard
