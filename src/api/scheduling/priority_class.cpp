#include <fmt/format.h>

#include "api/kinds.h"
#include "api/tables.h"
#include "api/validation.h"
#include "base/strings.h"

namespace yard {

namespace {

constexpr int64_t kHighestUserValue = 1'000'000'000;

struct SystemClass {
  std::string_view name;
  int64_t value;
};
constexpr SystemClass kSystemClasses[] = {{"system-node-critical", 2'000'001'000},
                                          {"system-cluster-critical", 2'000'000'000}};

void set_defaults(Json& object) {
  set_missing(object.get_object(), "preemptionPolicy", "PreemptLowerPriority");
}

Result<void> refuse_second_default(const Json& object, const Admission& admission) {
  if (!bool_at(object, {"globalDefault"})) return {};
  std::string_view name = name_of(object);
  for (const auto& [other, facts] : admission.cluster.priority_classes) {
    if (!facts.global_default || other == name) continue;
    Error refused =
        error(Reason::Forbidden,
              fmt::format("priorityclasses.scheduling.k8s.io {} is forbidden: PriorityClass {} is "
                          "already marked as default. Only one default can exist",
                          quoted(name), other));
    refused.details.name = name;
    refused.details.group = "scheduling.k8s.io";
    refused.details.kind = "priorityclasses";
    return refused;
  }
  return {};
}

Result<void> prepare_create(Json& object, const Admission& admission) {
  return refuse_second_default(object, admission);
}

Result<void> prepare_update(Json& object, const Json&, const Admission& admission) {
  return refuse_second_default(object, admission);
}

// Why a class with the reserved prefix is not one of the system's own; "" when it is.
std::string system_class_problem(const Json& object) {
  std::string_view name = name_of(object);
  for (const SystemClass& known : kSystemClasses) {
    if (known.name != name) continue;
    if (int_at(object, {"value"}) != known.value) {
      return fmt::format("value of {} PriorityClass must be {}", name, known.value);
    }
    if (bool_at(object, {"globalDefault"})) {
      return fmt::format("globalDefault of {} PriorityClass must be false", name);
    }
    return "";
  }
  return fmt::format("{} is not a known system priority class", name);
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  if (name_of(object).starts_with("system-")) {
    std::string problem = system_class_problem(object);
    if (!problem.empty()) {
      errors.push_back(forbidden(FieldPath("metadata.name"),
                                 "priority class names with 'system-' prefix are reserved for "
                                 "system use only. error: " +
                                     problem));
    }
  } else if (int_at(object, {"value"}) > kHighestUserValue) {
    errors.push_back(forbidden(
        FieldPath("value"),
        fmt::format("maximum allowed value of a user defined priority is {}", kHighestUserValue)));
  }
  check_one_of(errors, FieldPath("preemptionPolicy"), find(object, "preemptionPolicy"),
               {"Never", "PreemptLowerPriority"});
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  if (int_at(object, {"value"}) != int_at(live, {"value"})) {
    errors.push_back(forbidden(FieldPath("value"), "may not be changed in an update."));
  }
  check_immutable(errors, FieldPath("preemptionPolicy"), find(object, "preemptionPolicy"),
                  find(live, "preemptionPolicy"));
  return errors;
}

}  // namespace

Kind priority_class_kind() {
  Kind row = ordinary_kind({"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"});
  row.short_names = {"pc"};
  row.namespaced = false;
  row.tracks_generation = true;
  row.columns = priority_class_columns();
  row.cells = priority_class_cells;
  row.set_defaults = set_defaults;
  row.prepare_create = prepare_create;
  row.prepare_update = prepare_update;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
