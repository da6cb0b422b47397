#include "controllers/batch/job_facts.h"

#include <algorithm>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

std::optional<int> number_at(const Json& value, std::initializer_list<std::string_view> path) {
  const Json* found = find_path(value, path);
  if (found == nullptr || found->is_null()) return std::nullopt;
  return static_cast<int>(int_at(value, path));
}

std::vector<std::string> texts_at(const Json& value, std::initializer_list<std::string_view> path) {
  std::vector<std::string> out;
  for (const Json& item : list_at(value, path))
    out.emplace_back(text_of(item));
  return out;
}

void read_spec(JobFacts& job, const Json& tree) {
  const Json* spec = find(tree, "spec");
  if (spec == nullptr) return;
  const std::string_view mode = text_at(*spec, {"completionMode"}, "NonIndexed");
  job.indexed = mode == "Indexed";
  job.mode_is_known = job.indexed || mode == "NonIndexed";
  job.parallelism = static_cast<int>(int_at(*spec, {"parallelism"}, 1));
  job.completions = number_at(*spec, {"completions"});
  job.backoff_limit = static_cast<int>(int_at(*spec, {"backoffLimit"}, 6));
  job.backoff_limit_per_index = number_at(*spec, {"backoffLimitPerIndex"});
  job.max_failed_indexes = number_at(*spec, {"maxFailedIndexes"});
  if (const Json* deadline = find(*spec, "activeDeadlineSeconds");
      deadline != nullptr && !deadline->is_null()) {
    job.active_deadline_seconds = int_at(*spec, {"activeDeadlineSeconds"});
  }
  job.suspend = bool_at(*spec, {"suspend"});
  job.failure_policy = find(*spec, "podFailurePolicy");
  job.success_policy = find(*spec, "successPolicy");
  job.replaces_only_failed =
      job.failure_policy != nullptr || text_at(*spec, {"podReplacementPolicy"}) == "Failed";
  job.restarts_in_place = text_at(*spec, {"template", "spec", "restartPolicy"}) == "OnFailure";
  job.managed_by = text_at(*spec, {"managedBy"});
}

void read_status(JobFacts& job, const Json& tree) {
  job.succeeded = static_cast<int>(int_at(tree, {"status", "succeeded"}));
  job.failed = static_cast<int>(int_at(tree, {"status", "failed"}));
  job.start_time = time_at(tree, {"status", "startTime"});
  job.uncounted_succeeded = texts_at(tree, {"status", "uncountedTerminatedPods", "succeeded"});
  job.uncounted_failed = texts_at(tree, {"status", "uncountedTerminatedPods", "failed"});
  const int end = job.completions.value_or(0);
  job.completed = IndexSet::parse(text_at(tree, {"status", "completedIndexes"}), end);
  job.failed_indexes = IndexSet::parse(text_at(tree, {"status", "failedIndexes"}), end);
  for (const Json& condition : list_at(tree, {"status", "conditions"})) {
    if (text_at(condition, {"status"}) != "True") continue;
    job.conditions.push_back({std::string(text_at(condition, {"type"})),
                              std::string(text_at(condition, {"reason"})),
                              std::string(text_at(condition, {"message"}))});
  }
}

PodPhase phase_of(std::string_view text) {
  if (text == "Running") return PodPhase::Running;
  if (text == "Succeeded") return PodPhase::Succeeded;
  if (text == "Failed") return PodPhase::Failed;
  return text == "Pending" || text.empty() ? PodPhase::Pending : PodPhase::Unknown;
}

int annotated_number(const Json& tree, std::string_view key, int otherwise) {
  const auto number = parse_int64(text_at(tree, {"metadata", "annotations", key}));
  if (!number || *number < 0 || *number > INT32_MAX) return otherwise;
  return static_cast<int>(*number);
}

void read_containers(PodFacts& pod, const Json& tree) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& status : list_at(tree, {"status", list})) {
      pod.restarts += int_at(status, {"restartCount"});
      if (find_path(status, {"state", "terminated"}) == nullptr) continue;
      pod.exits.push_back({std::string(text_at(status, {"name"})),
                           int_at(status, {"state", "terminated", "exitCode"})});
    }
  }
}

bool is_sidecar(const Json& tree, std::string_view name) {
  return std::ranges::any_of(list_at(tree, {"spec", "initContainers"}), [&](const Json& container) {
    return text_at(container, {"name"}) == name &&
           text_at(container, {"restartPolicy"}) == "Always";
  });
}

// The end of the last app container or sidecar, when all have ended.
std::optional<Time> last_container_end(const Json& tree) {
  std::optional<Time> last;
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    const bool init = std::string_view(list) == "initContainerStatuses";
    for (const Json& status : list_at(tree, {"status", list})) {
      if (init && !is_sidecar(tree, text_at(status, {"name"}))) continue;
      const auto end = time_at(status, {"state", "terminated", "finishedAt"});
      if (!end) return std::nullopt;
      last = std::max(last.value_or(*end), *end);
    }
  }
  return last;
}

Time finish_time(const Json& tree) {
  if (const auto end = last_container_end(tree)) return *end;
  for (const Json& condition : list_at(tree, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) != "Ready" || text_at(condition, {"status"}) != "False")
      continue;
    if (const auto since = time_at(condition, {"lastTransitionTime"})) return *since;
  }
  if (const auto deleted = time_at(tree, {"metadata", "deletionTimestamp"})) {
    return *deleted -
           std::chrono::seconds(int_at(tree, {"metadata", "deletionGracePeriodSeconds"}));
  }
  return created_at(tree).value_or(Time{});
}

}  // namespace

const JobCondition* JobFacts::condition(std::string_view type) const {
  const auto found = std::ranges::find(conditions, type, &JobCondition::type);
  return found == conditions.end() ? nullptr : &*found;
}

JobFacts job_facts(Json given) {
  JobFacts job;
  job.tree = std::make_shared<const Json>(std::move(given));
  const Json& tree = *job.tree;
  job.ns = text_at(tree, {"metadata", "namespace"});
  job.name = name_of(tree);
  job.uid = text_at(tree, {"metadata", "uid"});
  job.being_deleted = is_being_deleted(tree);
  read_spec(job, tree);
  read_status(job, tree);
  return job;
}

PodFacts pod_facts(const Json& tree, Revision revision) {
  PodFacts pod;
  pod.name = name_of(tree);
  pod.uid = text_at(tree, {"metadata", "uid"});
  pod.revision = revision;
  pod.phase = phase_of(text_at(tree, {"status", "phase"}));
  pod.being_deleted = is_being_deleted(tree);
  pod.is_scheduled = !text_at(tree, {"spec", "nodeName"}).empty();
  pod.created = created_at(tree).value_or(Time{});
  pod.finalizers = texts_at(tree, {"metadata", "finalizers"});
  if (const int index = annotated_number(tree, kIndexKey, -1); index >= 0) pod.index = index;
  pod.index_failures = annotated_number(tree, kIndexFailures, 0);
  pod.index_ignored_failures = annotated_number(tree, kIndexIgnoredFailures, 0);
  for (const Json& condition : list_at(tree, {"status", "conditions"})) {
    pod.conditions.push_back(
        {std::string(text_at(condition, {"type"})), std::string(text_at(condition, {"status"}))});
    if (pod.conditions.back().type != "Ready" || pod.conditions.back().status != "True") continue;
    pod.is_ready = true;
    pod.ready_since = time_at(condition, {"lastTransitionTime"}).value_or(Time{});
  }
  read_containers(pod, tree);
  if (pod.is_terminal() || pod.being_deleted) pod.finished = finish_time(tree);
  return pod;
}

bool PodFacts::is_tracked() const {
  return std::ranges::find(finalizers, kTrackingFinalizer) != finalizers.end();
}

bool is_considered_failed(const PodFacts& pod, const JobFacts& job) {
  if (pod.phase == PodPhase::Failed) return true;
  if (job.replaces_only_failed || !pod.being_deleted) return false;
  // Ending well after it was counted as lost does not undo that: its replacement may be running.
  return pod.phase != PodPhase::Succeeded ||
         std::ranges::find(job.uncounted_failed, pod.uid) != job.uncounted_failed.end();
}

}  // namespace yard
