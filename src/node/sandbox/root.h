#pragma once
// The files a container sees: a folder of its own as root, the host's programs read-only, devices,
// /proc, and the volumes where the YAML says.

#include <string>

#include "node/shim/launch.h"

namespace shim {

// Runs in the container's first process, in mount and pid namespaces of its own. `root` is where
// the container's root is mounted, `upper` and `work` the writable layer of this run over the
// `skeleton` of all, `mount_points` a folder for mount points the host lacks, `shared_memory` the
// pod's /dev/shm. An empty text is success; otherwise which step failed and why.
struct RootFolders {
  std::string root, upper, work, mount_points, shared_memory, skeleton;
  int memory = -1;  // the pod's /dev/shm, where it is mounted nowhere (sandbox/pod_memory.h)
};
std::string build_root(const Container& container, const RootFolders& folders);

}  // namespace shim
