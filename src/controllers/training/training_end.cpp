#include "controllers/training/training_end.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBackoffText =
    "has failed because it has reached the specified backoff limit";
constexpr std::string_view kDeadlineText =
    "has failed because it was active longer than specified deadline";

bool says_namespace(const TrainingJob& job) {
  const Framework& framework = framework_of(*job.kind);
  return framework.says_namespace != nullptr && framework.says_namespace(job);
}

std::string succeeded_message(const TrainingJob& job) {
  if (says_namespace(job))
    return fmt::format("{} {}/{} successfully completed.", job.kind->kind, job.ns, job.name);
  return fmt::format("{} {} is successfully completed.", job.kind->kind, job.name);
}

std::string failed_message(const TrainingJob& job, const GroupStanding& standing) {
  if (job.kind->kind == "TFJob")
    return fmt::format("TFJob {}/{} has failed because {} {} replica(s) failed.", job.ns, job.name,
                       standing.failed, standing.group->type);
  const std::string kind =
      job.kind->kind == "MXJob" ? lower(job.kind->kind) : std::string(job.kind->kind);
  return fmt::format("{} {} is failed because {} {} replica(s) failed.", kind, job.name,
                     standing.failed, standing.group->type);
}

bool has_succeeded(const TrainingJob& job, const TrainingStanding& standing,
                   const std::vector<ReplicaPod>& pods) {
  const GroupStanding* leader = standing.of(job.leader());
  if (leader != nullptr && leader->has_succeeded()) return true;
  const Framework& framework = framework_of(*job.kind);
  return framework.succeeds_early != nullptr && framework.succeeds_early(job, pods);
}

std::optional<TrainingEnd> failure(const TrainingJob& job, const TrainingStanding& standing) {
  for (const GroupStanding& group : standing.groups) {
    if (group.fatal.empty()) continue;
    const bool by_code = group.group->restart == ReplicaRestart::ExitCode;
    std::string message =
        by_code ? fmt::format("job \"{}\" is failing because \"{}\" replica(s) failed.", job.name,
                              group.group->type)
                : failed_message(job, group);
    return TrainingEnd{false, with_first_failure(std::move(message), group.fatal.front()),
                       by_code ? EventNote::Type::Warning : EventNote::Type::Normal};
  }
  return std::nullopt;
}

const ReplicaPod* any_failure(const TrainingStanding& standing) {
  for (const GroupStanding& group : standing.groups) {
    if (!group.restart.empty()) return group.restart.front();
    for (const ReplicaPod* pod : group.slots)
      if (pod != nullptr && !pod->failure.empty()) return pod;
  }
  return nullptr;
}

}  // namespace

std::string with_first_failure(std::string message, const ReplicaPod* pod) {
  if (pod == nullptr || pod->failure.empty()) return message;
  return message + "; first failure: " + pod->failure;
}

std::string running_message(const TrainingJob& job) {
  if (says_namespace(job))
    return fmt::format("{} {}/{} is running.", job.kind->kind, job.ns, job.name);
  return fmt::format("{} {} is running.", job.kind->kind, job.name);
}

std::string restarting_message(const TrainingJob& job, std::string_view type) {
  return fmt::format("job {} is restarting because {} replica(s) failed.", job.name, type);
}

bool exceeds_backoff(const TrainingJob& job, const TrainingStanding& standing, int more) {
  if (!job.backoff_limit) return false;
  const int64_t all = job.restarts + standing.restarts_in_place + more;
  if (more > 0) return all > *job.backoff_limit;
  // In place a restart has happened already when it is seen.
  return standing.restarts_in_place > 0 && all >= std::max<int64_t>(1, *job.backoff_limit);
}

TrainingEnd backoff_end(const TrainingJob& job, const TrainingStanding& standing) {
  return {false, with_first_failure(fmt::format("Job {} {}", job.name, kBackoffText),
                                    any_failure(standing))};
}

bool ended_by_limit(const TrainingJob& job) {
  for (const Json& condition : list_at(*job.tree, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) != "Failed") continue;
    const std::string_view message = text_at(condition, {"message"});
    return message.find(kBackoffText) != std::string_view::npos ||
           message.find(kDeadlineText) != std::string_view::npos;
  }
  return false;
}

std::optional<Time> deadline_at(const TrainingJob& job, std::optional<Time> start) {
  if (!job.deadline_seconds || !start) return std::nullopt;
  // Beyond a hundred years a deadline is none; sums of what users write must not overflow.
  constexpr int64_t kLongest = 100LL * 366 * 24 * 3600;
  return *start + std::chrono::seconds(std::clamp<int64_t>(*job.deadline_seconds, 0, kLongest));
}

std::optional<TrainingEnd> training_end(const TrainingJob& job, const TrainingStanding& standing,
                                        const std::vector<ReplicaPod>& pods, Time now) {
  if (has_succeeded(job, standing, pods)) return TrainingEnd{true, succeeded_message(job)};
  if (auto failed = failure(job, standing)) return failed;
  if (exceeds_backoff(job, standing, 0)) return backoff_end(job, standing);
  if (const auto deadline = deadline_at(job, job.start_time); deadline && now >= *deadline)
    return TrainingEnd{false, fmt::format("Job {} {}", job.name, kDeadlineText)};
  return std::nullopt;
}

Duration restart_delay(int restarts) {
  if (restarts <= 1) return Duration::zero();
  return std::min<Duration>(10s * (1 << std::min(restarts - 2, 10)), 5min);
}

}  // namespace yard
