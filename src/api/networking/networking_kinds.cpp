// networking.k8s.io/v1. Stored and listed; nothing here routes or filters by them.

#include "api/inert.h"
#include "api/kinds.h"
#include "api/networking/networking_rules.h"
#include "api/tables.h"
#include "api/tree.h"

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
