#pragma once
// Makes a pod's volumes on the disk. Blocking: runs on the pool.

#include <string>

#include "base/result.h"
#include "node/pod_runtime.h"

namespace yard {

// Done again it changes nothing that a container has written.
Result<void> make_volume(const LaunchVolume& volume, const std::string& folder);

}  // namespace yard
