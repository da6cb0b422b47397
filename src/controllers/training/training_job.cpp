#include "controllers/training/training_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

ReplicaRestart restart_of(std::string_view text) {
  if (text == "Always") return ReplicaRestart::Always;
  if (text == "OnFailure") return ReplicaRestart::OnFailure;
  if (text == "ExitCode") return ReplicaRestart::ExitCode;
  return ReplicaRestart::Never;
}

std::string_view default_restart(const TrainingKind& kind, std::string_view type) {
  if (kind.version == "v2beta1" && type == "Launcher") return "OnFailure";
  return kind.restart_policy;
}

// On the machine's own network the ports of two jobs would meet: each job has its own, the same
// whenever it is asked for (R13).
int undeclared_port(const TrainingKind& kind, const Json* pod_template, std::string_view uid) {
  constexpr int kFirst = 20'000, kCount = 10'000;  // below those the kernel gives out
  if (pod_template == nullptr || !bool_at(*pod_template, {"spec", "hostNetwork"})) return kind.port;
  return kFirst + static_cast<int>(hash_bytes(uid) % kCount);
}

int port_of(const TrainingKind& kind, const Json* pod_template, std::string_view uid) {
  const Json* container = pod_template == nullptr ? nullptr : main_container(kind, *pod_template);
  if (container == nullptr) return kind.port;
  for (const Json& port : list_at(*container, {"ports"}))
    if (text_at(port, {"name"}) == kind.port_name && !kind.port_name.empty())
      return static_cast<int>(int_at(port, {"containerPort"}));
  return undeclared_port(kind, pod_template, uid);
}

ReplicaGroup group_of(const TrainingKind& kind, std::string_view type, const Json& spec,
                      std::string_view uid) {
  ReplicaGroup group;
  group.type = type;
  group.label = lower(type);
  const int by_default = kind.kind == "MPIJob" && type == "Worker" ? 0 : 1;
  group.replicas = static_cast<int>(
      std::clamp<int64_t>(int_at(spec, {"replicas"}, by_default), 0, kMostReplicas));
  const std::string_view policy = text_at(spec, {"restartPolicy"});
  group.restart = restart_of(policy.empty() ? default_restart(kind, type) : policy);
  group.pod_template = find(spec, "template");
  group.template_names_restart = !text_at(spec, {"template", "spec", "restartPolicy"}).empty();
  group.port = port_of(kind, group.pod_template, uid);
  return group;
}

void read_groups(TrainingJob& job) {
  const TrainingKind& kind = *job.kind;
  const JsonObject& specs = map_at(*job.tree, {"spec", kind.replicas});
  for (const auto& member : specs) {
    const std::string_view type = canonical_type(kind, member.key());
    if (job.group(type) == nullptr)
      job.groups.push_back(group_of(kind, type, member.value(), job.uid));
  }
  const auto rank = [&](const ReplicaGroup& group) {
    const auto at = std::ranges::find(kind.types, std::string_view(group.type));
    return std::pair(at - kind.types.begin(), std::string_view(group.type));
  };
  std::ranges::sort(job.groups, [&](const ReplicaGroup& left, const ReplicaGroup& right) {
    return rank(left) < rank(right);
  });
}

std::optional<int64_t> policy_number(const Json& tree, std::string_view key) {
  const Json* member = run_policy_member(tree, key);
  if (member == nullptr || !member->is_int64()) return std::nullopt;
  return member->get_int64();
}

CleanPodPolicy clean_pods_of(const Json& tree) {
  const Json* member = run_policy_member(tree, "cleanPodPolicy");
  const std::string_view text = member == nullptr ? "" : text_of(*member);
  if (text == "None") return CleanPodPolicy::None;
  if (text == "Running") return CleanPodPolicy::Running;
  if (text == "All") return CleanPodPolicy::All;
  return CleanPodPolicy::Unset;
}

bool is_on(const Json& tree, std::string_view annotation) {
  return text_at(tree, {"metadata", "annotations", annotation}) == "true";
}

void read_run_policy(TrainingJob& job) {
  const Json& tree = *job.tree;
  job.clean_pods = clean_pods_of(tree);
  job.ttl_seconds = policy_number(tree, "ttlSecondsAfterFinished");
  job.deadline_seconds = policy_number(tree, "activeDeadlineSeconds");
  job.backoff_limit = policy_number(tree, "backoffLimit");
  job.suspend = bool_at(tree, {"spec", "runPolicy", "suspend"});
  const Json* manager = find_path(tree, {"spec", "runPolicy", "managedBy"});
  job.is_ours = manager == nullptr || manager->is_null() || text_of(*manager) == job.kind->manager;
  job.gang_restart = is_on(tree, kGangRestart);
  job.main_decides = is_on(tree, kMainDecides);
}

void read_status(TrainingJob& job) {
  const Json& tree = *job.tree;
  job.start_time = time_at(tree, {"status", "startTime"});
  job.completion_time = time_at(tree, {"status", "completionTime"});
  job.restarts = static_cast<int>(int_at(tree, {"status", "restarts"}));
  job.restart_after = time_at(tree, {"status", "restartAfter"});
  job.generation = static_cast<int>(int_at(tree, {"status", "restartGeneration"}));
  for (const Json& uid : list_at(tree, {"status", "restartingPods"}))
    job.restarting.emplace_back(text_of(uid));
  for (const ReplicaGroup& group : job.groups)
    job.completed[group.type] =
        IndexSet::parse(text_at(tree, {"status", "completedIndexes", group.type}), group.replicas);
}

}  // namespace

const ReplicaGroup* TrainingJob::group(std::string_view type) const {
  const auto found = std::ranges::find(groups, type, &ReplicaGroup::type);
  return found == groups.end() ? nullptr : &*found;
}

const ReplicaGroup* TrainingJob::leader() const {
  for (const std::string_view type : kind->leaders)
    if (const ReplicaGroup* found = group(type)) return found;
  return nullptr;
}

int TrainingJob::total() const {
  int sum = 0;
  for (const ReplicaGroup& group : groups)
    sum += group.replicas;
  return sum;
}

bool TrainingJob::is_true(std::string_view condition) const {
  return condition_status(*tree, condition) == "True";
}

TrainingJob training_job(Json given) {
  TrainingJob job;
  job.tree = std::make_shared<const Json>(std::move(given));
  const Json& tree = *job.tree;
  job.kind = training_kind_of(tree);
  if (job.kind == nullptr) job.kind = &training_kinds().front();
  job.ns = text_at(tree, {"metadata", "namespace"});
  job.name = name_of(tree);
  job.uid = text_at(tree, {"metadata", "uid"});
  job.being_deleted = is_being_deleted(tree);
  read_groups(job);
  read_run_policy(job);
  read_status(job);
  return job;
}

std::string_view to_text(ReplicaRestart restart) {
  switch (restart) {
    case ReplicaRestart::Always: return "Always";
    case ReplicaRestart::OnFailure: return "OnFailure";
    case ReplicaRestart::Never: return "Never";
    case ReplicaRestart::ExitCode: return "ExitCode";
  }
  return "";
}

const Json* main_container(const TrainingKind& kind, const Json& with_spec) {
  const JsonArray& containers = list_at(with_spec, {"spec", "containers"});
  for (const Json& container : containers)
    if (text_at(container, {"name"}) == kind.container) return &container;
  return containers.empty() ? nullptr : &containers.front();
}

std::string replica_name(const TrainingJob& job, const ReplicaGroup& group, int index) {
  if (group.type == "Launcher") return fmt::format("{}-launcher", job.name);
  std::string name = fmt::format("{}-{}-{}", job.name, group.label, index);
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace yard
