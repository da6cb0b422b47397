#include "controllers/training/mpi_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/replica_objects.h"

namespace yard {
namespace {

constexpr std::string_view kExecVolume = "mpi-job-kubectl";

std::string account_name(const TrainingJob& job) {
  const ReplicaGroup* launcher = job.group("Launcher");
  const std::string_view named =
      launcher == nullptr || launcher->pod_template == nullptr
          ? ""
          : text_at(*launcher->pod_template, {"spec", "serviceAccountName"});
  return named.empty() ? launcher_name(job) : std::string(named);
}

JsonObject role(const TrainingJob& job) {
  JsonArray workers;
  const ReplicaGroup* group = job.group("Worker");
  for (int index = 0; group != nullptr && index < group->replicas; ++index)
    workers.emplace_back(replica_name(job, *group, index));
  JsonObject made = mpi_object(job, "rbac.authorization.k8s.io/v1", "Role", launcher_name(job));
  made["rules"] = JsonArray{JsonObject{{"verbs", JsonArray{"get", "list", "watch"}},
                                       {"apiGroups", JsonArray{""}},
                                       {"resources", JsonArray{"pods"}}},
                            JsonObject{{"verbs", JsonArray{"create"}},
                                       {"apiGroups", JsonArray{""}},
                                       {"resources", JsonArray{"pods/exec"}},
                                       {"resourceNames", std::move(workers)}}};
  return made;
}

JsonObject role_binding(const TrainingJob& job) {
  JsonObject made =
      mpi_object(job, "rbac.authorization.k8s.io/v1", "RoleBinding", launcher_name(job));
  made["subjects"] = JsonArray{
      JsonObject{{"kind", "ServiceAccount"}, {"name", account_name(job)}, {"namespace", job.ns}}};
  made["roleRef"] = JsonObject{
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", launcher_name(job)}};
  return made;
}

JsonObject delivery_container(const TrainingJob& job, const TrainingSettings& settings) {
  const JsonObject amounts{{"cpu", "100m"}, {"ephemeral-storage", "5Gi"}, {"memory", "512Mi"}};
  JsonObject out{
      {"name", "kubectl-delivery"},
      {"image", settings.exec_image},
      {"imagePullPolicy", "IfNotPresent"},
      {"env", JsonArray{variable("TARGET_DIR", "/opt/kube"), variable("NAMESPACE", job.ns)}},
      {"resources", JsonObject{{"limits", amounts}, {"requests", amounts}}}};
  mount(out, kExecVolume, "/opt/kube");
  mount(out, kConfigVolume, kConfigPath);
  return out;
}

}  // namespace

std::string launcher_name(const TrainingJob& job) {
  return job.name + "-launcher";
}

std::vector<Json> launcher_rights(const TrainingJob& job) {
  return {mpi_object(job, "v1", "ServiceAccount", account_name(job)), role(job), role_binding(job)};
}

void deliver_exec(const TrainingJob& job, const TrainingSettings& settings, JsonObject& pod) {
  JsonObject& spec = pod["spec"].get_object();
  spec["serviceAccountName"] = account_name(job);
  JsonObject volume{{"name", kExecVolume}};
  if (settings.exec_program.empty()) {
    volume["emptyDir"] = JsonObject();
    append_item(spec, "initContainers", delivery_container(job, settings));
  } else {
    volume["hostPath"] = JsonObject{{"path", settings.exec_program}, {"type", "File"}};
  }
  append_item(spec, "volumes", std::move(volume));
  JsonObject* container = first_container(pod);
  mount(*container, kExecVolume, settings.exec_program.empty() ? "/opt/kube" : kExecProgram);
}

int mpi_slots(const TrainingJob& job) {
  return static_cast<int>(int_at(*job.tree, {"spec", "slotsPerWorker"}, 1));
}

bool launcher_has_gpu(const TrainingJob& job) {
  const ReplicaGroup* launcher = job.group("Launcher");
  if (launcher == nullptr || launcher->pod_template == nullptr) return false;
  for (const Json& container : list_at(*launcher->pod_template, {"spec", "containers"}))
    for (const auto& limit : map_at(container, {"resources", "limits"}))
      if (std::string_view(limit.key()).find("gpu") != std::string_view::npos) return true;
  return false;
}

std::vector<std::string> running_workers(const std::vector<ReplicaPod>& pods) {
  std::vector<std::string> names;
  for (const ReplicaPod& pod : pods)
    if (pod.label == "worker" && pod.phase == PodPhase::Running && !pod.being_deleted)
      names.push_back(pod.name);
  std::ranges::sort(names);
  return names;
}

JsonObject mpi_object(const TrainingJob& job, std::string_view api_version, std::string_view kind,
                      std::string_view name) {
  return {{"apiVersion", api_version},
          {"kind", kind},
          {"metadata", JsonObject{{"name", name},
                                  {"namespace", job.ns},
                                  {"labels", JsonObject{{"app", job.name}}},
                                  {"ownerReferences", JsonArray{training_owner(job)}}}}};
}

JsonObject* first_container(JsonObject& pod) {
  Json* spec = pod.if_contains("spec");
  Json* list = spec == nullptr ? nullptr : find(*spec, "containers");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return nullptr;
  return list->get_array().front().if_object();
}

void append_item(JsonObject& parent, std::string_view key, Json item) {
  Json& list = parent[key];
  if (!list.is_array()) list = JsonArray();
  list.get_array().push_back(std::move(item));
}

void mount(JsonObject& container, std::string_view volume, std::string_view path) {
  append_item(container, "volumeMounts", JsonObject{{"name", volume}, {"mountPath", path}});
}

bool has_variable(const JsonObject& container, std::string_view name) {
  const Json* env = container.if_contains("env");
  if (env == nullptr || !env->is_array()) return false;
  return std::ranges::any_of(
      env->get_array(), [&](const Json& variable) { return text_at(variable, {"name"}) == name; });
}

Json config_volume(const TrainingJob& job, const std::vector<ConfigItem>& items) {
  JsonArray list;
  for (const ConfigItem& item : items)
    list.push_back(JsonObject{{"key", item.key}, {"path", item.key}, {"mode", item.mode}});
  return JsonObject{
      {"name", kConfigVolume},
      {"configMap", JsonObject{{"name", job.name + "-config"}, {"items", std::move(list)}}}};
}

}  // namespace yard
