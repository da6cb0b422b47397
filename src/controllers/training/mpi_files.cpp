#include "controllers/training/mpi_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/replica_objects.h"

namespace yard {

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
