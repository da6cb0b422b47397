#pragma once
// The kernel's settings that a pod asked for, of its own namespaces alone.

#include <string>
#include <vector>

#include "node/shim/launch.h"

namespace shim {

// Called in the pod's namespaces. What was refused, a text each. `own_ipc`: the ipc namespace is
// not the machine's.
std::vector<std::string> set_sysctls(const Pod& pod, bool own_ipc);

}  // namespace shim
