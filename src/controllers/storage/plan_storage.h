#pragma once
// How a PersistentVolumeClaim comes to a PersistentVolume and what becomes of it afterwards
// (kubernetes-core E6). One look plans one step; the next look sees it done. Pure.

#include <optional>
#include <string>
#include <vector>

#include "controllers/runtime/controller.h"

namespace yard {

inline const Resource kClaimResource{"v1", "PersistentVolumeClaim"};
inline const Resource kVolumeResource{"v1", "PersistentVolume"};
inline const Resource kStorageClassResource{"storage.k8s.io/v1", "StorageClass"};
inline constexpr std::string_view kLocalProvisioner = "trainyard.dev/local-folder";

// The folder of a volume of ours, as far as it is known.
struct FolderState {
  enum class Is { Unknown, Made, Removed, Failed };
  Is is = Is::Unknown;
  std::string problem;  // of Failed
};

struct StoragePlan {
  Plan plan;
  // Asked for before the plan can go on; the answer comes back as a FolderState.
  bool make_folder = false, remove_folder = false;
};

struct ClaimWorld {
  Json claim;
  Json storage_class;         // null: none of that name
  std::vector<Json> volumes;  // the one it names, else all that may become its own
  bool in_use = false;        // a pod on a node has it; asked for only of claims on their way out
  FolderState folder;
  std::string folders;  // where folders of volumes are made: <state>/volumes
};
StoragePlan plan_claim(const ClaimWorld& world);

struct VolumeWorld {
  Json volume;
  Json claim;  // the one claimRef names; null: none
  FolderState folder;
};
StoragePlan plan_volume(const VolumeWorld& world);

// pvc-<uid of the claim>: the name of a volume and of its folder.
std::string provisioned_name(const Json& claim);
bool is_provisioned_here(const Json& volume);
bool waits_for_consumer(const Json& storage_class);
// The index of the volume that suits the claim best, among those nobody has.
std::optional<size_t> find_volume(const Json& claim, const std::vector<Json>& volumes);

}  // namespace yard
