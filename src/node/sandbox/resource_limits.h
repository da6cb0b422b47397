#pragma once
// Limits of one process and what it starts, beside those of control groups.

#include "node/shim/launch.h"

namespace shim {

// As many open files as the machine allows; in a user namespace, which counts its own processes,
// the number of processes where no control group holds it.
void set_resource_limits(const Container& container);

}  // namespace shim
