#pragma once
// Who the container's processes are and what they may do.

#include <string>

#include "node/shim/launch.h"

namespace shim {

// The last step before exec; an empty text is success.
// `gate` is a socket to the shim for a container that waits for a port (connect_gate.h); -1: none.
std::string drop_privileges(const Container& container, int gate = -1);

}  // namespace shim
