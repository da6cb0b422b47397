#include <set>

#include <fmt/format.h>

#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "api/validation.h"

namespace yard {

namespace {

void copy_missing(JsonObject& limit, std::string_view to, std::string_view from) {
  const Json* source = limit.if_contains(from);
  if (source == nullptr || !source->is_object() || source->get_object().empty()) return;
  Json copy = *source;
  JsonObject& target = object_at(limit, to);
  for (auto& [name, value] : copy.get_object())
    set_missing(target, name, std::move(value));
}

// For containers what is not said follows from what is: limits from the maximum, requests from the
// limits, else from the minimum.
void set_defaults(Json& object) {
  Json* limits = find_path(object, {"spec", "limits"});
  if (limits == nullptr || !limits->is_array()) return;
  for (Json& limit : limits->get_array()) {
    if (text_at(limit, {"type"}) != "Container") continue;
    copy_missing(limit.get_object(), "default", "max");
    copy_missing(limit.get_object(), "defaultRequest", "default");
    copy_missing(limit.get_object(), "defaultRequest", "min");
  }
}

// One resource of one limit: what is said of it.
struct Bounds {
  std::optional<Quantity> min, max, usual, usual_request, ratio;
};

std::optional<Quantity> quantity_at(const Json& limit, std::string_view member,
                                    std::string_view resource) {
  std::string_view text = text_at(limit, {member, resource});
  Result<Quantity> parsed = Quantity::parse(text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

struct Comparison {
  std::string_view field;  // where the error is shown
  std::string_view low_name, high_name;
  const std::optional<Quantity>& low;
  const std::optional<Quantity>& high;
  const std::optional<Quantity>& shown;
};

void check_order(FieldErrors& errors, const FieldPath& path, std::string_view resource,
                 const Bounds& bounds) {
  const Comparison comparisons[] = {
      {"min", "min", "max", bounds.min, bounds.max, bounds.min},
      {"defaultRequest", "min", "default request", bounds.min, bounds.usual_request,
       bounds.usual_request},
      {"defaultRequest", "default request", "max", bounds.usual_request, bounds.max,
       bounds.usual_request},
      {"defaultRequest", "default request", "default limit", bounds.usual_request, bounds.usual,
       bounds.usual_request},
      {"default", "min", "default", bounds.min, bounds.usual, bounds.min},
      {"default", "default", "max", bounds.usual, bounds.max, bounds.max},
  };
  for (const Comparison& wanted : comparisons) {
    if (!wanted.low || !wanted.high || *wanted.low <= *wanted.high) continue;
    errors.push_back(
        invalid(path.child(wanted.field).key(resource), Json(wanted.shown->canonical()),
                fmt::format("{} value {} is greater than {} value {}", wanted.low_name,
                            wanted.low->canonical(), wanted.high_name, wanted.high->canonical())));
  }
  if (bounds.ratio && *bounds.ratio < Quantity::of(1)) {
    errors.push_back(invalid(path.child("maxLimitRequestRatio").key(resource),
                             Json(bounds.ratio->canonical()),
                             fmt::format("ratio {} is less than 1", bounds.ratio->canonical())));
  }
}

void check_resources(FieldErrors& errors, const FieldPath& path, const Json& limit) {
  std::set<std::string_view> resources;
  for (std::string_view member :
       {"min", "max", "default", "defaultRequest", "maxLimitRequestRatio"}) {
    for (const auto& entry : map_at(limit, {member})) {
      std::string_view name(entry.key());
      resources.insert(name);
      add_problems(errors, path.child(member).key(name), name, qualified_name_problems(name));
    }
  }
  for (std::string_view resource : resources) {
    Bounds bounds{.min = quantity_at(limit, "min", resource),
                  .max = quantity_at(limit, "max", resource),
                  .usual = quantity_at(limit, "default", resource),
                  .usual_request = quantity_at(limit, "defaultRequest", resource),
                  .ratio = quantity_at(limit, "maxLimitRequestRatio", resource)};
    check_order(errors, path, resource, bounds);
  }
}

void check_limit_type(FieldErrors& errors, const FieldPath& path, const Json& limit) {
  std::string_view type = text_at(limit, {"type"});
  add_problems(errors, path.child("type"), type, qualified_name_problems(type));
  bool is_standard = type == "Pod" || type == "Container" || type == "PersistentVolumeClaim";
  if (!is_standard && type.find('/') == type.npos) {
    errors.push_back(invalid(path.child("type"), Json(type),
                             "must be a standard limit type or fully qualified"));
  }
  if (type == "Pod") {
    for (const char* member : {"default", "defaultRequest"}) {
      if (map_at(limit, {member}).empty()) continue;
      errors.push_back(forbidden(path.child(member), "may not be specified when `type` is 'Pod'"));
    }
  }
  if (type == "PersistentVolumeClaim" && find_path(limit, {"min", "storage"}) == nullptr &&
      find_path(limit, {"max", "storage"}) == nullptr) {
    errors.push_back(
        required(path.child("limits"),
                 "either minimum or maximum storage value is required, but neither was provided"));
  }
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  std::set<std::string_view> types;
  const JsonArray& limits = list_at(object, {"spec", "limits"});
  for (size_t i = 0; i < limits.size(); ++i) {
    FieldPath path = FieldPath("spec.limits").index(i);
    check_limit_type(errors, path, limits[i]);
    std::string_view type = text_at(limits[i], {"type"});
    if (!types.insert(type).second) errors.push_back(duplicate(path.child("type"), Json(type)));
    check_resources(errors, path, limits[i]);
  }
  return errors;
}

}  // namespace

Kind limit_range_kind() {
  Kind row = ordinary_kind({"", "v1", "LimitRange", "limitranges"});
  row.short_names = {"limits"};
  row.creates_on_update = true;
  row.set_defaults = set_defaults;
  row.validate = validate;
  return row;
}

}  // namespace yard
