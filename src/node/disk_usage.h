#pragma once
// How much of the disk a pod's files take. Blocking: used on the pool.

#include "node/launch_files.h"
#include "node/pod_runtime.h"

namespace yard {

// The blocks of all files below, links not followed; what cannot be read counts nothing.
uint64_t disk_usage(const std::string& folder);
PodUsage usage_of(const PodFolders& folders);

}  // namespace yard
