#include <algorithm>
#include <set>

#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";

void set_defaults(Json& object) {
  if (const std::string range(text_at(object, {"spec", "podCIDR"})); !range.empty())
    set_missing(section(object, "spec"), "podCIDRs", JsonArray{range});
  Json* status = find(object, "status");
  if (status == nullptr || !status->is_object()) return;
  const Json* capacity = find(*status, "capacity");
  if (capacity == nullptr || find(*status, "allocatable") != nullptr) return;
  Json copy = *capacity;
  status->get_object()["allocatable"] = std::move(copy);
}

// A node takes no pods until its agent has said that it is ready.
void add_not_ready_taint(Json& object) {
  const JsonArray& taints = list_at(object, {"spec", "taints"});
  bool present = std::ranges::any_of(taints, [](const Json& taint) {
    return text_at(taint, {"key"}) == kNotReadyTaint && text_at(taint, {"effect"}) == "NoSchedule";
  });
  if (present) return;
  Json& list = section(object, "spec")["taints"];
  if (!list.is_array()) list.emplace_array();
  list.get_array().push_back(JsonObject{{"key", kNotReadyTaint}, {"effect", "NoSchedule"}});
}

// Clients' models require every one of these to be there.
void fill_node_info(Json& object) {
  JsonObject& status = section(object, "status");
  JsonObject& endpoint = object_at(object_at(status, "daemonEndpoints"), "kubeletEndpoint");
  set_missing(endpoint, "Port", 0);
  JsonObject& info = object_at(status, "nodeInfo");
  for (const char* member :
       {"machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
        "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"}) {
    set_missing(info, member, "");
  }
}

Result<void> prepare_create(Json& object, const Admission&) {
  add_not_ready_taint(object);
  fill_node_info(object);
  return {};
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const JsonArray& taints = list_at(object, {"spec", "taints"});
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    FieldPath path = FieldPath("spec.taints").index(i);
    std::string_view key = text_at(taints[i], {"key"});
    std::string_view value = text_at(taints[i], {"value"});
    std::string_view effect = text_at(taints[i], {"effect"});
    add_problems(errors, path.child("key"), key, qualified_name_problems(key));
    add_problems(errors, path.child("value"), value, label_value_problems(value));
    check_one_of(errors, path.child("effect"), find(taints[i], "effect"),
                 {"NoSchedule", "PreferNoSchedule", "NoExecute"}, Presence::Required);
    if (!seen.insert({key, effect}).second) errors.push_back(duplicate(path, taints[i]));
  }
  return errors;
}

}  // namespace

Kind node_kind() {
  Kind row = ordinary_kind({"", "v1", "Node", "nodes"});
  row.short_names = {"no"};
  row.namespaced = false;
  row.subresources = {status_subresource()};
  row.keeps_status_on_create = true;
  row.selectable_fields = {"spec.unschedulable"};
  row.field_values = [](const Json& object) {
    bool unschedulable = bool_at(object, {"spec", "unschedulable"});
    return std::vector<std::string>{unschedulable ? "true" : "false"};
  };
  row.columns = node_columns();
  row.cells = node_cells;
  row.set_defaults = set_defaults;
  row.prepare_create = prepare_create;
  row.validate = validate;
  return row;
}

}  // namespace yard
