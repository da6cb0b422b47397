#include "api/core/pod_admission.h"
#include "api/core/volume_rules.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "api/tables.h"

namespace yard {

namespace {

constexpr std::string_view kOldClassAnnotation = "volume.beta.kubernetes.io/storage-class";

void set_defaults(Json& object) {
  set_missing(section(object, "spec"), "volumeMode", "Filesystem");
}

Result<void> prepare_create(Json& object, const Admission& admission) {
  add_finalizer(object, "kubernetes.io/pvc-protection");
  object.get_object()["status"] = JsonObject{{"phase", "Pending"}};
  // An explicit "" asks for a volume without a class; only silence means the default.
  bool silent = find_path(object, {"spec", "storageClassName"}) == nullptr &&
                find_path(object, {"metadata", "annotations", kOldClassAnnotation}) == nullptr;
  if (silent && !admission.cluster.default_storage_class.empty()) {
    section(object, "spec")["storageClassName"] = admission.cluster.default_storage_class;
  }
  return check_claim_limits(object, admission.cluster);
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath spec("spec");
  check_access_modes(errors, object, "at least 1 access mode is required");
  append_errors(errors, validate_label_selector(find_path(object, {"spec", "selector"}),
                                                spec.child("selector")));
  FieldPath storage = spec.child("resources").key("storage");
  const Json* requested = find_path(object, {"spec", "resources", "requests", "storage"});
  if (requested == nullptr) {
    errors.push_back(required(storage));
  } else {
    check_positive_quantity(errors, storage, *requested);
  }
  check_class_and_mode(errors, object);
  return errors;
}

// The spec of `object` with what may change set back to how it was.
Json unchangeable_spec(const Json& object, const Json& live) {
  const Json* now = find(object, "spec");
  Json spec = now != nullptr && now->is_object() ? *now : Json(JsonObject());
  const Json* before = find(live, "spec");
  auto restore = [&](std::string_view member) {
    const Json* value = before == nullptr ? nullptr : find(*before, member);
    if (value != nullptr) {
      spec.get_object()[member] = *value;
    } else {
      spec.get_object().erase(member);
    }
  };
  bool bound = text_at(live, {"status", "phase"}) == "Bound";
  // The binder names the volume once, and a class may be given to a claim that has none yet.
  if (text_at(live, {"spec", "volumeName"}).empty()) restore("volumeName");
  if (find_path(live, {"spec", "storageClassName"}) == nullptr) restore("storageClassName");
  if (bound) restore("resources");
  restore("volumeAttributesClassName");
  return spec;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  Json kept = unchangeable_spec(object, live);
  if (!same(&kept, find(live, "spec"))) {
    errors.push_back(forbidden(FieldPath("spec"),
                               "spec is immutable after creation except resources.requests and "
                               "volumeAttributesClassName for bound claims"));
    return errors;
  }
  auto requested = [](const Json& claim) {
    return Quantity::parse(text_at(claim, {"spec", "resources", "requests", "storage"}));
  };
  Result<Quantity> now = requested(object);
  Result<Quantity> before = requested(live);
  if (now && before && *now < *before) {
    errors.push_back(forbidden(FieldPath("spec.resources.requests.storage"),
                               "field can not be less than previous value"));
  }
  return errors;
}

}  // namespace

Kind persistent_volume_claim_kind() {
  Kind row = ordinary_kind({"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"});
  row.short_names = {"pvc"};
  row.subresources = {status_subresource()};
  row.returns_deleted_object = true;
  row.columns = persistent_volume_claim_columns();
  row.cells = persistent_volume_claim_cells;
  row.set_defaults = set_defaults;
  row.prepare_create = prepare_create;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
