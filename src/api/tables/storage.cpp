#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"

namespace yard {

namespace {

// The annotation is how classes were named before spec.storageClassName, and still wins.
std::string_view storage_class_of(const Json& object) {
  std::string_view old =
      text_at(object, {"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"});
  return old.empty() ? text_at(object, {"spec", "storageClassName"}) : old;
}

std::string_view phase_or_terminating(const Json& object) {
  return is_being_deleted(object) ? "Terminating" : text_at(object, {"status", "phase"});
}

std::string claim_text(const Json& volume) {
  if (find_path(volume, {"spec", "claimRef"}) == nullptr) return "";
  return fmt::format("{}/{}", text_at(volume, {"spec", "claimRef", "namespace"}),
                     text_at(volume, {"spec", "claimRef", "name"}));
}

bool is_default_class(const Json& object) {
  for (std::string_view key : {"storageclass.kubernetes.io/is-default-class",
                               "storageclass.beta.kubernetes.io/is-default-class"}) {
    if (text_at(object, {"metadata", "annotations", key}) == "true") return true;
  }
  return false;
}

}  // namespace

std::vector<Column> persistent_volume_claim_columns() {
  return {
      name_column(),
      column("Status", "Whether a volume is bound to the claim."),
      column("Volume", "The bound volume."),
      column("Capacity", "What the volume holds."),
      column("Access Modes", "Who may mount the volume at once."),
      column("StorageClass", "The class volumes are taken from."),
      column("VolumeAttributesClass", "The class of the volume's attributes."),
      age_column(),
      wide_column("VolumeMode", "A file system or a block device."),
  };
}

std::string persistent_volume_claim_cells(const Json& object) {
  std::string_view volume = text_at(object, {"spec", "volumeName"});
  bool bound = !volume.empty();
  RowWriter row;
  row.text(name_of(object));
  row.text(phase_or_terminating(object));
  row.text(volume);
  row.text(bound ? text_at(object, {"status", "capacity", "storage"}, "0") : "");
  row.text(bound ? access_modes_text(list_at(object, {"status", "accessModes"})) : "");
  row.text(storage_class_of(object));
  row.text(text_at(object, {"spec", "volumeAttributesClassName"}, "<unset>"));
  row.age(created_at(object));
  row.text(text_at(object, {"spec", "volumeMode"}, "<unset>"));
  return row.finish();
}

std::vector<Column> persistent_volume_columns() {
  return {
      name_column(),
      column("Capacity", "What the volume holds."),
      column("Access Modes", "Who may mount the volume at once."),
      column("Reclaim Policy", "What becomes of it once its claim is gone."),
      column("Status", "Whether the volume is free, bound or released."),
      column("Claim", "The claim it is bound to."),
      column("StorageClass", "The class it belongs to."),
      column("VolumeAttributesClass", "The class of the volume's attributes."),
      column("Reason", "Why it is in this state, if that is a failure."),
      age_column(),
      wide_column("VolumeMode", "A file system or a block device."),
  };
}

std::string persistent_volume_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "capacity", "storage"}, "0"));
  row.text(access_modes_text(list_at(object, {"spec", "accessModes"})));
  row.text(text_at(object, {"spec", "persistentVolumeReclaimPolicy"}));
  row.text(phase_or_terminating(object));
  row.text(claim_text(object));
  row.text(storage_class_of(object));
  row.text(text_at(object, {"spec", "volumeAttributesClassName"}, "<unset>"));
  row.text(text_at(object, {"status", "reason"}));
  row.age(created_at(object));
  row.text(text_at(object, {"spec", "volumeMode"}, "<unset>"));
  return row.finish();
}

std::vector<Column> storage_class_columns() {
  return {
      name_column(),
      column("Provisioner", "Who makes the volumes."),
      column("ReclaimPolicy", "What becomes of a volume once its claim is gone."),
      column("VolumeBindingMode", "Whether binding waits for a pod."),
      column("AllowVolumeExpansion", "Whether claims may grow."),
      age_column(),
  };
}

std::string storage_class_cells(const Json& object) {
  std::string name(name_of(object));
  if (is_default_class(object)) name += " (default)";
  RowWriter row;
  row.text(name);
  row.text(text_at(object, {"provisioner"}));
  row.text(text_at(object, {"reclaimPolicy"}, "Delete"));
  row.text(text_at(object, {"volumeBindingMode"}, "Immediate"));
  row.boolean(bool_at(object, {"allowVolumeExpansion"}));
  row.age(created_at(object));
  return row.finish();
}

}  // namespace yard
