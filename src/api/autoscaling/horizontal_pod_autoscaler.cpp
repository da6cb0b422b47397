#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tree.h"

namespace yard {
namespace {

Json cpu_metric(int64_t percent) {
  return JsonObject{
      {"type", "Resource"},
      {"resource", JsonObject{{"name", "cpu"},
                              {"target", JsonObject{{"type", "Utilization"},
                                                    {"averageUtilization", percent}}}}}};
}

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "minReplicas", 1);
  if (list_at(object, {"spec", "metrics"}).empty()) spec["metrics"] = JsonArray{cpu_metric(80)};
}

// autoscaling/v1 knows cpu alone. What else v2 says travels in annotations, so that a client of v1
// which writes back what it read loses nothing.
struct Hidden {
  std::string_view part, member, annotation;
};
constexpr Hidden kHidden[] = {
    {"spec", "metrics", "autoscaling.alpha.kubernetes.io/metrics"},
    {"spec", "behavior", "autoscaling.alpha.kubernetes.io/behavior"},
    {"status", "currentMetrics", "autoscaling.alpha.kubernetes.io/current-metrics"},
    {"status", "conditions", "autoscaling.alpha.kubernetes.io/conditions"},
};

bool is_cpu_utilization(const Json& metric) {
  return text_at(metric, {"type"}) == "Resource" &&
         text_at(metric, {"resource", "name"}) == "cpu" &&
         text_at(metric, {"resource", "target", "type"}) == "Utilization";
}

void hide(Json& object, const Hidden& hidden) {
  Json* part = find(object, hidden.part);
  Json* value = part != nullptr ? find(*part, hidden.member) : nullptr;
  if (value == nullptr) return;
  std::string text = to_text(*value);
  part->get_object().erase(hidden.member);
  if (text != "[]") object_at(section(object, "metadata"), "annotations")[hidden.annotation] = text;
}

void bring_back(Json& object, const Hidden& hidden) {
  JsonObject& metadata = section(object, "metadata");
  JsonObject& annotations = object_at(metadata, "annotations");
  std::string text;
  if (const Json* given = annotations.if_contains(hidden.annotation)) text = text_of(*given);
  annotations.erase(hidden.annotation);
  if (annotations.empty()) metadata.erase("annotations");
  auto parsed = parse_json(text);
  if (parsed && (parsed->value.is_array() || parsed->value.is_object()))
    section(object, hidden.part)[hidden.member] = std::move(parsed->value);
}

void to_v1(Json& object) {
  if (!object.is_object()) return;
  object.get_object()["apiVersion"] = "autoscaling/v1";
  JsonObject& spec = section(object, "spec");
  JsonArray others;
  for (const Json& metric : list_at(object, {"spec", "metrics"})) {
    if (is_cpu_utilization(metric) && !spec.contains("targetCPUUtilizationPercentage")) {
      spec["targetCPUUtilizationPercentage"] =
          int_at(metric, {"resource", "target", "averageUtilization"});
    } else {
      others.push_back(metric);
    }
  }
  spec["metrics"] = std::move(others);
  for (const Hidden& hidden : kHidden)
    hide(object, hidden);
}

void to_v2(Json& object) {
  if (!object.is_object()) return;
  object.get_object()["apiVersion"] = "autoscaling/v2";
  for (const Hidden& hidden : kHidden)
    bring_back(object, hidden);
  JsonObject& spec = section(object, "spec");
  const Json* given = spec.if_contains("targetCPUUtilizationPercentage");
  JsonArray metrics;
  if (given != nullptr && given->is_int64()) metrics.push_back(cpu_metric(given->get_int64()));
  for (const Json& metric : list_at(object, {"spec", "metrics"}))
    metrics.push_back(metric);
  if (metrics.empty()) metrics.push_back(cpu_metric(80));
  spec.erase("targetCPUUtilizationPercentage");
  spec["metrics"] = std::move(metrics);
}

void set_v1_defaults(Json& object) {
  set_missing(section(object, "spec"), "minReplicas", 1);
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

namespace {

Kind autoscaler_row(std::string_view version) {
  Kind row = ordinary_kind(
      {"autoscaling", version, "HorizontalPodAutoscaler", "horizontalpodautoscalers"});
  row.short_names = {"hpa"};
  row.categories = {"all"};
  row.subresources = {status_subresource()};
  row.columns = horizontal_pod_autoscaler_columns();
  row.cells = horizontal_pod_autoscaler_cells;
  row.validate = validate;
  make_inert(row, "Trainyard keeps this object but scales nothing by it", true);
  return row;
}

}  // namespace

Kind horizontal_pod_autoscaler_kind() {
  Kind row = autoscaler_row("v2");
  row.set_defaults = set_defaults;
  return row;
}

Kind horizontal_pod_autoscaler_v1_kind() {
  Kind row = autoscaler_row("v1");
  row.set_defaults = set_v1_defaults;
  row.from_stored = to_v1;
  row.to_stored = to_v2;
  return row;
}

}  // namespace yard
