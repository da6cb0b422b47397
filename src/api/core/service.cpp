#include <set>

#include "api/core/service_addresses.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

void set_port_defaults(JsonObject& spec) {
  Json* ports = spec.if_contains("ports");
  if (ports == nullptr || !ports->is_array()) return;
  for (Json& port : ports->get_array()) {
    if (!port.is_object()) continue;
    JsonObject& members = port.get_object();
    set_missing(members, "protocol", "TCP");
    const Json* target = members.if_contains("targetPort");
    bool unset = same(target, nullptr) || (target->is_int64() && target->get_int64() == 0);
    if (unset && members.contains("port")) {
      Json number = members["port"];
      members["targetPort"] = std::move(number);
    }
  }
}

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  std::string affinity(text_of(set_missing(spec, "sessionAffinity", "None")));
  if (affinity == "ClientIP") {
    constexpr int64_t kThreeHours = 10800;
    JsonObject& config = object_at(spec, "sessionAffinityConfig");
    set_missing(object_at(config, "clientIP"), "timeoutSeconds", kThreeHours);
  }
  std::string type(text_of(set_missing(spec, "type", "ClusterIP")));
  set_port_defaults(spec);
  if (has_node_ports(type)) set_missing(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set_missing(spec, "allocateLoadBalancerNodePorts", true);
  if (type != "ExternalName") set_missing(spec, "internalTrafficPolicy", "Cluster");
}

void check_target_port(FieldErrors& errors, const FieldPath& path, const Json& port) {
  const Json* target = find(port, "targetPort");
  if (target == nullptr) return;
  if (target->is_string()) {
    std::string_view name = text_of(*target);
    add_problems(errors, path.child("targetPort"), name, port_name_problems(name));
  } else {
    check_port(errors, path.child("targetPort"), int_at(port, {"targetPort"}));
  }
}

void check_node_port(FieldErrors& errors, const FieldPath& path, const Json& port,
                     std::string_view type) {
  int64_t number = int_at(port, {"nodePort"});
  if (number == 0) return;
  if (type == "ClusterIP") {
    errors.push_back(
        forbidden(path.child("nodePort"), "may not be used when `type` is 'ClusterIP'"));
  } else if (number < kFirstNodePort || number > kLastNodePort) {
    errors.push_back(invalid(path.child("nodePort"), Json(number),
                             "provided port is not in the valid range. The range of valid ports "
                             "is 30000-32767"));
  }
}

void check_port_name(FieldErrors& errors, const FieldPath& path, const Json& port,
                     bool name_required, std::set<std::string_view>& names) {
  std::string_view name = text_at(port, {"name"});
  if (name.empty()) {
    if (name_required) errors.push_back(required(path.child("name")));
    return;
  }
  add_problems(errors, path.child("name"), name, dns1123_label_problems(name));
  if (!names.insert(name).second) errors.push_back(duplicate(path.child("name"), Json(name)));
}

void check_ports(FieldErrors& errors, const Json& object, std::string_view type) {
  const JsonArray& ports = list_at(object, {"spec", "ports"});
  if (ports.empty() && type != "ExternalName" && !is_headless(object)) {
    errors.push_back(required(FieldPath("spec.ports")));
  }
  std::set<std::string_view> names;
  std::set<std::pair<std::string_view, int64_t>> numbers;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Json& port = ports[i];
    FieldPath path = FieldPath("spec.ports").index(i);
    check_port_name(errors, path, port, ports.size() > 1, names);
    int64_t number = int_at(port, {"port"});
    check_port(errors, path.child("port"), number);
    check_one_of(errors, path.child("protocol"), find(port, "protocol"), {"SCTP", "TCP", "UDP"},
                 Presence::Required);
    check_target_port(errors, path, port);
    check_node_port(errors, path, port, type);
    std::string_view protocol = text_at(port, {"protocol"});
    if (!numbers.insert({protocol, number}).second) {
      errors.push_back(duplicate(path, JsonObject{{"protocol", protocol}, {"port", number}}));
    }
  }
}

void check_addresses(FieldErrors& errors, const Json& object, std::string_view type) {
  const FieldPath path("spec.clusterIPs");
  const JsonArray& addresses = list_at(object, {"spec", "clusterIPs"});
  if (type == "ExternalName") {
    if (!addresses.empty() || !text_at(object, {"spec", "clusterIP"}).empty()) {
      errors.push_back(forbidden(path, "may not be set for ExternalName services"));
    }
    return;
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::string_view address = text_of(addresses[i]);
    if (address != "None") {
      check_ip(errors, path.index(i), address);
    } else if (has_node_ports(type)) {
      errors.push_back(invalid(path.index(i), Json(address),
                               "may not be set to 'None' for " + std::string(type) + " services"));
    }
  }
  if (!addresses.empty() && text_of(addresses[0]) != text_at(object, {"spec", "clusterIP"})) {
    errors.push_back(invalid(path, addresses, "first value must match `clusterIP`"));
  }
  const JsonArray& external = list_at(object, {"spec", "externalIPs"});
  for (size_t i = 0; i < external.size(); ++i) {
    check_endpoint_ip(errors, FieldPath("spec.externalIPs").index(i), text_of(external[i]));
  }
}

void check_external_name(FieldErrors& errors, const Json& object) {
  const FieldPath path("spec.externalName");
  std::string_view name = text_at(object, {"spec", "externalName"});
  if (name.empty()) {
    errors.push_back(required(path));
    return;
  }
  std::string_view shown = name;
  if (name.ends_with('.')) name.remove_suffix(1);
  add_problems(errors, path, shown, dns1123_subdomain_problems(name));
}

// One IPv4 family is what there is.
void check_families(FieldErrors& errors, const Json& object) {
  const FieldPath spec("spec");
  const Json* policy = find_path(object, {"spec", "ipFamilyPolicy"});
  check_one_of(errors, spec.child("ipFamilyPolicy"), policy,
               {"PreferDualStack", "RequireDualStack", "SingleStack"});
  if (policy != nullptr && text_of(*policy) == "RequireDualStack") {
    errors.push_back(invalid(spec.child("ipFamilyPolicy"), *policy,
                             "this cluster is not configured for dual-stack services"));
  }
  const JsonArray& families = list_at(object, {"spec", "ipFamilies"});
  for (size_t i = 0; i < families.size(); ++i) {
    const FieldPath path = spec.child("ipFamilies").index(i);
    check_one_of(errors, path, &families[i], {"IPv4", "IPv6"}, Presence::Required);
    if (text_of(families[i]) == "IPv6")
      errors.push_back(invalid(path, families[i], "not configured on this cluster"));
  }
}

void check_affinity(FieldErrors& errors, const Json& object) {
  const FieldPath path("spec.sessionAffinityConfig");
  const Json* config = find_path(object, {"spec", "sessionAffinityConfig"});
  if (same(config, nullptr)) return;
  if (text_at(object, {"spec", "sessionAffinity"}) == "None") {
    errors.push_back(forbidden(path, "must not be set when session affinity is None"));
    return;
  }
  constexpr int64_t kOneDay = 86400;
  const int64_t seconds = int_at(*config, {"clientIP", "timeoutSeconds"});
  if (seconds <= 0 || seconds > kOneDay) {
    errors.push_back(invalid(path.child("clientIP").child("timeoutSeconds"), Json(seconds),
                             "must be greater than 0 and less than 86400"));
  }
}

// The keeper listens there (node/network/service_forwarder.h), for this machine alone.
std::vector<std::string> service_warnings(const Json& object) {
  const std::string_view type = text_at(object, {"spec", "type"});
  if (!has_node_ports(type)) return {};
  return {"spec.type: " + std::string(type) +
          ": its node ports lead to the service from this machine alone (127.0.0.1); use `kubectl "
          "port-forward --address` to reach it from others"};
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath spec("spec");
  std::string_view type = text_at(object, {"spec", "type"});
  check_ports(errors, object, type);
  append_errors(errors,
                validate_labels(find_path(object, {"spec", "selector"}), spec.child("selector")));
  check_one_of(errors, spec.child("sessionAffinity"),
               find_path(object, {"spec", "sessionAffinity"}), {"ClientIP", "None"},
               Presence::Required);
  check_affinity(errors, object);
  if (type != "ExternalName") check_families(errors, object);
  check_addresses(errors, object, type);
  check_one_of(errors, spec.child("type"), find_path(object, {"spec", "type"}),
               {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, Presence::Required);
  if (type == "ExternalName") check_external_name(errors, object);
  check_one_of(errors, spec.child("internalTrafficPolicy"),
               find_path(object, {"spec", "internalTrafficPolicy"}), {"Cluster", "Local"});
  check_one_of(errors, spec.child("externalTrafficPolicy"),
               find_path(object, {"spec", "externalTrafficPolicy"}), {"Cluster", "Local"});
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  const JsonArray& now = list_at(object, {"spec", "clusterIPs"});
  const JsonArray& before = list_at(live, {"spec", "clusterIPs"});
  if (now.empty() || before.empty() || equal(now[0], before[0])) return {};
  return {invalid(FieldPath("spec.clusterIPs").index(0), now, "may not change once set")};
}

}  // namespace

Kind service_kind() {
  Kind row = ordinary_kind({"", "v1", "Service", "services"});
  row.short_names = {"svc"};
  row.categories = {"all"};
  row.subresources = {
      {"proxy", "ServiceProxyOptions", "", "v1", {"create", "delete", "get", "patch", "update"}},
      status_subresource()};
  row.name_rule = NameRule::Dns1035Label;
  row.creates_on_update = true;
  row.returns_deleted_object = true;
  row.selectable_fields = {"spec.clusterIP", "spec.type"};
  row.field_values = [](const Json& object) {
    return std::vector<std::string>{std::string(text_at(object, {"spec", "clusterIP"})),
                                    std::string(text_at(object, {"spec", "type"}))};
  };
  row.columns = service_columns();
  row.cells = service_cells;
  row.set_defaults = set_defaults;
  row.prepare_create = allocate_service_addresses;
  row.prepare_update = keep_service_addresses;
  row.validate = validate;
  row.validate_update = validate_update;
  row.warnings = service_warnings;
  return row;
}

}  // namespace yard
