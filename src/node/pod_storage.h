#pragma once
// When a pod uses more of the disk than its YAML allows (kubernetes-core C5, C18). Pure.

#include <optional>
#include <string>

#include "json/json.h"
#include "node/pod_runtime.h"

namespace yard {

// Whether anything of the pod has such a limit: others are never measured.
bool has_storage_limit(const Json& pod);

// The message of the eviction; nullopt: all is within bounds.
std::optional<std::string> storage_eviction(const Json& pod, const PodUsage& usage);

}  // namespace yard
