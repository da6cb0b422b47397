#pragma once
// Makes a pod's volumes on the disk. Blocking: runs on the pool.

#include <string>

#include "base/result.h"
#include "node/pod_runtime.h"

namespace yard {

// Done again it changes nothing that a container has written.
Result<void> make_volume(const LaunchVolume& volume, const std::string& folder);
// Files that have changed since: a new version beside the old, and one rename that shows it, so that
// a reader sees the old files or the new ones, never a mixture. What is the same is left alone.
Result<void> update_volume_files(const LaunchVolume& volume, const std::string& folder);

}  // namespace yard
