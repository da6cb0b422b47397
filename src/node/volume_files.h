#pragma once
// Makes a pod's volumes on the disk. Blocking: runs on the pool.

#include <string>

#include "base/result.h"
#include "node/pod_runtime.h"

namespace yard {

// Done again it changes nothing that a container has written.
Result<void> make_volume(const LaunchVolume& volume, const std::string& folder);
// Writes another version of a volume of files beside the one that is there, then points `..data` at
// it: a reader sees the old files or the new ones, never a mixture.
Result<void> replace_volume_files(const LaunchVolume& volume, const std::string& folder);

}  // namespace yard
