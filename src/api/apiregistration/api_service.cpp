// apiregistration.k8s.io/v1. What is served here has an APIService each, made by the server; one
// that names a service of somebody's own is kept and leads nowhere.

#include "api/checks.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tables/cells.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr std::string_view kText =
    "Trainyard keeps this object but sends no requests on to other API servers";

bool is_local(const Json& object) {
  const Json* service = find_path(object, {"spec", "service"});
  return service == nullptr || service->is_null();
}

void set_defaults(Json& object) {
  Json* service = find_path(object, {"spec", "service"});
  if (service != nullptr && service->is_object()) set_missing(service->get_object(), "port", 443);
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const std::string_view version = text_at(object, {"spec", "version"});
  const std::string wanted =
      std::string(version) + "." + std::string(text_at(object, {"spec", "group"}));
  if (name_of(object) != wanted)
    errors.push_back(invalid(FieldPath("metadata.name"), Json(name_of(object)),
                             "must be `spec.version+\".\"+spec.group`: \"" + wanted + "\""));
  const FieldPath path("spec");
  if (const Json* spec = find(object, "spec")) {
    check_within(errors, *spec, "groupPriorityMinimum", path, 1, 20'000);
    check_within(errors, *spec, "versionPriority", path, 1, 1000);
    if (find(*spec, "groupPriorityMinimum") == nullptr)
      errors.push_back(required(path.child("groupPriorityMinimum")));
    if (find(*spec, "versionPriority") == nullptr)
      errors.push_back(required(path.child("versionPriority")));
  } else {
    errors.push_back(required(path));
  }
  if (is_local(object)) {
    if (!text_at(object, {"spec", "caBundle"}).empty())
      errors.push_back(
          invalid(path.child("caBundle"), Json(0), "local APIServices may not have a caBundle"));
    return errors;
  }
  const Json* service = find_path(object, {"spec", "service"});
  require_member(errors, *service, "name", path.child("service"));
  require_member(errors, *service, "namespace", path.child("service"));
  return errors;
}

Result<void> prepare_create(Json& object, const Admission& admission) {
  const bool local = is_local(object);
  JsonObject condition{{"type", "Available"},
                       {"status", local ? "True" : "False"},
                       {"lastTransitionTime", rfc3339(admission.now)},
                       {"reason", local ? "Local" : "NoAggregation"},
                       {"message", local ? "Local APIServices are always available" : kText}};
  section(object, "status")["conditions"] = JsonArray{std::move(condition)};
  return {};
}

std::string cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(is_local(object) ? std::string("Local")
                            : std::string(text_at(object, {"spec", "service", "namespace"})) + "/" +
                                  std::string(text_at(object, {"spec", "service", "name"})));
  const std::string_view status = condition_status(object, "Available");
  std::string shown(status.empty() ? "Unknown" : status);
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == "Available" && shown != "True")
      shown += " (" + std::string(text_at(condition, {"reason"})) + ")";
  }
  row.text(shown);
  row.age(created_at(object));
  return row.finish();
}

}  // namespace

Kind api_service_kind() {
  Kind row = ordinary_kind({"apiregistration.k8s.io", "v1", "APIService", "apiservices"});
  row.namespaced = false;
  row.name_rule = NameRule::PathSegment;  // the core group's is "v1."
  row.categories = {"api-extensions"};
  row.subresources = {status_subresource()};
  row.columns = {name_column(), column("Service", "Who serves it."),
                 column("Available", "Whether it answers."), age_column()};
  row.cells = cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  row.prepare_create = prepare_create;
  row.warnings = [](const Json& object) {
    return is_local(object) ? std::vector<std::string>{}
                            : std::vector<std::string>{std::string(kText)};
  };
  return row;
}

}  // namespace yard
