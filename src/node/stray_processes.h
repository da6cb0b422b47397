#pragma once
#include <string>

namespace yard {

// Kills whatever still sees a mount of something in `folder`, as all processes of a pod do: for
// pods without a pid namespace (hostPID) on a machine without control groups, whose shim was
// killed. Reads all of /proc; blocking.
void kill_processes_mounting(const std::string& folder);

}  // namespace yard
