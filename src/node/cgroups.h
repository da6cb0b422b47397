#pragma once
// Where the control groups of pods lie and which limits go into them, for both versions of the
// kernel's interface. They nest under the server's own group, because at a controller's root they
// might escape a limit that someone has put on us. Pure; what touches the disk is in
// cgroup_folders.h.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/pod_runtime.h"

namespace yard {

struct CgroupFolder {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> limits;  // file, text; in this order
  bool unified = false;  // version 2: a process is born into it, and it is killed whole
};

// Version 1 has a tree a controller, version 2 one for all; "" where there is none. A machine that
// has both (v2 beside v1 for systemd's sake) keeps its controllers in v1.
struct CgroupRoots {
  std::string memory, cpu, pids;
  std::string unified;                   // the group below which ours go
  std::string unified_mount;             // where the v2 tree begins
  std::vector<std::string> controllers;  // of v2: those that children of `unified` can have
};
// From the texts of /proc/self/cgroup and /proc/self/mountinfo; `controllers` stays empty.
CgroupRoots own_cgroups(std::string_view cgroup, std::string_view mountinfo);

// Groups that might take ours, nearest first: a v2 group that holds processes cannot hand its
// controllers down, so its parent is asked next.
std::vector<std::string> unified_candidates(const CgroupRoots& roots);

// Of the text of cgroup.controllers, those that limits of pods need.
std::vector<std::string> wanted_controllers(std::string_view available);
// As cgroup.subtree_control takes them: "+cpu +memory +pids".
std::string enabling_text(const std::vector<std::string>& controllers);

// The folders that hold all groups of one state folder, by its name.
std::vector<std::string> cgroup_bases(const CgroupRoots& roots, std::string_view name);

// The groups of one container of a pod, below `name` (one a state folder).
std::vector<CgroupFolder> container_cgroups(const CgroupRoots& roots, std::string_view name,
                                            std::string_view pod_uid,
                                            const ContainerLaunch& launch);

}  // namespace yard
