#include "api/autoscaling/autoscaler_rules.h"

#include "api/checks.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"

namespace yard {
namespace {

constexpr int64_t kMostWindowSeconds = 3600, kMostPeriodSeconds = 1800;

const Json& none() {
  static const Json kNone = JsonObject();
  return kNone;
}

const Json& part_of(const Json& parent, const char* member) {
  const Json* part = find(parent, member);
  return part != nullptr ? *part : none();
}

void check_segment(FieldErrors& errors, const Json& parent, const char* member,
                   const FieldPath& path) {
  const std::string_view text = text_at(parent, {member});
  if (text.empty()) {
    errors.push_back(required(path.child(member)));
  } else {
    add_problems(errors, path.child(member), text, path_segment_problems(text));
  }
}

void check_object(FieldErrors& errors, const Json& reference, const FieldPath& path) {
  check_segment(errors, reference, "kind", path);
  check_segment(errors, reference, "name", path);
}

// Only core's own kind has no group.
void check_scaled(FieldErrors& errors, const Json& reference, const FieldPath& path) {
  check_object(errors, reference, path);
  const std::string_view version = text_at(reference, {"apiVersion"});
  const bool is_core = version == "v1" && text_at(reference, {"kind"}) == "ReplicationController";
  if (version.find('/') == std::string_view::npos && !is_core)
    errors.push_back(
        invalid(path.child("apiVersion"), Json(version), "apiVersion must specify API group"));
}

void check_positive(FieldErrors& errors, const Json& target, const char* member,
                    const FieldPath& path) {
  const Json* value = find(target, member);
  if (value == nullptr) return;
  const auto amount = Quantity::parse(value->is_string() ? text_of(*value) : to_text(*value));
  if (!amount || amount->is_negative() || amount->is_zero())
    errors.push_back(invalid(path.child(member), *value, "must be positive"));
}

void check_target(FieldErrors& errors, const Json& target, const FieldPath& path) {
  const std::string_view type = text_at(target, {"type"});
  if (type.empty()) {
    errors.push_back(required(path.child("type"), "must specify a metric target type"));
  } else if (type != "Utilization" && type != "Value" && type != "AverageValue") {
    errors.push_back(invalid(path.child("type"), Json(type),
                             "must be either Utilization, Value, or AverageValue"));
  }
  check_positive(errors, target, "value", path);
  check_positive(errors, target, "averageValue", path);
  const Json* share = find(target, "averageUtilization");
  if (share != nullptr && int_of(*share) < 1)
    errors.push_back(invalid(path.child("averageUtilization"), *share, "must be greater than 0"));
}

void check_metric_name(FieldErrors& errors, const Json& source, const FieldPath& path) {
  const FieldPath at = path.child("metric").child("name");
  const std::string_view name = text_at(source, {"metric", "name"});
  if (name.empty()) {
    errors.push_back(required(at, "must specify a metric name"));
  } else {
    add_problems(errors, at, name, path_segment_problems(name));
  }
}

void check_resource(FieldErrors& errors, const Json& source, const FieldPath& path) {
  if (text_at(source, {"name"}).empty())
    errors.push_back(required(path.child("name"), "must specify a resource name"));
  const Json& target = part_of(source, "target");
  const FieldPath at = path.child("target");
  check_target(errors, target, at);
  const bool has_share = find(target, "averageUtilization") != nullptr;
  const bool has_amount = find(target, "averageValue") != nullptr;
  if (!has_share && !has_amount)
    errors.push_back(required(at.child("averageUtilization"),
                              "must set either a target raw value or a target utilization"));
  if (has_share && has_amount)
    errors.push_back(forbidden(at.child("averageValue"),
                               "may not set both a target raw value and a target utilization"));
}

void check_container_resource(FieldErrors& errors, const Json& source, const FieldPath& path) {
  if (text_at(source, {"container"}).empty())
    errors.push_back(required(path.child("container"), "must specify a container"));
  check_resource(errors, source, path);
}

void check_pods_metric(FieldErrors& errors, const Json& source, const FieldPath& path) {
  check_metric_name(errors, source, path);
  const Json& target = part_of(source, "target");
  check_target(errors, target, path.child("target"));
  if (find(target, "averageValue") == nullptr)
    errors.push_back(required(path.child("target").child("averageValue"),
                              "must specify a positive target averageValue"));
}

void check_object_metric(FieldErrors& errors, const Json& source, const FieldPath& path) {
  check_object(errors, part_of(source, "describedObject"), path.child("describedObject"));
  check_metric_name(errors, source, path);
  const Json& target = part_of(source, "target");
  check_target(errors, target, path.child("target"));
  if (find(target, "value") == nullptr && find(target, "averageValue") == nullptr)
    errors.push_back(required(path.child("target").child("averageValue"),
                              "must set either a target value for metric or a per-pod target"));
}

void check_external_metric(FieldErrors& errors, const Json& source, const FieldPath& path) {
  check_metric_name(errors, source, path);
  const Json& target = part_of(source, "target");
  const FieldPath at = path.child("target");
  check_target(errors, target, at);
  const bool has_value = find(target, "value") != nullptr;
  const bool has_average = find(target, "averageValue") != nullptr;
  if (!has_value && !has_average)
    errors.push_back(required(at.child("averageValue"),
                              "must set either a target value for metric or a per-pod target"));
  if (has_value && has_average)
    errors.push_back(forbidden(at.child("value"),
                               "may not set both a target value for metric and a per-pod target"));
}

struct Source {
  const char *type, *member;
  void (*check)(FieldErrors& errors, const Json& source, const FieldPath& path);
};
constexpr Source kSources[] = {
    {"ContainerResource", "containerResource", check_container_resource},
    {"External", "external", check_external_metric},
    {"Object", "object", check_object_metric},
    {"Pods", "pods", check_pods_metric},
    {"Resource", "resource", check_resource},
};

void check_metric(FieldErrors& errors, const Json& metric, const FieldPath& path) {
  const std::string_view type = text_at(metric, {"type"});
  if (type.empty()) {
    errors.push_back(required(path.child("type"), "must specify a metric source type"));
    return;
  }
  const Source* wanted = nullptr;
  std::vector<std::string> types;
  for (const Source& source : kSources) {
    types.emplace_back(source.type);
    if (type == source.type) wanted = &source;
  }
  if (wanted == nullptr) {
    errors.push_back(not_supported(path.child("type"), Json(type), types));
    return;
  }
  const size_t before = errors.size();
  for (const Source& source : kSources) {
    if (&source != wanted && find(metric, source.member) != nullptr)
      errors.push_back(
          forbidden(path.child(source.member), "must populate the given metric source only"));
  }
  const Json* given = find(metric, wanted->member);
  if (given == nullptr) {
    errors.push_back(required(path.child(wanted->member),
                              "must populate information for the given metric source"));
    return;
  }
  if (errors.size() > before) return;
  wanted->check(errors, *given, path.child(wanted->member));
}

void check_speed(FieldErrors& errors, const Json& rules, const FieldPath& path) {
  const Json* window = find(rules, "stabilizationWindowSeconds");
  const FieldPath at = path.child("stabilizationWindowSeconds");
  if (window != nullptr && int_of(*window) < 0)
    errors.push_back(invalid(at, *window, "must be greater than or equal to zero"));
  if (window != nullptr && int_of(*window) > kMostWindowSeconds)
    errors.push_back(invalid(at, *window, "must be less than or equal to 3600"));
  check_supported(errors, rules, "selectPolicy", path, {"Disabled", "Max", "Min"});
  const JsonArray& policies = list_at(rules, {"policies"});
  if (policies.empty())
    errors.push_back(required(path.child("policies"), "must specify at least one Policy"));
  for (size_t i = 0; i < policies.size(); ++i) {
    const FieldPath each = path.child("policies").index(i);
    const std::string_view type = text_at(policies[i], {"type"});
    if (type != "Percent" && type != "Pods")
      errors.push_back(not_supported(each.child("type"), Json(type), {"Percent", "Pods"}));
    for (const char* member : {"value", "periodSeconds"}) {
      if (int_at(policies[i], {member}) <= 0)
        errors.push_back(invalid(each.child(member), Json(int_at(policies[i], {member})),
                                 "must be greater than zero"));
    }
    if (int_at(policies[i], {"periodSeconds"}) > kMostPeriodSeconds)
      errors.push_back(invalid(each.child("periodSeconds"), *find(policies[i], "periodSeconds"),
                               "must be less than or equal to 1800"));
  }
}

}  // namespace

FieldErrors validate_autoscaler(const Json& object) {
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
  check_scaled(errors, target != nullptr ? *target : none(), path.child("scaleTargetRef"));
  const JsonArray& metrics = list_at(object, {"spec", "metrics"});
  for (size_t i = 0; i < metrics.size(); ++i)
    check_metric(errors, metrics[i], path.child("metrics").index(i));
  for (const char* direction : {"scaleUp", "scaleDown"}) {
    if (const Json* rules = find_path(object, {"spec", "behavior", direction}))
      check_speed(errors, *rules, path.child("behavior").child(direction));
  }
  return errors;
}

}  // namespace yard
