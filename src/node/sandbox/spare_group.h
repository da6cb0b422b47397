#pragma once
// Version 1's control groups of cpu and of processes go from run to run: each is made and removed
// under a lock of all groups, and taken down by the kernel's own threads. One that is empty waits
// as <groups of the state folder>/spare-<slot>, and becomes another run's by its name; whatever is
// written into it is written again. A group of memory never does: what it was charged with stays.

#include <string>
#include <vector>

#include "node/shim/launch.h"

namespace shim {

// Which of the spares is this shim's, by how many its template has borne before; -1: none.
int spare_slot(int born_before);

// Whether the group is one of those; `all` are the run's.
bool can_be_spare(const Cgroup& cgroup, const std::vector<Cgroup>& all);

// The spare of this slot has this group's name now. False: there is none.
bool take_spare(const Cgroup& cgroup, int slot);
// False: it is not empty, or that slot is taken.
bool keep_spare(const Cgroup& cgroup, int slot);

}  // namespace shim
