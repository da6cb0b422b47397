#pragma once
// What of /proc and /sys would let a pod that runs as root look into or change the machine.

#include <string>

namespace shim {

// Covers or write-protects it below `root`, as container runtimes do (procMount: Default).
std::string mask_machine(const std::string& root);

}  // namespace shim
