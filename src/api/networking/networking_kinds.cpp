// networking.k8s.io/v1. Stored and listed; nothing here routes or filters by them.

#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "base/strings.h"

namespace yard {
namespace {

void set_network_policy_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  for (const char* direction : {"ingress", "egress"}) {
    Json* rules = spec.if_contains(direction);
    if (rules == nullptr || !rules->is_array()) continue;
    for (Json& rule : rules->get_array()) {
      Json* ports = find(rule, "ports");
      if (ports == nullptr || !ports->is_array()) continue;
      for (Json& port : ports->get_array()) {
        if (port.is_object()) set_missing(port.get_object(), "protocol", "TCP");
      }
    }
  }
  if (!list_at(object, {"spec", "policyTypes"}).empty()) return;
  JsonArray types{"Ingress"};
  if (!list_at(object, {"spec", "egress"}).empty()) types.emplace_back("Egress");
  section(object, "spec")["policyTypes"] = std::move(types);
}

FieldErrors validate_network_policy(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  append_errors(errors, validate_label_selector(find_path(object, {"spec", "podSelector"}),
                                                path.child("podSelector")));
  const JsonArray& types = list_at(object, {"spec", "policyTypes"});
  for (size_t i = 0; i < types.size(); ++i)
    check_one_of(errors, path.child("policyTypes").index(i), &types[i], {"Egress", "Ingress"},
                 Presence::Required);
  return errors;
}

void check_backend(FieldErrors& errors, const Json* backend, const FieldPath& path) {
  if (backend == nullptr || !backend->is_object()) return;
  const bool to_service = find(*backend, "service") != nullptr;
  const bool to_resource = find(*backend, "resource") != nullptr;
  if (to_service && to_resource)
    errors.push_back(invalid(path, Json(""), "cannot set both resource and service backends"));
  if (!to_service && !to_resource)
    errors.push_back(required(path, "resource or service backend is required"));
  if (to_service && text_at(*backend, {"service", "name"}).empty())
    errors.push_back(required(path.child("service").child("name")));
}

FieldErrors validate_ingress(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const JsonArray& rules = list_at(object, {"spec", "rules"});
  const Json* fallback = find_path(object, {"spec", "defaultBackend"});
  if (rules.empty() && fallback == nullptr)
    errors.push_back(
        invalid(path, Json(JsonArray()), "either `defaultBackend` or `rules` must be specified"));
  check_backend(errors, fallback, path.child("defaultBackend"));
  for (size_t i = 0; i < rules.size(); ++i) {
    const JsonArray& paths = list_at(rules[i], {"http", "paths"});
    for (size_t j = 0; j < paths.size(); ++j) {
      const FieldPath at = path.child("rules").index(i).child("http").child("paths").index(j);
      check_one_of(errors, at.child("pathType"), find(paths[j], "pathType"),
                   {"Exact", "ImplementationSpecific", "Prefix"}, Presence::Required);
      check_backend(errors, find(paths[j], "backend"), at.child("backend"));
    }
  }
  return errors;
}

FieldErrors validate_ingress_class(const Json& object) {
  FieldErrors errors;
  const std::string_view controller = text_at(object, {"spec", "controller"});
  if (controller.empty()) errors.push_back(required(FieldPath("spec.controller")));
  return errors;
}

FieldErrors validate_ingress_class_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("spec.controller"), find_path(object, {"spec", "controller"}),
                  find_path(live, {"spec", "controller"}));
  return errors;
}

}  // namespace

Kind network_policy_kind() {
  Kind row = ordinary_kind({"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"});
  row.short_names = {"netpol"};
  row.tracks_generation = true;
  row.columns = network_policy_columns();
  row.cells = network_policy_cells;
  row.set_defaults = set_network_policy_defaults;
  row.validate = validate_network_policy;
  make_inert(row, "Trainyard keeps this object but filters no traffic by it", false);
  return row;
}

Kind ingress_kind() {
  Kind row = ordinary_kind({"networking.k8s.io", "v1", "Ingress", "ingresses"});
  row.short_names = {"ing"};
  row.subresources = {status_subresource()};
  row.tracks_generation = true;
  row.columns = ingress_columns();
  row.cells = ingress_cells;
  row.validate = validate_ingress;
  // Its status has no conditions: the Warning is all there is.
  row.prepare_create = [](Json& object, const Admission&) -> Result<void> {
    section(object, "status")["loadBalancer"] = JsonObject();
    return {};
  };
  make_inert(row, "Trainyard keeps this object but routes no traffic by it", false);
  return row;
}

Kind ingress_class_kind() {
  Kind row = ordinary_kind({"networking.k8s.io", "v1", "IngressClass", "ingressclasses"});
  row.namespaced = false;
  row.tracks_generation = true;
  row.columns = ingress_class_columns();
  row.cells = ingress_class_cells;
  row.validate = validate_ingress_class;
  row.validate_update = validate_ingress_class_update;
  make_inert(row, "Trainyard keeps this object but has no ingress controller", false);
  return row;
}

}  // namespace yard
