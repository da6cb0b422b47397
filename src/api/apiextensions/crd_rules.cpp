#include "api/apiextensions/crd_rules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/crd/default_rules.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {

namespace {

void check_label(FieldErrors& errors, const FieldPath& path, std::string_view value) {
  if (value.empty()) {
    errors.push_back(required(path));
  } else {
    add_problems(errors, path, value, dns1035_label_problems(value));
  }
}

void check_names(FieldErrors& errors, const Json& names) {
  const FieldPath path("spec.names");
  check_label(errors, path.child("plural"), text_at(names, {"plural"}));
  check_label(errors, path.child("singular"), text_at(names, {"singular"}));
  // Kinds are spelled with capitals; apart from that they are labels.
  std::string_view kind = text_at(names, {"kind"});
  if (kind.empty()) {
    errors.push_back(required(path.child("kind")));
  } else {
    add_problems(errors, path.child("kind"), kind, dns1035_label_problems(lower(kind)));
  }
  std::string_view list_kind = text_at(names, {"listKind"});
  if (!list_kind.empty()) {
    add_problems(errors, path.child("listKind"), list_kind,
                 dns1035_label_problems(lower(list_kind)));
    if (list_kind == kind) {
      errors.push_back(invalid(path.child("listKind"), Json(list_kind),
                               "kind and listKind may not be the same"));
    }
  }
  for (const char* member : {"shortNames", "categories"}) {
    const JsonArray& items = list_at(names, {member});
    for (size_t i = 0; i < items.size(); ++i) {
      std::string_view item = text_of(items[i]);
      add_problems(errors, path.child(member).index(i), item, dns1035_label_problems(item));
    }
  }
}

void check_group(FieldErrors& errors, std::string_view group) {
  const FieldPath path("spec.group");
  if (group.empty()) {
    errors.push_back(required(path));
    return;
  }
  std::vector<std::string> problems = dns1123_subdomain_problems(group);
  add_problems(errors, path, group, problems);
  if (problems.empty() && group.find('.') == group.npos) {
    errors.push_back(invalid(path, Json(group), "should be a domain with at least one dot"));
  }
}

// `.spec.replicas`: members only, no list steps.
bool is_simple_path(std::string_view path) {
  if (path.size() < 2 || path[0] != '.') return false;
  for (std::string_view step : split(path.substr(1), '.')) {
    if (step.empty() || step.find_first_of("[]*@?(){}'\" ") != step.npos) return false;
  }
  return true;
}

bool is_column_path(std::string_view path) {
  return path.size() >= 2 && path[0] == '.' && path.find_first_of("{}") == path.npos &&
         std::ranges::count(path, '[') == std::ranges::count(path, ']');
}

void check_columns(FieldErrors& errors, const FieldPath& path, const JsonArray& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    FieldPath at = path.index(i);
    if (text_at(columns[i], {"name"}).empty()) errors.push_back(required(at.child("name")));
    std::string_view type = text_at(columns[i], {"type"});
    if (type.empty()) {
      errors.push_back(
          required(at.child("type"), "must be one of boolean,date,integer,number,string"));
    } else {
      check_one_of(errors, at.child("type"), find(columns[i], "type"),
                   {"boolean", "date", "integer", "number", "string"});
    }
    std::string_view json_path = text_at(columns[i], {"jsonPath"});
    if (json_path.empty()) {
      errors.push_back(required(at.child("jsonPath")));
    } else if (!is_column_path(json_path)) {
      errors.push_back(invalid(at.child("jsonPath"), Json(json_path),
                               "must be a simple json path starting with ."));
    }
  }
}

struct ScalePath {
  const char* member;
  const char* prefix;
  bool is_required;
};

void check_scale(FieldErrors& errors, const FieldPath& path, const Json* scale) {
  if (scale == nullptr || !scale->is_object()) return;
  static constexpr ScalePath kPaths[] = {{"specReplicasPath", ".spec.", true},
                                         {"statusReplicasPath", ".status.", true},
                                         {"labelSelectorPath", "", false}};
  for (const ScalePath& wanted : kPaths) {
    FieldPath at = path.child(wanted.member);
    std::string_view value = text_at(*scale, {wanted.member});
    if (value.empty()) {
      if (wanted.is_required) errors.push_back(required(at));
    } else if (!is_simple_path(value)) {
      errors.push_back(
          invalid(at, Json(value), "should be a json path without array indices, such as .spec.x"));
    } else if (wanted.is_required && !value.starts_with(wanted.prefix)) {
      std::string_view section(wanted.prefix);
      section.remove_suffix(1);
      errors.push_back(
          invalid(at, Json(value), fmt::format("should be a json path under {}", section)));
    } else if (!wanted.is_required && !value.starts_with(".spec.") &&
               !value.starts_with(".status.")) {
      errors.push_back(
          invalid(at, Json(value), "should be a json path under either .spec or .status"));
    }
  }
}

void check_selectable_fields(FieldErrors& errors, const FieldPath& path, const JsonArray& fields) {
  constexpr size_t kMaxFields = 8;
  if (fields.size() > kMaxFields) {
    errors.push_back(too_many(path, fields.size(), kMaxFields));
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < fields.size(); ++i) {
    FieldPath at = path.index(i).child("jsonPath");
    std::string_view json_path = text_at(fields[i], {"jsonPath"});
    if (json_path.empty()) {
      errors.push_back(required(at));
    } else if (!is_simple_path(json_path)) {
      errors.push_back(invalid(at, Json(json_path), "is an invalid path"));
    } else if (json_path.starts_with(".metadata.")) {
      errors.push_back(invalid(at, Json(json_path), "must not point to fields in metadata"));
    } else if (!seen.insert(json_path).second) {
      errors.push_back(duplicate(at, Json(json_path)));
    }
  }
}

void check_version(FieldErrors& errors, const FieldPath& path, const Json& version) {
  check_label(errors, path.child("name"), text_at(version, {"name"}));
  FieldPath schema_path = path.child("schema").child("openAPIV3Schema");
  const Json* schema = find_path(version, {"schema", "openAPIV3Schema"});
  if (schema == nullptr) {
    errors.push_back(required(schema_path));
  } else {
    const size_t before = errors.size();
    check_structural_schema(errors, schema_path, *schema);
    if (errors.size() == before) check_schema_defaults(errors, schema_path, *schema);
  }
  check_scale(errors, path.child("subresources").child("scale"),
              find_path(version, {"subresources", "scale"}));
  check_columns(errors, path.child("additionalPrinterColumns"),
                list_at(version, {"additionalPrinterColumns"}));
  check_selectable_fields(errors, path.child("selectableFields"),
                          list_at(version, {"selectableFields"}));
  if (!text_at(version, {"deprecationWarning"}).empty() && !bool_at(version, {"deprecated"})) {
    errors.push_back(invalid(path.child("deprecationWarning"),
                             Json(text_at(version, {"deprecationWarning"})),
                             "can only be set for deprecated versions"));
  }
}

void check_versions(FieldErrors& errors, const JsonArray& versions) {
  const FieldPath path("spec.versions");
  if (versions.empty()) {
    errors.push_back(required(path, "must have at least one version"));
    return;
  }
  std::set<std::string_view> names;
  int64_t stored = 0;
  for (size_t i = 0; i < versions.size(); ++i) {
    check_version(errors, path.index(i), versions[i]);
    if (bool_at(versions[i], {"storage"})) ++stored;
    if (!names.insert(text_at(versions[i], {"name"})).second) {
      errors.push_back(invalid(path, versions, "must contain unique version names"));
    }
  }
  if (stored != 1) {
    errors.push_back(
        invalid(path, versions, "must have exactly one version marked as storage version"));
  }
}

void check_conversion(FieldErrors& errors, const Json& definition) {
  const FieldPath path("spec.conversion");
  check_one_of(errors, path.child("strategy"),
               find_path(definition, {"spec", "conversion", "strategy"}), {"None", "Webhook"},
               Presence::Required);
  if (text_at(definition, {"spec", "conversion", "strategy"}) == "Webhook" &&
      find_path(definition, {"spec", "conversion", "webhook"}) == nullptr) {
    errors.push_back(
        required(path.child("webhookClientConfig"), "required when strategy is set to Webhook"));
  }
}

}  // namespace

FieldErrors validate_definition(const Json& definition) {
  FieldErrors errors;
  std::string_view plural = text_at(definition, {"spec", "names", "plural"});
  std::string_view group = text_at(definition, {"spec", "group"});
  std::string expected = fmt::format("{}.{}", plural, group);
  if (name_of(definition) != expected) {
    errors.push_back(invalid(FieldPath("metadata.name"), Json(name_of(definition)),
                             "must be spec.names.plural+\".\"+spec.group"));
  }
  check_group(errors, group);
  check_one_of(errors, FieldPath("spec.scope"), find_path(definition, {"spec", "scope"}),
               {"Cluster", "Namespaced"}, Presence::Required);
  check_versions(errors, list_at(definition, {"spec", "versions"}));
  if (const Json* names = find_path(definition, {"spec", "names"})) check_names(errors, *names);
  check_conversion(errors, definition);
  if (bool_at(definition, {"spec", "preserveUnknownFields"})) {
    errors.push_back(invalid(FieldPath("spec.preserveUnknownFields"), Json(true),
                             "cannot set to true, set x-kubernetes-preserve-unknown-fields to "
                             "true in spec.versions[*].schema instead"));
  }
  return errors;
}

}  // namespace yard
