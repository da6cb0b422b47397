#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

void set_name_label(Json& object) {
  std::string_view name = text_at(object, {"metadata", "name"});
  if (name.empty()) return;
  std::string kept(name);  // the label may be the first member to move the tree
  object_at(section(object, "metadata"), "labels")[kNameLabel] = kept;
}

Result<void> prepare_create(Json& object, const Admission&) {
  set_name_label(object);  // again: a generated name was not known when defaults were set
  add_text_once(section(object, "spec"), "finalizers", "kubernetes");
  object.get_object()["status"] = JsonObject{{"phase", "Active"}};
  return {};
}

// The list of finalizers belongs to the finalize subresource.
Result<void> prepare_update(Json& object, const Json& live, const Admission&) {
  JsonObject& spec = section(object, "spec");
  const Json* finalizers = find_path(live, {"spec", "finalizers"});
  if (finalizers != nullptr) {
    spec["finalizers"] = *finalizers;
  } else {
    spec.erase("finalizers");
  }
  return {};
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec.finalizers");
  const JsonArray& finalizers = list_at(object, {"spec", "finalizers"});
  for (size_t i = 0; i < finalizers.size(); ++i) {
    std::string_view name = text_of(finalizers[i]);
    add_problems(errors, path.index(i), name, qualified_name_problems(name));
  }
  if (const Json* labels = find_path(object, {"metadata", "labels"}))
    security_policy_of(*labels, &errors);
  return errors;
}

FieldErrors validate_status_update(const Json& object, const Json&) {
  std::string_view phase = text_at(object, {"status", "phase"});
  const FieldPath path("status.Phase");  // upstream's spelling
  if (is_being_deleted(object)) {
    if (phase == "Terminating") return {};
    return {invalid(path, Json(phase),
                    "may only be 'Terminating' if `deletionTimestamp` is not empty")};
  }
  if (phase == "Active") return {};
  return {invalid(path, Json(phase), "may only be 'Active' if `deletionTimestamp` is empty")};
}

}  // namespace

Kind namespace_kind() {
  Kind row = ordinary_kind({"", "v1", "Namespace", "namespaces"});
  row.short_names = {"ns"};
  row.namespaced = false;
  row.verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
  row.subresources = {
      {.name = "finalize", .kind = "", .group = "", .version = "", .verbs = {"update"}},
      status_subresource()};
  row.name_rule = NameRule::Label;
  row.returns_deleted_object = true;
  row.selectable_fields = {"status.phase"};
  row.field_values = [](const Json& object) {
    return std::vector<std::string>{std::string(text_at(object, {"status", "phase"}))};
  };
  row.columns = namespace_columns();
  row.cells = namespace_cells;
  row.set_defaults = set_name_label;
  row.prepare_create = prepare_create;
  row.prepare_update = prepare_update;
  row.validate = validate;
  row.validate_status_update = validate_status_update;
  return row;
}

}  // namespace yard
