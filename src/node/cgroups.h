#pragma once
// Where the control groups of pods lie and which limits go into them. They nest under the server's
// own group, because at a controller's root they might escape a limit that someone has put on us.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/pod_runtime.h"

namespace yard {

struct CgroupFolder {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> limits;  // file, text
};

// The folder of each v1 controller that is mounted here: "" where it is not.
struct CgroupRoots {
  std::string memory, cpu, pids;
};
// From the texts of /proc/self/cgroup and /proc/self/mountinfo. Pure.
CgroupRoots own_cgroups(std::string_view cgroup, std::string_view mountinfo);

// The groups of one container of a pod, below `name` (one a state folder).
std::vector<CgroupFolder> container_cgroups(const CgroupRoots& roots, std::string_view name,
                                            std::string_view pod_uid,
                                            const ContainerLaunch& launch);

}  // namespace yard
