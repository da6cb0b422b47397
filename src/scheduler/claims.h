#pragma once
// What a pod's PersistentVolumeClaims say about placing it. Pure: objects come through a lookup.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

struct PodClaims {
  std::string obstacle;  // why no node may have the pod yet; "" when nothing stands in the way
  // Claims that wait to hear which node the pod goes to. Until they are bound it is not placed.
  std::vector<std::string> waiting;
};
// `find` answers a PersistentVolumeClaim of the pod's namespace or a StorageClass; null: none.
using StorageLookup = std::function<Json(std::string_view kind, std::string_view name)>;
PodClaims judge_claims(const std::vector<std::string>& names, const StorageLookup& find_object);
std::vector<std::string> claim_names(const Json& pod);

inline constexpr const char* kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";

}  // namespace yard
