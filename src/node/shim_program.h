#pragma once
// The shim travels inside our binary and is written to the state folder when the server starts.

#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

std::string_view shim_program();  // its bytes
// Answers the path of the executable, written anew where its content differs. Shims that run keep
// the old file.
Result<std::string> install_shim(const std::string& state_folder);

}  // namespace yard
