// autoscaling/v1: a view of what v2 stores. A target for the cpu is a member of its own here; other
// metrics, behavior and conditions lie in annotations meanwhile, so that nothing is lost on the way
// there and back.

#include "api/autoscaling/autoscaler_rules.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr const char* kCpuTarget = "targetCPUUtilizationPercentage";
constexpr const char* kCpuCurrent = "currentCPUUtilizationPercentage";
// A member of spec or status, and the annotation it lies in.
struct Kept {
  const char *part, *member, *annotation;
};
constexpr Kept kKept[] = {
    {"spec", "metrics", "autoscaling.alpha.kubernetes.io/metrics"},
    {"spec", "behavior", "autoscaling.alpha.kubernetes.io/behavior"},
    {"status", "currentMetrics", "autoscaling.alpha.kubernetes.io/current-metrics"},
    {"status", "conditions", "autoscaling.alpha.kubernetes.io/conditions"},
};

bool is_cpu_target(const Json& metric) {
  return text_at(metric, {"type"}) == "Resource" &&
         text_at(metric, {"resource", "name"}) == "cpu" &&
         find_path(metric, {"resource", "target", "averageUtilization"}) != nullptr;
}

bool is_cpu_current(const Json& metric) {
  return text_at(metric, {"type"}) == "Resource" &&
         text_at(metric, {"resource", "name"}) == "cpu" &&
         find_path(metric, {"resource", "current", "averageUtilization"}) != nullptr;
}

// The number out of the list, and the list without it.
void take_cpu(JsonObject& part, const char* list, const char* number, bool target) {
  Json* metrics = part.if_contains(list);
  if (metrics == nullptr || !metrics->is_array()) return;
  JsonArray others;
  for (Json& metric : metrics->get_array()) {
    if (target ? is_cpu_target(metric) : is_cpu_current(metric)) {
      part[number] =
          *find_path(metric, {"resource", target ? "target" : "current", "averageUtilization"});
    } else {
      others.push_back(std::move(metric));
    }
    // The number may have moved what `metrics` points to.
    metrics = part.if_contains(list);
  }
  if (others.empty()) {
    part.erase(list);
  } else {
    part[list] = std::move(others);
  }
}

void put_cpu(JsonObject& part, const char* list, const char* number, const char* where) {
  const Json* value = part.if_contains(number);
  if (value == nullptr || !value->is_int64()) return;
  JsonObject amount{{"averageUtilization", value->get_int64()}};
  if (std::string_view(where) == "target") amount["type"] = "Utilization";
  JsonArray metrics{JsonObject{
      {"type", "Resource"}, {"resource", JsonObject{{"name", "cpu"}, {where, std::move(amount)}}}}};
  part.erase(number);
  if (const Json* others = part.if_contains(list); others != nullptr && others->is_array()) {
    for (const Json& other : others->get_array())
      metrics.push_back(other);
  }
  part[list] = std::move(metrics);
}

}  // namespace

void to_autoscaler_v1(Json& object) {
  if (!object.is_object() || text_at(object, {"apiVersion"}) == "autoscaling/v1") return;
  object.get_object()["apiVersion"] = "autoscaling/v1";
  if (find(object, "spec") != nullptr)
    take_cpu(section(object, "spec"), "metrics", kCpuTarget, true);
  if (find(object, "status") != nullptr) {
    take_cpu(section(object, "status"), "currentMetrics", kCpuCurrent, false);
    set_missing(section(object, "status"), "currentReplicas", 0);
  }
  for (const Kept& kept : kKept) {
    const Json* value = find_path(object, {kept.part, kept.member});
    if (value == nullptr) continue;
    const std::string text = to_text(*value);
    section(object, kept.part).erase(kept.member);
    object_at(section(object, "metadata"), "annotations")[kept.annotation] = text;
  }
}

void to_autoscaler_v2(Json& object) {
  if (!object.is_object() || text_at(object, {"apiVersion"}) == "autoscaling/v2") return;
  object.get_object()["apiVersion"] = "autoscaling/v2";
  for (const Kept& kept : kKept) {
    const Json* text = find_path(object, {"metadata", "annotations", kept.annotation});
    if (text == nullptr || !text->is_string()) continue;
    auto parsed = parse_json(std::string_view(text->get_string()));
    JsonObject& annotations = object_at(section(object, "metadata"), "annotations");
    annotations.erase(kept.annotation);
    if (annotations.empty()) section(object, "metadata").erase("annotations");
    if (parsed) section(object, kept.part)[kept.member] = std::move(parsed->value);
  }
  if (find(object, "spec") != nullptr)
    put_cpu(section(object, "spec"), "metrics", kCpuTarget, "target");
  if (find(object, "status") != nullptr) {
    put_cpu(section(object, "status"), "currentMetrics", kCpuCurrent, "current");
    if (int_at(object, {"status", "currentReplicas"}) == 0)
      section(object, "status").erase("currentReplicas");
  }
}

Kind horizontal_pod_autoscaler_v1_kind() {
  Kind row = horizontal_pod_autoscaler_kind();
  const Kind names =
      ordinary_kind({"autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers"});
  row.version = names.version;
  row.schema = names.schema;
  row.set_defaults = [](Json& object) {
    JsonObject& spec = section(object, "spec");
    set_missing(spec, "minReplicas", 1);
    if (find_path(object, {"metadata", "annotations", kKept[0].annotation}) == nullptr)
      set_missing(section(object, "spec"), kCpuTarget, 80);
  };
  // The condition of a new object has no place in this view's status: it lies beside it.
  row.prepare_create = [stored = row.prepare_create](Json& object,
                                                     const Admission& admission) -> Result<void> {
    to_autoscaler_v2(object);
    TRY(stored(object, admission));
    to_autoscaler_v1(object);
    return {};
  };
  row.validate = [](const Json& object) {
    Json stored = object;
    to_autoscaler_v2(stored);
    return validate_autoscaler(stored);
  };
  row.from_stored = to_autoscaler_v1;
  row.to_stored = to_autoscaler_v2;
  return row;
}

}  // namespace yard
