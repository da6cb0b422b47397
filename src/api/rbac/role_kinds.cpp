#include <fmt/format.h>

#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

void check_rule(FieldErrors& errors, const Json& rule, bool namespaced, const FieldPath& path) {
  const JsonArray& urls = list_at(rule, {"nonResourceURLs"});
  if (list_at(rule, {"verbs"}).empty())
    errors.push_back(required(path.child("verbs"), "verbs must contain at least one value"));
  if (!urls.empty()) {
    if (namespaced)
      errors.push_back(invalid(path.child("nonResourceURLs"), Json(urls),
                               "namespaced rules cannot apply to non-resource URLs"));
    if (!list_at(rule, {"apiGroups"}).empty() || !list_at(rule, {"resources"}).empty() ||
        !list_at(rule, {"resourceNames"}).empty()) {
      errors.push_back(invalid(path.child("nonResourceURLs"), Json(urls),
                               "rules cannot apply to both regular resources and non-resource "
                               "URLs"));
    }
    return;
  }
  if (list_at(rule, {"apiGroups"}).empty())
    errors.push_back(
        required(path.child("apiGroups"), "resource rules must supply at least one api group"));
  if (list_at(rule, {"resources"}).empty())
    errors.push_back(
        required(path.child("resources"), "resource rules must supply at least one resource"));
}

FieldErrors validate_rules(const Json& object, bool namespaced) {
  FieldErrors errors;
  size_t index = 0;
  for (const Json& rule : list_at(object, {"rules"}))
    check_rule(errors, rule, namespaced, FieldPath("rules").index(index++));
  return errors;
}

FieldErrors validate_role(const Json& object) {
  return validate_rules(object, true);
}

FieldErrors validate_cluster_role(const Json& object) {
  FieldErrors errors;
  if (const Json* aggregation = find(object, "aggregationRule");
      aggregation != nullptr && aggregation->is_object()) {
    const JsonArray& selectors = list_at(*aggregation, {"clusterRoleSelectors"});
    const FieldPath path("aggregationRule.clusterRoleSelectors");
    if (selectors.empty())
      errors.push_back(required(
          path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    for (size_t i = 0; i < selectors.size(); ++i)
      append_errors(errors, validate_label_selector(&selectors[i], path.index(i)));
  }
  append_errors(errors, validate_rules(object, false));
  return errors;
}

// Absent groups become the only ones there are.
void set_binding_defaults(Json& object) {
  if (Json* role = find(object, "roleRef"); role != nullptr && role->is_object()) {
    if (text_at(*role, {"apiGroup"}).empty()) role->get_object()["apiGroup"] = kGroup;
  }
  Json* subjects = find(object, "subjects");
  if (subjects == nullptr || !subjects->is_array()) return;
  for (Json& subject : subjects->get_array()) {
    const std::string_view kind = text_at(subject, {"kind"});
    if ((kind == "User" || kind == "Group") && text_at(subject, {"apiGroup"}).empty())
      subject.get_object()["apiGroup"] = kGroup;
  }
}

void check_subject(FieldErrors& errors, const Json& subject, bool namespaced,
                   const FieldPath& path) {
  const std::string_view kind = text_at(subject, {"kind"}), name = text_at(subject, {"name"});
  if (name.empty()) errors.push_back(required(path.child("name")));
  const auto check_group = [&](std::string_view wanted) {
    if (text_at(subject, {"apiGroup"}) != wanted)
      errors.push_back(not_supported(path.child("apiGroup"), Json(text_at(subject, {"apiGroup"})),
                                     {std::string(wanted)}));
  };
  if (kind == "ServiceAccount") {
    if (!name.empty())
      add_problems(errors, path.child("name"), name, dns1123_subdomain_problems(name));
    check_group("");
    if (!namespaced && text_at(subject, {"namespace"}).empty())
      errors.push_back(required(path.child("namespace")));
  } else if (kind == "User" || kind == "Group") {
    check_group(kGroup);
  } else {
    errors.push_back(
        not_supported(path.child("kind"), Json(kind), {"ServiceAccount", "User", "Group"}));
  }
}

FieldErrors validate_binding(const Json& object, bool namespaced) {
  FieldErrors errors;
  const FieldPath path("roleRef");
  const std::string_view group = text_at(object, {"roleRef", "apiGroup"}),
                         kind = text_at(object, {"roleRef", "kind"}),
                         name = text_at(object, {"roleRef", "name"});
  if (group != kGroup)
    errors.push_back(not_supported(path.child("apiGroup"), Json(group), {std::string(kGroup)}));
  if (kind != "ClusterRole" && !(namespaced && kind == "Role")) {
    errors.push_back(not_supported(path.child("kind"), Json(kind),
                                   namespaced ? std::vector<std::string>{"Role", "ClusterRole"}
                                              : std::vector<std::string>{"ClusterRole"}));
  }
  if (name.empty()) {
    errors.push_back(required(path.child("name")));
  } else {
    for (const std::string& problem : path_segment_problems(name))
      errors.push_back(invalid(path.child("name"), Json(name), problem));
  }
  size_t index = 0;
  for (const Json& subject : list_at(object, {"subjects"}))
    check_subject(errors, subject, namespaced, FieldPath("subjects").index(index++));
  return errors;
}

FieldErrors validate_binding_update(const Json& object, const Json& live) {
  FieldErrors errors;
  const Json *next = find(object, "roleRef"), *before = find(live, "roleRef");
  if (same(next, before)) return errors;
  const Json role = next != nullptr ? *next : Json(JsonObject());
  errors.push_back(invalid(FieldPath("roleRef"),
                           Json(JsonObject{{"APIGroup", text_at(role, {"apiGroup"})},
                                           {"Kind", text_at(role, {"kind"})},
                                           {"Name", text_at(role, {"name"})}}),
                           "cannot change roleRef"));
  return errors;
}

Kind access_kind(std::string_view kind, std::string_view plural, bool namespaced) {
  Kind row = ordinary_kind({kGroup, "v1", kind, plural});
  row.namespaced = namespaced;
  row.name_rule = NameRule::PathSegment;
  row.creates_on_update = true;
  return row;
}

Kind binding_kind(std::string_view kind, std::string_view plural, bool namespaced) {
  Kind row = access_kind(kind, plural, namespaced);
  row.columns = role_binding_columns();
  row.cells = role_binding_cells;
  row.set_defaults = set_binding_defaults;
  row.validate = [namespaced](const Json& object) { return validate_binding(object, namespaced); };
  row.validate_update = validate_binding_update;
  return row;
}

}  // namespace

Kind role_kind() {
  Kind row = access_kind("Role", "roles", true);
  row.validate = validate_role;
  return row;
}

Kind cluster_role_kind() {
  Kind row = access_kind("ClusterRole", "clusterroles", false);
  row.validate = validate_cluster_role;
  return row;
}

Kind role_binding_kind() {
  return binding_kind("RoleBinding", "rolebindings", true);
}

Kind cluster_role_binding_kind() {
  return binding_kind("ClusterRoleBinding", "clusterrolebindings", false);
}

}  // namespace yard
