#pragma once
// A pod's /dev/shm that is mounted nowhere: the shim holds it by a descriptor, and each container
// gets a copy of the mount. A shim without mounts needs no mount namespace, which is a copy of all
// of the machine's mounts, made for each pod and taken down with it.

#include "node/shim/launch.h"

namespace shim {

// Whether /dev/shm is all that this pod wants mounted, and the kernel can copy such a mount (6.15).
bool can_be_without_mounts(const Pod& pod);

// Asked of the kernel once, in a template before its shims.
bool copies_detached_mounts();

// Makes it; false, and why in errno, where that is refused.
bool make_pod_memory(const Memory& memory);
int pod_memory();  // -1: it is not held so

// A mount like this one, to be attached; -1: refused.
int copy_of_mount(int mount);

}  // namespace shim
