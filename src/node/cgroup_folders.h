#pragma once
// Control groups on the disk: found and tried once at the server's start, and swept where whoever
// made them died. Blocking.

#include <string>
#include <vector>

#include "node/cgroups.h"

namespace yard {

struct CgroupPlace {
  CgroupRoots roots;                  // only what can be written here
  std::string name;                   // of this state folder's groups, below each root
  std::vector<std::string> refusals;  // what the kernel refused, a sentence each
};

// Tries each root by making our group in it, and notes the places in <state>/cgroups: a later
// server may itself be in another group and must still find them.
CgroupPlace prepare_cgroups(const std::string& state_folder);

// The places noted, of this server and of earlier ones.
std::vector<std::string> noted_cgroups(const std::string& state_folder);

// Kills what is left in the groups of a pod and removes them.
void sweep_pod_cgroups(const std::vector<std::string>& bases, const std::string& uid);
// Those of pods that have no folder in <state>/run any more.
void sweep_lost_cgroups(const std::string& state_folder);
// Those that wait for another pod (node/sandbox/spare_group.h), and with the last of all groups
// their own.
void remove_spare_cgroups(const std::string& base);
// All of them: nothing of the state folder runs any more.
void sweep_all_cgroups(const std::string& state_folder);

}  // namespace yard
