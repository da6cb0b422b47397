#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"
#include "base/strings.h"

namespace yard {

namespace {

constexpr size_t kMaxParameters = 512;
constexpr size_t kMaxParameterBytes = 256 * 1024;

void set_defaults(Json& object) {
  set_missing(object.get_object(), "reclaimPolicy", "Delete");
  set_missing(object.get_object(), "volumeBindingMode", "Immediate");
}

void check_parameters(FieldErrors& errors, const Json& object) {
  const FieldPath path("parameters");
  const JsonObject& parameters = map_at(object, {"parameters"});
  if (parameters.size() > kMaxParameters) {
    errors.push_back(too_long(path, kMaxParameters));
    return;
  }
  size_t total = 0;
  for (const auto& [key, value] : parameters) {
    if (key.empty()) {
      errors.push_back(invalid(path, Json(key), "field can not be empty."));
    }
    total += key.size() + text_of(value).size();
  }
  if (total > kMaxParameterBytes) errors.push_back(too_long(path, kMaxParameterBytes));
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  std::string_view provisioner = text_at(object, {"provisioner"});
  if (provisioner.empty()) {
    errors.push_back(required(FieldPath("provisioner")));
  } else {
    add_problems(errors, FieldPath("provisioner"), provisioner,
                 qualified_name_problems(lower(provisioner)));
  }
  check_parameters(errors, object);
  check_one_of(errors, FieldPath("reclaimPolicy"), find(object, "reclaimPolicy"),
               {"Delete", "Retain"});
  check_one_of(errors, FieldPath("volumeBindingMode"), find(object, "volumeBindingMode"),
               {"Immediate", "WaitForFirstConsumer"}, Presence::Required);
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  for (const char* member : {"parameters", "provisioner", "reclaimPolicy"}) {
    if (same(find(object, member), find(live, member))) continue;
    errors.push_back(
        forbidden(FieldPath(member), "updates to " + std::string(member) + " are forbidden."));
  }
  check_immutable(errors, FieldPath("volumeBindingMode"), find(object, "volumeBindingMode"),
                  find(live, "volumeBindingMode"));
  return errors;
}

}  // namespace

Kind storage_class_kind() {
  Kind row = ordinary_kind({"storage.k8s.io", "v1", "StorageClass", "storageclasses"});
  row.short_names = {"sc"};
  row.namespaced = false;
  row.returns_deleted_object = true;
  row.columns = storage_class_columns();
  row.cells = storage_class_cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
