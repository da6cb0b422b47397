#pragma once
// What of /proc and /sys would let a pod that runs as root look into or change the machine.

#include <string>

namespace shim {

// Covers or write-protects it below `root`, as container runtimes do (procMount: Default).
// `empty` is an empty folder, shown in place of folders.
std::string mask_machine(const std::string& root, const std::string& empty);

}  // namespace shim
