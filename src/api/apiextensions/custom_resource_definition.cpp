#include <algorithm>

#include <fmt/format.h>

#include "api/apiextensions/crd_rules.h"
#include "api/crd/custom_kinds.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/training/training_kind.h"
#include "base/strings.h"

namespace yard {

namespace {

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  if (Json* names = spec.if_contains("names"); names != nullptr && names->is_object()) {
    std::string kind(text_at(*names, {"kind"}));
    JsonObject& members = names->get_object();
    if (!kind.empty() && text_at(*names, {"singular"}).empty()) members["singular"] = lower(kind);
    if (!kind.empty() && text_at(*names, {"listKind"}).empty()) members["listKind"] = kind + "List";
  }
  set_missing(object_at(spec, "conversion"), "strategy", "None");
}

std::string_view storage_version(const Json& object) {
  for (const Json& version : list_at(object, {"spec", "versions"})) {
    if (bool_at(version, {"storage"})) return text_at(version, {"name"});
  }
  return "";
}

void note_storage_version(Json& object) {
  std::string version(storage_version(object));
  if (!version.empty()) add_text_once(section(object, "status"), "storedVersions", version);
}

bool is_built_in(const Json& object) {
  return !training_definition_spec(name_of(object)).is_null();
}

// The definition of a kind that is built in may come as its name alone: what the server fills in
// belongs to nobody, so that a user may apply another one over it without a conflict.
void fill_built_in(Json& object) {
  if (find_path(object, {"spec", "names"}) != nullptr) return;
  Json spec = training_definition_spec(name_of(object));
  if (!spec.is_null()) object.get_object()["spec"] = std::move(spec);
}

// Names are accepted and conditions set by the controller that watches definitions.
Result<void> prepare_create(Json& object, const Admission&) {
  fill_built_in(object);
  object.get_object()["status"] = JsonObject{
      {"acceptedNames", JsonObject{{"plural", ""}, {"kind", ""}}}, {"storedVersions", JsonArray()}};
  note_storage_version(object);
  return {};
}

Result<void> prepare_update(Json& object, const Json&, const Admission&) {
  note_storage_version(object);
  return {};
}

void check_stored_versions(FieldErrors& errors, const Json& object, const Json& stored_in) {
  // How the objects of such a kind are stored does not follow from its definition.
  if (is_built_in(object)) return;
  const JsonArray& stored = list_at(stored_in, {"status", "storedVersions"});
  const JsonArray& versions = list_at(object, {"spec", "versions"});
  for (size_t i = 0; i < stored.size(); ++i) {
    std::string_view name = text_of(stored[i]);
    bool listed = std::ranges::any_of(
        versions, [&](const Json& version) { return text_at(version, {"name"}) == name; });
    if (listed) continue;
    errors.push_back(invalid(
        FieldPath("status.storedVersions").index(i), Json(name),
        fmt::format("missing from spec.versions; {0} was previously a storage version, and must "
                    "remain in spec.versions until a storage migration ensures no data remains "
                    "persisted in {0} and removes {0} from status.storedVersions",
                    name)));
  }
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  const FieldPath spec("spec");
  auto keep = [&](const FieldPath& path, std::initializer_list<std::string_view> at) {
    check_immutable(errors, path, find_path(object, at), find_path(live, at));
  };
  keep(spec.child("group"), {"spec", "group"});
  keep(spec.child("names").child("plural"), {"spec", "names", "plural"});
  if (condition_status(live, "Established") == "True") {
    keep(spec.child("scope"), {"spec", "scope"});
    keep(spec.child("names").child("kind"), {"spec", "names", "kind"});
  }
  check_stored_versions(errors, object, live);
  return errors;
}

// storedVersions may shrink here after a migration, but never name a version that is not served.
FieldErrors validate_status_update(const Json& object, const Json&) {
  FieldErrors errors;
  check_stored_versions(errors, object, object);
  return errors;
}

std::vector<std::string> warnings_of(const Json& object) {
  std::vector<std::string> warnings = definition_warnings(object);
  const Json own = training_definition_spec(name_of(object));
  if (!own.is_null() && !equal(own, *find(object, "spec")))
    warnings.push_back(
        fmt::format("{} is built into this server: its own schema and controller stay in use",
                    name_of(object)));
  return warnings;
}

}  // namespace

Kind custom_resource_definition_kind() {
  Kind row = ordinary_kind(
      {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"});
  row.short_names = {"crd", "crds"};
  row.categories = {"api-extensions"};
  row.namespaced = false;
  row.subresources = {status_subresource()};
  row.tracks_generation = true;
  row.allows_unconditional_update = false;
  row.columns = custom_resource_definition_columns();
  row.cells = custom_resource_definition_cells;
  row.set_defaults = set_defaults;
  row.prepare_create = prepare_create;
  row.prepare_update = prepare_update;
  row.validate = validate_definition;
  row.warnings = warnings_of;
  row.validate_update = validate_update;
  row.validate_status_update = validate_status_update;
  return row;
}

}  // namespace yard
