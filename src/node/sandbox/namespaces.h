#pragma once
// What all containers of a pod share: host name, ipc, a view of the mounts, memory-backed folders.

#include <string>
#include <vector>

#include "node/sandbox/job_memory.h"
#include "node/shim/launch.h"

namespace shim {

// What does not depend on the pod, of a shim that has none yet.
void enter_namespaces_ahead();

// Called once by the shim. The refusals, one text each; the pod goes on without what was refused.
// `shared` is what another pod of its job has, if it found one.
std::vector<std::string> enter_pod_namespaces(const Pod& pod, const JobMemory& shared);

// Mounts made here are not seen outside; those made outside later are seen here.
std::string part_mounts();

}  // namespace shim
