#pragma once
// Makes a pod's volumes on the disk. Blocking: runs on the pool.

#include <string>

#include "base/result.h"
#include "node/pod_runtime.h"

namespace yard {

// Done again it changes nothing that a container has written.
Result<void> make_volume(const LaunchVolume& volume, const std::string& folder);

// Files that have changed since: a new version beside the old, and one rename that shows it. What
// is the same already is left alone.
Result<void> update_volume_files(const LaunchVolume& volume, const std::string& folder);

}  // namespace yard
