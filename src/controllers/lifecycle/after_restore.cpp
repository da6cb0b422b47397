#include "controllers/lifecycle/after_restore.h"

#include <memory>

#include "api/tree.h"
#include "base/log.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};
const Resource kNode{"v1", "Node"};
constexpr std::string_view kMessage =
    "The cluster was restored from a backup while the pod was on its node: its processes are gone";

void end_containers(JsonObject& status, std::string_view list, Time now) {
  Json* containers = status.if_contains(list);
  if (containers == nullptr || !containers->is_array()) return;
  for (Json& container : containers->get_array()) {
    if (!container.is_object()) continue;
    JsonObject& entry = container.get_object();
    entry["ready"] = false;
    entry["started"] = false;
    const Json* started = find_path(container, {"state", "running", "startedAt"});
    if (started == nullptr) continue;
    const Json started_at = *started;
    entry["state"] = JsonObject{
        {"terminated",
         JsonObject{{"exitCode", 137},
                    {"reason", "ContainerStatusUnknown"},
                    {"message", "The container could not be located when the pod was terminated"},
                    {"startedAt", started_at},
                    {"finishedAt", rfc3339(now)}}}};
  }
}

void set_condition(JsonArray& conditions, JsonObject next) {
  const std::string type(text_at(next, {"type"}));
  for (Json& condition : conditions) {
    if (text_at(condition, {"type"}) != type) continue;
    condition = std::move(next);
    return;
  }
  conditions.emplace_back(std::move(next));
}

bool has_ended(const Json& pod) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

std::optional<Json> pod_after_restore(const Json& pod, bool node_is_ours, Time now) {
  if (text_at(pod, {"spec", "nodeName"}).empty() || has_ended(pod)) return std::nullopt;
  const bool has_begun = !text_at(pod, {"status", "startTime"}).empty();
  if (!has_begun && node_is_ours) return std::nullopt;
  Json lost = pod;
  JsonObject& status = section(lost, "status");
  status["phase"] = "Failed";
  status["reason"] = "NodeLost";
  status["message"] = kMessage;
  end_containers(status, "initContainerStatuses", now);
  end_containers(status, "containerStatuses", now);
  if (!status["conditions"].is_array()) status["conditions"] = JsonArray();
  JsonArray& conditions = status["conditions"].get_array();
  for (const char* type : {"Ready", "ContainersReady"}) {
    set_condition(conditions, JsonObject{{"type", type},
                                         {"status", "False"},
                                         {"reason", "PodFailed"},
                                         {"lastProbeTime", nullptr},
                                         {"lastTransitionTime", rfc3339(now)}});
  }
  set_condition(conditions, JsonObject{{"type", "DisruptionTarget"},
                                       {"status", "True"},
                                       {"reason", "TerminationByKubelet"},
                                       {"message", kMessage},
                                       {"lastProbeTime", nullptr},
                                       {"lastTransitionTime", rfc3339(now)}});
  return lost;
}

void settle_restored(Client& client, Time now,
                     const std::function<bool(std::string_view)>& is_our_node,
                     std::function<void()> done) {
  std::vector<ClientWrite> writes;
  for (const ObjectPtr& object : client.list(kPod)) {
    if (object->is_being_deleted()) continue;
    const Json pod = object->tree();
    auto next = pod_after_restore(pod, is_our_node(text_at(pod, {"spec", "nodeName"})), now);
    if (!next) continue;
    writes.push_back({ClientWrite::Verb::UpdateStatus, kPod, std::string(object->ns()),
                      std::string(object->name()), std::move(*next)});
  }
  const size_t pods = writes.size();
  for (const ObjectPtr& node : client.list(kNode)) {
    if (is_our_node(node->name())) continue;
    writes.push_back(
        {ClientWrite::Verb::Delete, kNode, "", std::string(node->name()), JsonObject{}});
  }
  log_info("restored: {} pods of the backup are lost, {} nodes removed", pods,
           writes.size() - pods);
  if (writes.empty()) return done();
  auto left = std::make_shared<size_t>(writes.size());
  for (ClientWrite& write : writes) {
    std::string what = write.resource.kind + " " + write.name;
    client.submit(std::move(write), [left, done, what](Result<ObjectPtr> written) {
      if (!written) log_warning("restored: {}: {}", what, written.error().message);
      if (--*left == 0) done();
    });
  }
}

}  // namespace yard
