#pragma once
// Who the container's processes are and what they may do.

#include <string>

#include "node/shim/launch.h"

namespace shim {

// The last step before exec; an empty text is success.
std::string drop_privileges(const Container& container);

}  // namespace shim
