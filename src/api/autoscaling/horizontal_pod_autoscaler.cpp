#include "api/autoscaling/autoscaler_rules.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tree.h"

namespace yard {
namespace {

// Whoever says something of one direction gets upstream's rules for the rest.
void set_behavior_defaults(JsonObject& spec) {
  Json* given = spec.if_contains("behavior");
  if (given == nullptr || !given->is_object()) return;
  const auto policy = [](const char* type, int value) {
    return JsonObject{{"type", type}, {"value", value}, {"periodSeconds", 15}};
  };
  JsonObject& behavior = given->get_object();
  JsonObject& up = object_at(behavior, "scaleUp");
  set_missing(up, "stabilizationWindowSeconds", 0);
  set_missing(up, "selectPolicy", "Max");
  set_missing(up, "policies", JsonArray{policy("Pods", 4), policy("Percent", 100)});
  JsonObject& down = object_at(behavior, "scaleDown");
  set_missing(down, "selectPolicy", "Max");
  set_missing(down, "policies", JsonArray{policy("Percent", 100)});
}

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "minReplicas", 1);
  set_behavior_defaults(spec);
  if (!list_at(object, {"spec", "metrics"}).empty()) return;
  spec["metrics"] = JsonArray{JsonObject{
      {"type", "Resource"},
      {"resource",
       JsonObject{{"name", "cpu"},
                  {"target", JsonObject{{"type", "Utilization"}, {"averageUtilization", 80}}}}}}};
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
  row.validate = validate_autoscaler;
  make_inert(row, "Trainyard keeps this object but scales nothing by it", true);
  row.prepare_create = [inert = row.prepare_create](Json& object,
                                                    const Admission& admission) -> Result<void> {
    TRY(inert(object, admission));
    section(object, "status")["desiredReplicas"] = 0;  // clients' models want it
    return {};
  };
  return row;
}

}  // namespace yard
