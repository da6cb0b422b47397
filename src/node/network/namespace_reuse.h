#pragma once
// Making a pod's network namespace and taking it down costs the machine some three milliseconds, so
// one that a pod has left as it was found serves another, under a new address. Pure: who may leave
// one behind, and when nothing of the former pod is in it.

#include <string_view>

#include "node/pod_runtime.h"

namespace yard {

// Whether all of the pod's processes are gone when its shim has ended, and nobody was told to
// change its network.
bool ends_with_its_shim(const PodLaunch& launch);

// Whether the container could change nothing of its network but by sockets, which end with it.
bool leaves_network_as_found(const ContainerLaunch& launch);

// Whether a namespace whose /proc/net/sockstat this is has no socket in it, of whatever family:
// none that somebody else still holds, none that keeps its port for a while.
bool has_no_sockets(std::string_view sockstat);

}  // namespace yard
