#include <array>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_parts.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

FieldErrors validate_node_expression(const Json& expression, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view op = text_at(expression, {"operator"});
  const size_t values = array_at(expression, "values").size();
  const FieldPath place = path.child("values");
  if (op == "In" || op == "NotIn") {
    if (values == 0) {
      errors.push_back(required(place, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values > 0) {
      errors.push_back(
          forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (op == "Gt" || op == "Lt") {
    if (values != 1) {
      errors.push_back(
          required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    errors.push_back(invalid(path.child("operator"), Json(op), "not a valid selector operator"));
  }
  const std::string_view key = text_at(expression, {"key"});
  add_problems(errors, path.child("key"), key, qualified_name_problems(key));
  return errors;
}

FieldErrors validate_node_field(const Json& requirement, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view op = text_at(requirement, {"operator"});
  if (op != "In" && op != "NotIn") {
    errors.push_back(invalid(path.child("operator"), Json(op), "not a valid selector operator"));
  } else if (array_at(requirement, "values").size() != 1) {
    errors.push_back(required(path.child("values"),
                              "must be only one value when `operator` is 'In' or 'NotIn' for "
                              "node field selector"));
  }
  const std::string_view key = text_at(requirement, {"key"});
  if (key != "metadata.name") {
    errors.push_back(invalid(path.child("key"), Json(key), "not a valid field selector key"));
  }
  return errors;
}

FieldErrors validate_node_term(const Json& term, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& expressions = array_at(term, "matchExpressions");
  for (size_t i = 0; i < expressions.size(); ++i) {
    append_errors(
        errors, validate_node_expression(expressions[i], path.child("matchExpressions").index(i)));
  }
  const JsonArray& fields = array_at(term, "matchFields");
  for (size_t i = 0; i < fields.size(); ++i) {
    append_errors(errors, validate_node_field(fields[i], path.child("matchFields").index(i)));
  }
  return errors;
}

void check_weight(FieldErrors& errors, const Json& preference, const FieldPath& path) {
  const int64_t weight = int_at(preference, {"weight"});
  if (weight >= 1 && weight <= 100) return;
  errors.push_back(invalid(path.child("weight"), Json(weight), "must be in the range 1-100"));
}

FieldErrors validate_node_affinity(const Json& affinity, const FieldPath& path) {
  FieldErrors errors;
  if (const Json* needed = find(affinity, kRequired)) {
    const FieldPath place = path.child(kRequired).child("nodeSelectorTerms");
    const JsonArray& terms = array_at(*needed, "nodeSelectorTerms");
    if (terms.empty()) {
      errors.push_back(required(place, "must have at least one node selector term"));
    }
    for (size_t i = 0; i < terms.size(); ++i) {
      append_errors(errors, validate_node_term(terms[i], place.index(i)));
    }
  }
  const JsonArray& wishes = array_at(affinity, kPreferred);
  for (size_t i = 0; i < wishes.size(); ++i) {
    const FieldPath place = path.child(kPreferred).index(i);
    check_weight(errors, wishes[i], place);
    if (const Json* term = find(wishes[i], "preference")) {
      append_errors(errors, validate_node_term(*term, place.child("preference")));
    }
  }
  return errors;
}

FieldErrors validate_pod_term(const Json& term, const FieldPath& path) {
  FieldErrors errors =
      validate_label_selector(find(term, "labelSelector"), path.child("labelSelector"));
  append_errors(errors, validate_label_selector(find(term, "namespaceSelector"),
                                                path.child("namespaceSelector")));
  for (const Json& ns : array_at(term, "namespaces")) {
    add_problems(errors, path.child("namespace"), text_of(ns), dns1123_label_problems(text_of(ns)));
  }
  const std::string_view key = text_at(term, {"topologyKey"});
  if (key.empty()) {
    errors.push_back(required(path.child("topologyKey"), "can not be empty"));
  } else {
    add_problems(errors, path.child("topologyKey"), key, qualified_name_problems(key));
  }
  return errors;
}

FieldErrors validate_pod_affinity(const Json& affinity, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& needed = array_at(affinity, kRequired);
  for (size_t i = 0; i < needed.size(); ++i) {
    append_errors(errors, validate_pod_term(needed[i], path.child(kRequired).index(i)));
  }
  const JsonArray& wishes = array_at(affinity, kPreferred);
  for (size_t i = 0; i < wishes.size(); ++i) {
    const FieldPath place = path.child(kPreferred).index(i);
    check_weight(errors, wishes[i], place);
    if (const Json* term = find(wishes[i], "podAffinityTerm")) {
      append_errors(errors, validate_pod_term(*term, place.child("podAffinityTerm")));
    }
  }
  return errors;
}

FieldErrors validate_affinity(const Json* affinity, const FieldPath& path) {
  FieldErrors errors;
  if (!affinity) return errors;
  if (const Json* nodes = find(*affinity, "nodeAffinity")) {
    append_errors(errors, validate_node_affinity(*nodes, path.child("nodeAffinity")));
  }
  for (const char* key : {"podAffinity", "podAntiAffinity"}) {
    if (const Json* pods = find(*affinity, key)) {
      append_errors(errors, validate_pod_affinity(*pods, path.child(key)));
    }
  }
  return errors;
}

FieldErrors validate_toleration(const Json& toleration, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view key = text_at(toleration, {"key"});
  const std::string_view op = text_at(toleration, {"operator"});
  const std::string_view value = text_at(toleration, {"value"});
  const std::string_view effect = text_at(toleration, {"effect"});
  if (!key.empty()) {
    add_problems(errors, path.child("key"), key, qualified_name_problems(key));
  } else if (op != "Exists") {
    errors.push_back(invalid(path.child("operator"), Json(op),
                             "operator must be Exists when `key` is empty, which means \"match "
                             "all values and all keys\""));
  }
  if (find(toleration, "tolerationSeconds") && effect != "NoExecute") {
    errors.push_back(invalid(path.child("effect"), Json(effect),
                             "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (op.empty() || op == "Equal") {
    const std::vector<std::string> problems = label_value_problems(value);
    if (!problems.empty()) {
      errors.push_back(invalid(path.child("operator"), Json(value), join(problems, ";")));
    }
  } else if (op == "Exists") {
    if (!value.empty()) {
      errors.push_back(invalid(path.child("operator"), Json(value),
                               "value must be empty when `operator` is 'Exists'"));
    }
  } else {
    errors.push_back(not_supported(path.child("operator"), Json(op), {"Equal", "Exists"}));
  }
  if (!effect.empty()) {
    check_supported(errors, toleration, "effect", path,
                    {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
  return errors;
}

FieldErrors validate_gates(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  std::set<std::string_view> seen;
  const JsonArray& gates = array_at(spec, "schedulingGates");
  for (size_t i = 0; i < gates.size(); ++i) {
    const std::string_view name = text_at(gates[i], {"name"});
    add_problems(errors, path.index(i).child("name"), name, qualified_name_problems(name));
    if (!seen.insert(name).second) errors.push_back(duplicate(path.index(i), Json(name)));
  }
  return errors;
}

FieldErrors validate_spread(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  const JsonArray& constraints = array_at(spec, "topologySpreadConstraints");
  for (size_t i = 0; i < constraints.size(); ++i) {
    const Json& constraint = constraints[i];
    const FieldPath place = path.index(i);
    if (const int64_t skew = int_at(constraint, {"maxSkew"}); skew <= 0) {
      errors.push_back(invalid(place.child("maxSkew"), Json(skew), "must be greater than 0"));
    }
    const std::string_view key = text_at(constraint, {"topologyKey"});
    if (key.empty()) {
      errors.push_back(required(place.child("topologyKey"), "can not be empty"));
    } else {
      add_problems(errors, place.child("topologyKey"), key, qualified_name_problems(key));
    }
    require_supported(errors, constraint, "whenUnsatisfiable", place,
                      {"DoNotSchedule", "ScheduleAnyway"});
    const std::string_view action = text_at(constraint, {"whenUnsatisfiable"});
    if (!seen.emplace(key, action).second) {
      errors.push_back(duplicate(place.child("{topologyKey, whenUnsatisfiable}"),
                                 Json(fmt::format("{{{}, {}}}", key, action))));
    }
    append_errors(errors, validate_label_selector(find(constraint, "labelSelector"),
                                                  place.child("labelSelector")));
  }
  return errors;
}

}  // namespace

FieldErrors validate_placement(const Json& spec, const FieldPath& path) {
  FieldErrors errors = validate_labels(find(spec, "nodeSelector"), path.child("nodeSelector"));
  append_errors(errors, validate_affinity(find(spec, "affinity"), path.child("affinity")));
  const JsonArray& tolerations = array_at(spec, "tolerations");
  for (size_t i = 0; i < tolerations.size(); ++i) {
    append_errors(errors, validate_toleration(tolerations[i], path.child("tolerations").index(i)));
  }
  append_errors(errors, validate_gates(spec, path.child("schedulingGates")));
  append_errors(errors, validate_spread(spec, path.child("topologySpreadConstraints")));
  return errors;
}

}  // namespace yard
