#include "controllers/training/replica_pod.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int64_t kFirstRetryableCode = 128;
constexpr size_t kMostMessage = 256;

constexpr std::array<std::string_view, 5> kDisruptions = {"Evicted", "Preempting", "NodeLost",
                                                          "NodeShutdown", "Terminated"};

bool is_disruption(const Json& tree) {
  if (std::ranges::find(kDisruptions, text_at(tree, {"status", "reason"})) != kDisruptions.end())
    return true;
  return condition_status(tree, "DisruptionTarget") == "True";
}

void read_containers(ReplicaPod& pod, const TrainingJob& job, const Json& tree) {
  const Json* main = main_container(*job.kind, tree);
  const std::string_view main_name = main == nullptr ? "" : text_at(*main, {"name"});
  for (const Json& status : list_at(tree, {"status", "containerStatuses"})) {
    pod.restarts += int_at(status, {"restartCount"});
    const Json* ended = find_path(status, {"state", "terminated"});
    if (text_at(status, {"name"}) == main_name) {
      if (ended != nullptr) pod.exit_code = int_at(*ended, {"exitCode"});
    } else {
      pod.others_run |= ended == nullptr;
    }
  }
  for (const Json& status : list_at(tree, {"status", "initContainerStatuses"}))
    pod.restarts += int_at(status, {"restartCount"});
}

std::string_view short_text(std::string_view text) {
  return text.substr(0, kMostMessage);
}

// `pod P container C exit X (OOMKilled) on node N` of the container that failed first.
std::string failure_text(const ReplicaPod& pod, const Json& tree) {
  const std::string place = pod.node.empty() ? "" : " on node " + pod.node;
  const Json* first = nullptr;
  std::optional<Time> at;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& status : list_at(tree, {"status", list})) {
      const Json* ended = find_path(status, {"state", "terminated"});
      if (ended == nullptr || int_at(*ended, {"exitCode"}) == 0) continue;
      const auto finished = time_at(*ended, {"finishedAt"});
      if (first != nullptr && (!finished || (at && *finished >= *at))) continue;
      first = &status;
      at = finished;
    }
  }
  const std::string_view why = text_at(tree, {"status", "reason"});
  if (first == nullptr)
    return fmt::format("pod {} ({}){}", pod.name, why.empty() ? "Error" : why, place);
  const std::string_view reason = text_at(*first, {"state", "terminated", "reason"});
  return fmt::format("pod {} container {} exit {} ({}){}", pod.name, text_at(*first, {"name"}),
                     int_at(*first, {"state", "terminated", "exitCode"}),
                     !why.empty()     ? why
                     : reason.empty() ? "Error"
                                      : reason,
                     place);
}

void add_container_troubles(ReplicaPod& pod, const JsonArray& statuses) {
  for (const Json& status : statuses) {
    const std::string_view name = text_at(status, {"name"});
    if (const Json* ended = find_path(status, {"state", "terminated"});
        ended != nullptr && int_at(*ended, {"exitCode"}) != 0) {
      pod.troubles.push_back(
          {std::string(text_at(*ended, {"reason"}, "Error")),
           fmt::format("Error pod {} container {} exitCode: {} terminated message: {}", pod.name,
                       name, int_at(*ended, {"exitCode"}),
                       short_text(text_at(*ended, {"message"})))});
    }
    const std::string_view waiting = text_at(status, {"state", "waiting", "message"});
    if (!waiting.empty())
      pod.troubles.push_back({std::string(text_at(status, {"state", "waiting", "reason"}, "Error")),
                              fmt::format("Error pod {} container {} waiting message: {}", pod.name,
                                          name, short_text(waiting))});
  }
}

// What keeps a pod from running well: of its containers, else of those before them, else the newest
// of its conditions.
void read_troubles(ReplicaPod& pod, const Json& tree) {
  if (pod.is_terminal() || pod.being_deleted) return;
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    const JsonArray& statuses = list_at(tree, {"status", list});
    if (!statuses.empty()) return add_container_troubles(pod, statuses);
  }
  const Json* newest = nullptr;
  for (const Json& condition : list_at(tree, {"status", "conditions"})) {
    if (newest == nullptr ||
        time_at(condition, {"lastTransitionTime"}) > time_at(*newest, {"lastTransitionTime"}))
      newest = &condition;
  }
  if (newest == nullptr || text_at(*newest, {"status"}) == "True") return;
  pod.troubles.push_back({std::string(text_at(*newest, {"reason"}, "Error")),
                          fmt::format("Error pod {} condition message: {}", pod.name,
                                      short_text(text_at(*newest, {"message"})))});
}

PodPhase phase_named(std::string_view text) {
  if (text == "Running") return PodPhase::Running;
  if (text == "Succeeded") return PodPhase::Succeeded;
  if (text == "Failed") return PodPhase::Failed;
  return text == "Unknown" ? PodPhase::Unknown : PodPhase::Pending;
}

}  // namespace

ReplicaPod replica_pod(const TrainingJob& job, const Json& tree, Revision revision) {
  ReplicaPod pod;
  pod.name = name_of(tree);
  pod.uid = text_at(tree, {"metadata", "uid"});
  pod.node = text_at(tree, {"spec", "nodeName"});
  pod.revision = revision;
  pod.label = text_at(tree, {"metadata", "labels", kReplicaTypeLabel});
  pod.gang_size = text_at(tree, {"metadata", "annotations", kGangSize});
  const std::string_view digits = text_at(tree, {"metadata", "labels", kReplicaIndexLabel});
  if (const auto number = parse_int64(digits); number && *number >= 0 && *number <= INT32_MAX)
    pod.index = static_cast<int>(*number);
  // A launcher that takes ranks too shifts the labels of the others by one.
  if (pod.label == "launcher") pod.index = 0;
  if (pod.label == "worker" && pod.index && job.kind->version == "v2beta1" &&
      bool_at(*job.tree, {"spec", "runLauncherAsWorker"}))
    --*pod.index;
  pod.generation = static_cast<int>(
      parse_int64(text_at(tree, {"metadata", "labels", kGenerationLabel})).value_or(0));
  pod.phase = phase_named(text_at(tree, {"status", "phase"}));
  pod.being_deleted = is_being_deleted(tree);
  if (const auto due = time_at(tree, {"metadata", "deletionTimestamp"})) pod.deletion_due = *due;
  pod.is_started = time_at(tree, {"status", "startTime"}).has_value();
  pod.is_disrupted = is_disruption(tree);
  if (find_path(tree, {"spec", "activeDeadlineSeconds"}) != nullptr)
    pod.deadline_seconds = int_at(tree, {"spec", "activeDeadlineSeconds"});
  read_containers(pod, job, tree);
  if (pod.phase == PodPhase::Failed || pod.exit_code.value_or(0) != 0)
    pod.failure = failure_text(pod, tree);
  read_troubles(pod, tree);
  return pod;
}

PodPhase decisive_phase(const TrainingJob& job, const ReplicaPod& pod) {
  if (!job.main_decides || pod.phase != PodPhase::Running || !pod.exit_code || !pod.others_run)
    return pod.phase;
  return *pod.exit_code == 0 ? PodPhase::Succeeded : PodPhase::Failed;
}

bool is_retryable_code(std::optional<int64_t> code) {
  return !code || *code >= kFirstRetryableCode;
}

}  // namespace yard
