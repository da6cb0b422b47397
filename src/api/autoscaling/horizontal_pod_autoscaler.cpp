#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tree.h"

namespace yard {
namespace {

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "minReplicas", 1);
  if (!list_at(object, {"spec", "metrics"}).empty()) return;
  spec["metrics"] = JsonArray{JsonObject{
      {"type", "Resource"},
      {"resource",
       JsonObject{{"name", "cpu"},
                  {"target", JsonObject{{"type", "Utilization"}, {"averageUtilization", 80}}}}}}};
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const int64_t least = int_at(object, {"spec", "minReplicas"}, 1),
                most = int_at(object, {"spec", "maxReplicas"});
  if (least < 1)
    errors.push_back(
        invalid(path.child("minReplicas"), Json(least), "must be greater than or equal to 1"));
  if (most < 1)
    errors.push_back(invalid(path.child("maxReplicas"), Json(most), "must be greater than 0"));
  if (most < least)
    errors.push_back(invalid(path.child("maxReplicas"), Json(most),
                             "must be greater than or equal to `minReplicas`"));
  const Json* target = find_path(object, {"spec", "scaleTargetRef"});
  const Json none = JsonObject();
  for (const char* member : {"kind", "name"})
    require_member(errors, target != nullptr ? *target : none, member,
                   path.child("scaleTargetRef"));
  return errors;
}

}  // namespace

Kind horizontal_pod_autoscaler_kind() {
  Kind row =
      ordinary_kind({"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"});
  row.short_names = {"hpa"};
  row.categories = {"all"};
  row.subresources = {status_subresource()};
  row.columns = horizontal_pod_autoscaler_columns();
  row.cells = horizontal_pod_autoscaler_cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  make_inert(row, "Trainyard keeps this object but scales nothing by it", true);
  return row;
}

}  // namespace yard
