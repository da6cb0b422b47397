#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"

namespace yard {
namespace {

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const Json* least = find_path(object, {"spec", "minAvailable"});
  const Json* most = find_path(object, {"spec", "maxUnavailable"});
  if (least != nullptr && most != nullptr)
    errors.push_back(invalid(FieldPath("spec"), Json(JsonObject()),
                             "minAvailable and maxUnavailable cannot be both set"));
  for (const auto& [name, value] : {std::pair{"minAvailable", least}, {"maxUnavailable", most}}) {
    if (value != nullptr && value->is_int64() && value->get_int64() < 0)
      errors.push_back(invalid(FieldPath("spec").child(name), *value, kNotNegative));
  }
  append_errors(errors, validate_label_selector(find_path(object, {"spec", "selector"}),
                                                FieldPath("spec.selector")));
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
