#include "api/checks.h"
#include "api/inert.h"
#include "api/int_or_percent.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"

namespace yard {
namespace {

// The spec as upstream's message shows it: in the form of its program.
JsonObject shown(const Json& object) {
  JsonObject out;
  for (const auto& [name, member] :
       {std::pair{"MinAvailable", "minAvailable"},
        {"Selector", "selector"},
        {"MaxUnavailable", "maxUnavailable"},
        {"UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy"}}) {
    const Json* value = find_path(object, {"spec", member});
    out[name] = value != nullptr ? *value : Json();
  }
  return out;
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const Json* least = find_path(object, {"spec", "minAvailable"});
  const Json* most = find_path(object, {"spec", "maxUnavailable"});
  const FieldPath path("spec");
  if (least != nullptr && most != nullptr)
    errors.push_back(
        invalid(path, Json(shown(object)), "minAvailable and maxUnavailable cannot be both set"));
  for (const auto& [name, value] : {std::pair{"minAvailable", least}, {"maxUnavailable", most}}) {
    check_int_or_percent(errors, path.child(name), value);
    check_not_above_all(errors, path.child(name), value);
  }
  append_errors(errors, validate_label_selector(find_path(object, {"spec", "selector"}),
                                                path.child("selector")));
  check_one_of(errors, path.child("unhealthyPodEvictionPolicy"),
               find_path(object, {"spec", "unhealthyPodEvictionPolicy"}),
               {"AlwaysAllow", "IfHealthyBudget"});
  return errors;
}

}  // namespace

Kind pod_disruption_budget_kind() {
  Kind row = ordinary_kind({"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"});
  row.short_names = {"pdb"};
  row.subresources = {status_subresource()};
  row.tracks_generation = true;
  row.allows_unconditional_update = false;
  row.columns = pod_disruption_budget_columns();
  row.cells = pod_disruption_budget_cells;
  row.validate = validate;
  make_inert(row, "Trainyard keeps this object but no budget holds up an eviction here", true);
  return row;
}

}  // namespace yard
