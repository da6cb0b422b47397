#include <algorithm>

#include "api/core/volume_rules.h"
#include "api/kinds.h"
#include "api/tables.h"

namespace yard {

namespace {

// Every member of the spec that says where the bytes are.
constexpr std::string_view kSources[] = {"awsElasticBlockStore",
                                         "azureDisk",
                                         "azureFile",
                                         "cephfs",
                                         "cinder",
                                         "csi",
                                         "fc",
                                         "flexVolume",
                                         "flocker",
                                         "gcePersistentDisk",
                                         "glusterfs",
                                         "hostPath",
                                         "iscsi",
                                         "local",
                                         "nfs",
                                         "photonPersistentDisk",
                                         "portworxVolume",
                                         "quobyte",
                                         "rbd",
                                         "scaleIO",
                                         "storageos",
                                         "vsphereVolume"};

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "persistentVolumeReclaimPolicy", "Retain");
  set_missing(spec, "volumeMode", "Filesystem");
  if (Json* host_path = spec.if_contains("hostPath");
      host_path != nullptr && host_path->is_object()) {
    set_missing(host_path->get_object(), "type", "");
  }
}

Result<void> prepare_create(Json& object, const Admission&) {
  add_finalizer(object, "kubernetes.io/pv-protection");
  object.get_object()["status"] = JsonObject{{"phase", "Pending"}};
  return {};
}

void check_host_path(FieldErrors& errors, const Json& source, const FieldPath& path) {
  std::string_view where = text_at(source, {"path"});
  if (where.empty()) {
    errors.push_back(required(path.child("path")));
  } else if (("/" + std::string(where) + "/").find("/../") != std::string::npos) {
    errors.push_back(invalid(path.child("path"), Json(where), "must not contain '..'"));
  }
}

void check_source(FieldErrors& errors, const Json& object) {
  const FieldPath spec("spec");
  size_t count = 0;
  for (std::string_view name : kSources) {
    const Json* source = find_path(object, {"spec", name});
    if (source == nullptr || !source->is_object()) continue;
    if (++count > 1) {
      errors.push_back(forbidden(spec.child(name), "may not specify more than 1 volume type"));
      continue;
    }
    if (name == "hostPath" || name == "local") check_host_path(errors, *source, spec.child(name));
    if (name == "local" && find_path(object, {"spec", "nodeAffinity"}) == nullptr) {
      errors.push_back(
          required(FieldPath("metadata.annotations"), "Local volume requires node affinity"));
    }
  }
  if (count == 0) errors.push_back(required(spec, "must specify a volume type"));
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath spec("spec");
  check_access_modes(errors, object, "");
  const JsonObject& capacity = map_at(object, {"spec", "capacity"});
  if (capacity.empty()) {
    errors.push_back(required(spec.child("capacity")));
  } else if (capacity.size() > 1 || !capacity.contains("storage")) {
    errors.push_back(not_supported(spec.child("capacity"), capacity, {"storage"}));
  }
  for (const auto& [name, value] : capacity) {
    check_positive_quantity(errors, spec.child("capacity").key(name), value);
  }
  check_one_of(errors, spec.child("persistentVolumeReclaimPolicy"),
               find_path(object, {"spec", "persistentVolumeReclaimPolicy"}),
               {"Delete", "Recycle", "Retain"});
  check_source(errors, object);
  check_class_and_mode(errors, object);
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  bool source_kept = std::ranges::all_of(kSources, [&](std::string_view name) {
    return same(find_path(object, {"spec", name}), find_path(live, {"spec", name}));
  });
  if (!source_kept) {
    errors.push_back(forbidden(FieldPath("spec.persistentvolumesource"),
                               "spec.persistentvolumesource is immutable after creation"));
  }
  check_immutable(errors, FieldPath("spec.volumeMode"), find_path(object, {"spec", "volumeMode"}),
                  find_path(live, {"spec", "volumeMode"}));
  return errors;
}

}  // namespace

Kind persistent_volume_kind() {
  Kind row = ordinary_kind({"", "v1", "PersistentVolume", "persistentvolumes"});
  row.short_names = {"pv"};
  row.namespaced = false;
  row.subresources = {status_subresource()};
  row.returns_deleted_object = true;
  row.columns = persistent_volume_columns();
  row.cells = persistent_volume_cells;
  row.set_defaults = set_defaults;
  row.prepare_create = prepare_create;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
