#pragma once
// What this machine lets a pod's sandbox have, found by trying it.

#include <string>

namespace shim {

// Tries each thing once in a process of its own below `folder` and prints a line for each:
// `<name> ok` or `<name> <why not>`. The server reads it (node/sandbox_facts.h). 0 is success.
int probe(const std::string& folder);

}  // namespace shim
