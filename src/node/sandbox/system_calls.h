#pragma once
// The filter of system calls that the server compiled (node/seccomp.h).

#include <string>

namespace shim {

// Sixteen hexadecimal digits an instruction; from here on it holds for the caller and all it
// starts. An empty text is success.
std::string filter_system_calls(const std::string& text);

}  // namespace shim
