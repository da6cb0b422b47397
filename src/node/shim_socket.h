#pragma once
#include <string>

namespace yard {

// A connection to the shim of that run folder; -1 when none holds the folder's lock.
int connect_to_shim(const std::string& run_folder, bool blocking);

}  // namespace yard
