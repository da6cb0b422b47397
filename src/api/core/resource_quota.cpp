#include <algorithm>
#include <set>

#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

const std::set<std::string_view>& standard_resources() {
  static const std::set<std::string_view> names{"cpu",
                                                "memory",
                                                "ephemeral-storage",
                                                "requests.cpu",
                                                "requests.memory",
                                                "requests.storage",
                                                "requests.ephemeral-storage",
                                                "limits.cpu",
                                                "limits.memory",
                                                "limits.ephemeral-storage",
                                                "pods",
                                                "resourcequotas",
                                                "services",
                                                "replicationcontrollers",
                                                "secrets",
                                                "configmaps",
                                                "persistentvolumeclaims",
                                                "services.nodeports",
                                                "services.loadbalancers"};
  return names;
}

// Things are counted; time and bytes are measured.
bool is_counted(std::string_view resource) {
  static const std::set<std::string_view> counted{"pods",
                                                  "resourcequotas",
                                                  "services",
                                                  "replicationcontrollers",
                                                  "secrets",
                                                  "configmaps",
                                                  "persistentvolumeclaims",
                                                  "services.nodeports",
                                                  "services.loadbalancers"};
  return counted.contains(resource) || resource.starts_with("count/");
}

void check_name(FieldErrors& errors, const FieldPath& path, std::string_view name) {
  add_problems(errors, path, name, qualified_name_problems(name));
  if (name.find('/') == name.npos && !standard_resources().contains(name)) {
    errors.push_back(
        invalid(path, Json(name), "must be a standard resource type or fully qualified"));
    errors.push_back(invalid(path, Json(name), "must be a standard resource for quota"));
  }
}

void check_hard(FieldErrors& errors, const JsonObject& hard, const FieldPath& parent) {
  for (const auto& entry : hard) {
    std::string_view name(entry.key());
    FieldPath path = parent.key(name);
    check_name(errors, path, name);
    Result<Quantity> quantity = Quantity::parse(text_of(entry.value()));
    if (!quantity) {
      errors.push_back(invalid(path, entry.value(), quantity.error().message));
    } else if (quantity->is_negative()) {
      errors.push_back(invalid(path, entry.value(), "must be greater than or equal to 0"));
    } else if (is_counted(name) && !quantity->is_integer()) {
      errors.push_back(invalid(path, entry.value(), "must be an integer"));
    }
  }
}

void check_scopes(FieldErrors& errors, const Json& object) {
  static const std::set<std::string_view> known{
      "Terminating",  "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity",
      "PriorityClass"};
  const FieldPath path("spec.scopes");
  const JsonArray& scopes = list_at(object, {"spec", "scopes"});
  auto has = [&](std::string_view scope) {
    return std::ranges::any_of(scopes, [&](const Json& one) { return text_of(one) == scope; });
  };
  for (const Json& scope : scopes) {
    if (!known.contains(text_of(scope))) {
      errors.push_back(invalid(path, scopes, "unsupported scope"));
    }
  }
  if ((has("BestEffort") && has("NotBestEffort")) ||
      (has("Terminating") && has("NotTerminating"))) {
    errors.push_back(invalid(path, scopes, "conflicting scopes"));
  }
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  check_hard(errors, map_at(object, {"spec", "hard"}), FieldPath("spec.hard"));
  check_scopes(errors, object);
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("spec.scopes"), find_path(object, {"spec", "scopes"}),
                  find_path(live, {"spec", "scopes"}));
  return errors;
}

FieldErrors validate_status_update(const Json& object, const Json&) {
  FieldErrors errors;
  check_hard(errors, map_at(object, {"status", "hard"}), FieldPath("status.hard"));
  check_hard(errors, map_at(object, {"status", "used"}), FieldPath("status.used"));
  return errors;
}

Result<void> prepare_create(Json& object, const Admission&) {
  object.get_object()["status"] = JsonObject();
  return {};
}

}  // namespace

Kind resource_quota_kind() {
  Kind row = ordinary_kind({"", "v1", "ResourceQuota", "resourcequotas"});
  row.short_names = {"quota"};
  row.subresources = {status_subresource()};
  row.returns_deleted_object = true;
  row.columns = resource_quota_columns();
  row.cells = resource_quota_cells;
  row.prepare_create = prepare_create;
  row.validate = validate;
  row.validate_update = validate_update;
  row.validate_status_update = validate_status_update;
  return row;
}

}  // namespace yard
