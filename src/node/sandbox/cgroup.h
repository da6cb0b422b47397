#pragma once
// Limits of cpu, memory and processes: one v1 group a controller, or one v2 group, made for one run
// of a container and removed with it.

#include <string>
#include <vector>

#include "node/shim/launch.h"

namespace shim {

// Makes the groups and writes their limits. What the kernel refuses is told, one text each; those
// groups are left out.
// `slot` as in node/sandbox/spare_group.h.
std::vector<std::string> make_cgroups(std::vector<Cgroup>& cgroups, int slot);
// The ways into the v1 groups, opened while their files can be named.
std::string open_cgroups(const std::vector<Cgroup>& cgroups, std::vector<int>& ways);
// The calling process joins them, and the ways are closed. Writing 0 to `tasks` is quick where
// writing a pid to cgroup.procs takes 10 ms and more.
std::string enter_cgroups(const std::vector<int>& ways);
bool has_unified(const std::vector<Cgroup>& cgroups);
// And the v2 group, for a process that was not born into it.
std::string join_unified_cgroup(const std::vector<Cgroup>& cgroups);
// The v2 group for clone3 to put the child into, opened; -1: there is none.
int open_unified_cgroup(const std::vector<Cgroup>& cgroups);
// How often the kernel has killed in these groups for want of memory.
long oom_kills(const std::vector<Cgroup>& cgroups);
// To all that is in a group.
void signal_cgroup(const std::string& folder, int signal);
// Kills until the group is empty, within a bound, and removes it.
void end_cgroup(const std::string& folder);
// Ends what is left in them and removes them, but for what the slot keeps.
void remove_cgroups(const std::vector<Cgroup>& cgroups, int slot);

}  // namespace shim
