#pragma once
// Volumes are opened while the host's files can still be named, and attached after the root has
// changed: a link inside a volume then leads nowhere but into the container.

#include <string>
#include <vector>

#include "node/shim/launch.h"

namespace shim {

struct OpenVolume {
  int fd = -1;  // a detached mount
  std::string target;
  bool is_folder = true;
};

// Called by the shim before it has mounts of its own, so that volumes of both ways can be opened
// where the machine's are.
void keep_host_mounts();

std::string open_volumes(const std::vector<Mount>& mounts, std::vector<OpenVolume>& volumes);
std::string attach_volumes(const std::vector<OpenVolume>& volumes);

}  // namespace shim
