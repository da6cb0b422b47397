// storage.k8s.io/v1 of drivers. Stored and listed; volumes here are folders of this machine.

#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr std::string_view kGroup = "storage.k8s.io";
constexpr std::string_view kText =
    "Trainyard keeps this object but speaks to no storage driver: volumes are folders of this "
    "machine";

Kind driver_kind(std::string_view kind, std::string_view plural) {
  Kind row = ordinary_kind({kGroup, "v1", kind, plural});
  row.namespaced = false;
  row.returns_deleted_object = true;
  return row;
}

void set_driver_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "attachRequired", true);
  set_missing(spec, "podInfoOnMount", false);
  set_missing(spec, "storageCapacity", false);
  set_missing(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  set_missing(spec, "volumeLifecycleModes", JsonArray{"Persistent"});
  set_missing(spec, "requiresRepublish", false);
  set_missing(spec, "seLinuxMount", false);
}

FieldErrors validate_driver(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  check_one_of(errors, path.child("fsGroupPolicy"), find_path(object, {"spec", "fsGroupPolicy"}),
               {"File", "None", "ReadWriteOnceWithFSType"});
  for (const Json& mode : list_at(object, {"spec", "volumeLifecycleModes"}))
    check_one_of(errors, path.child("volumeLifecycleModes"), &mode, {"Persistent", "Ephemeral"});
  return errors;
}

FieldErrors validate_attachment(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const std::string_view attacher = text_at(object, {"spec", "attacher"}),
                         node = text_at(object, {"spec", "nodeName"});
  if (attacher.empty()) errors.push_back(required(path.child("attacher")));
  const bool has_spec = find_path(object, {"spec", "source", "inlineVolumeSpec"}) != nullptr;
  const bool has_name = find_path(object, {"spec", "source", "persistentVolumeName"}) != nullptr;
  constexpr const char* kOne =
      "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!has_spec && !has_name) errors.push_back(required(path.child("source"), kOne));
  if (has_spec && has_name) errors.push_back(forbidden(path.child("source"), kOne));
  add_problems(errors, path.child("nodeName"), node, dns1123_subdomain_problems(node));
  add_problems(errors, path.child("attacher"), attacher, dns1123_subdomain_problems(attacher));
  return errors;
}

}  // namespace

Kind csi_driver_kind() {
  Kind row = driver_kind("CSIDriver", "csidrivers");
  row.set_defaults = set_driver_defaults;
  row.validate = validate_driver;
  make_inert(row, kText, false);
  return row;
}

Kind csi_node_kind() {
  Kind row = driver_kind("CSINode", "csinodes");
  make_inert(row, kText, false);
  return row;
}

Kind csi_storage_capacity_kind() {
  Kind row = ordinary_kind({kGroup, "v1", "CSIStorageCapacity", "csistoragecapacities"});
  row.validate = [](const Json& object) {
    FieldErrors errors;
    require_member(errors, object, "storageClassName", FieldPath());
    return errors;
  };
  make_inert(row, kText, false);
  return row;
}

Kind volume_attachment_kind() {
  Kind row = driver_kind("VolumeAttachment", "volumeattachments");
  row.subresources = {status_subresource()};
  row.validate = validate_attachment;
  make_inert(row, kText, false);
  return row;
}

}  // namespace yard
