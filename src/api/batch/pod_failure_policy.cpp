#include <algorithm>

#include "api/batch/job_spec.h"
#include "api/checks.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostRules = 20;
constexpr size_t kMostExitCodes = 255;
constexpr size_t kMostPatterns = 20;

// `Required value: valid values: ["In" "NotIn"]`, or Unsupported for another text.
void require_choice(FieldErrors& errors, const Json& parent, const char* key, const FieldPath& path,
                    const std::vector<std::string>& choices) {
  if (!text_at(parent, {key}).empty()) {
    check_supported(errors, parent, key, path, choices);
    return;
  }
  std::vector<std::string> texts;
  for (const std::string& choice : choices)
    texts.push_back(quoted(choice));
  errors.push_back(required(path.child(key), "valid values: [" + join(texts, " ") + "]"));
}

// Invalid about a rule as a whole, which the API server does not print.
Cause invalid_rule(const FieldPath& path, const char* detail) {
  return Cause{"FieldValueInvalid", std::string("Invalid value: ") + detail, path.text()};
}

bool names_a_container(const Json& spec, std::string_view name) {
  const Json* pod = find_path(spec, {"template", "spec"});
  if (!pod) return false;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : array_at(*pod, list)) {
      if (text_at(container, {"name"}) == name) return true;
    }
  }
  return false;
}

FieldErrors validate_exit_codes(const Json& requirement, const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  require_choice(errors, requirement, "operator", path, {"In", "NotIn"});
  if (const Json* name = find(requirement, "containerName");
      name && !names_a_container(spec, text_of(*name))) {
    errors.push_back(invalid(path.child("containerName"), *name,
                             "must be one of the container or initContainer names in the pod "
                             "template"));
  }
  const FieldPath place = path.child("values");
  const JsonArray& values = array_at(requirement, "values");
  if (values.empty()) {
    errors.push_back(invalid(place, Json(values), "at least one value is required"));
  } else if (values.size() > kMostExitCodes) {
    errors.push_back(too_many(place, values.size(), kMostExitCodes));
  }
  const bool is_in = text_at(requirement, {"operator"}) == "In";
  bool ordered = true;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t code = int_of(values[i]);
    if (is_in && code == 0) {
      errors.push_back(invalid(place.index(i), values[i], "must not be 0 for the In operator"));
    }
    if (i == 0) continue;
    if (code == int_of(values[i - 1])) errors.push_back(duplicate(place.index(i), values[i]));
    ordered = ordered && code >= int_of(values[i - 1]);
  }
  if (!ordered) errors.push_back(invalid(place, Json(values), "must be ordered"));
  return errors;
}

FieldErrors validate_patterns(const JsonArray& patterns, const FieldPath& path) {
  FieldErrors errors;
  if (patterns.size() > kMostPatterns) {
    errors.push_back(too_many(path, patterns.size(), kMostPatterns));
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    const std::string_view type = text_at(patterns[i], {"type"});
    add_problems(errors, path.index(i).child("type"), type, qualified_name_problems(type));
    require_choice(errors, patterns[i], "status", path.index(i), {"False", "True", "Unknown"});
  }
  return errors;
}

FieldErrors validate_rule(const Json& rule, const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  require_choice(errors, rule, "action", path, {"Count", "FailIndex", "FailJob", "Ignore"});
  if (text_at(rule, {"action"}) == "FailIndex" && !find(spec, "backoffLimitPerIndex")) {
    errors.push_back(invalid(path.child("action"), Json("FailIndex"),
                             "requires the backoffLimitPerIndex to be set"));
  }
  const Json* exit_codes = find(rule, "onExitCodes");
  const JsonArray& patterns = array_at(rule, "onPodConditions");
  if (exit_codes) {
    append_errors(errors, validate_exit_codes(*exit_codes, spec, path.child("onExitCodes")));
  }
  append_errors(errors, validate_patterns(patterns, path.child("onPodConditions")));
  if (exit_codes && !patterns.empty()) {
    errors.push_back(
        invalid_rule(path, "specifying both OnExitCodes and OnPodConditions is not supported"));
  } else if (!exit_codes && patterns.empty()) {
    errors.push_back(
        invalid_rule(path, "specifying one of OnExitCodes and OnPodConditions is required"));
  }
  return errors;
}

}  // namespace

FieldErrors validate_pod_failure_policy(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  const Json* policy = find(spec, "podFailurePolicy");
  if (!policy) return errors;
  const FieldPath place = path.child("podFailurePolicy").child("rules");
  const JsonArray& rules = array_at(*policy, "rules");
  if (rules.size() > kMostRules) errors.push_back(too_many(place, rules.size(), kMostRules));
  for (size_t i = 0; i < rules.size(); ++i) {
    append_errors(errors, validate_rule(rules[i], spec, place.index(i)));
  }
  return errors;
}

void set_pod_failure_policy_defaults(JsonObject& spec) {
  Json* policy = spec.if_contains("podFailurePolicy");
  Json* rules = policy ? find(*policy, "rules") : nullptr;
  if (!rules || !rules->is_array()) return;
  for (Json& rule : rules->get_array()) {
    Json* patterns = find(rule, "onPodConditions");
    if (!patterns || !patterns->is_array()) continue;
    for (Json& pattern : patterns->get_array()) {
      if (pattern.is_object() && text_at(pattern, {"status"}).empty()) {
        pattern.get_object()["status"] = "True";
      }
    }
  }
}

}  // namespace yard
