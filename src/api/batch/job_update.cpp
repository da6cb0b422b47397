#include <algorithm>

#include "api/batch/job_spec.h"
#include "api/checks.h"

namespace yard {
namespace {

const Json& member_or_empty(const Json& object, std::initializer_list<std::string_view> keys) {
  static const Json kNone = JsonObject();
  const Json* member = find_path(object, keys);
  return member ? *member : kNone;
}

// Pods of a Job that never started can still be sent elsewhere.
bool may_redirect_pods(const Json& live) {
  return bool_at(live, {"spec", "suspend"}) && !find_path(live, {"status", "startTime"});
}

void put_back(JsonObject& object, const Json& live, const char* key) {
  if (const Json* value = find(live, key)) {
    object[key] = *value;
  } else {
    object.erase(key);
  }
}

// The new template with the parts that decide where pods go set back to what they were.
Json with_directions_of(const Json& pod_template, const Json& live) {
  Json copy = pod_template;
  JsonObject* changed = copy.if_object();
  if (!changed) return copy;
  JsonObject& metadata = object_at(*changed, "metadata");
  for (const char* key : {"labels", "annotations"}) {
    put_back(metadata, member_or_empty(live, {"metadata"}), key);
  }
  JsonObject& spec = object_at(*changed, "spec");
  const Json& before = member_or_empty(live, {"spec"});
  for (const char* key : {"nodeSelector", "tolerations", "schedulingGates"}) {
    put_back(spec, before, key);
  }
  put_back(object_at(spec, "affinity"), member_or_empty(before, {"affinity"}), "nodeAffinity");
  if (object_at(spec, "affinity").empty() && !find(before, "affinity")) spec.erase("affinity");
  return copy;
}

void check_template(FieldErrors& errors, const Json& spec, const Json& job_live,
                    const FieldPath& path) {
  const Json& now = member_or_empty(spec, {"template"});
  const Json& before = member_or_empty(job_live, {"spec", "template"});
  if (equal(now, before)) return;
  if (may_redirect_pods(job_live) && equal(with_directions_of(now, before), before)) return;
  errors.push_back(invalid(path.child("template"), now, kFieldIsImmutable));
}

// An elastic Indexed Job grows and shrinks with its completions and parallelism together.
void check_completions(FieldErrors& errors, const Json& spec, const Json& live,
                       const FieldPath& path) {
  if (!is_indexed(live)) {
    check_immutable(errors, spec, live, "completions", path);
    return;
  }
  const Json* completions = find(spec, "completions");
  if (same(completions, find(live, "completions"))) return;
  if (!completions || int_of(*completions) != int_at(spec, {"parallelism"})) {
    errors.push_back(invalid(path.child("completions"), completions ? *completions : Json(),
                             "can only be modified in tandem with spec.parallelism"));
  }
}

bool has_condition(const Json& status, std::string_view type) {
  return std::ranges::any_of(array_at(status, "conditions"), [&](const Json& condition) {
    return text_at(condition, {"type"}) == type && text_at(condition, {"status"}) == "True";
  });
}

Cause invalid_conditions(const char* detail) {
  return Cause{"FieldValueInvalid", std::string("Invalid value: ") + detail, "status.conditions"};
}

}  // namespace

FieldErrors validate_job_update(const Json& job, const Json& live) {
  const FieldPath path("spec");
  const Json& spec = member_or_empty(job, {"spec"});
  const Json& before = member_or_empty(live, {"spec"});
  FieldErrors errors;
  check_completions(errors, spec, before, path);
  check_immutable(errors, spec, before, "selector", path);
  check_template(errors, spec, live, path);
  for (const char* key : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy",
                          "successPolicy"}) {
    check_immutable(errors, spec, before, key, path);
  }
  return errors;
}

FieldErrors validate_job_status_update(const Json& job, const Json& live) {
  FieldErrors errors;
  const Json& status = member_or_empty(job, {"status"});
  for (const char* key : {"active", "ready", "succeeded", "failed", "terminating"}) {
    check_not_negative(errors, status, key, FieldPath("status"));
  }
  if (has_condition(status, "Complete") && has_condition(status, "Failed")) {
    errors.push_back(invalid_conditions("cannot set Complete=True and Failed=true conditions"));
  }
  for (const char* type : {"Complete", "Failed"}) {
    if (!has_condition(member_or_empty(live, {"status"}), type) || has_condition(status, type)) {
      continue;
    }
    errors.push_back(invalid_conditions(std::string_view(type) == "Complete"
                                            ? "cannot disable the terminal Complete=True condition"
                                            : "cannot disable the terminal Failed=True condition"));
  }
  return errors;
}

}  // namespace yard
