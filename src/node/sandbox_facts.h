#pragma once
// What this machine refuses of the sandbox that pods should have. Found once at the server's start;
// shown by `trainyard info` and in the Node's condition SandboxDegraded.

#include <string>
#include <string_view>
#include <vector>

namespace yard {

struct SandboxFacts {
  bool is_root = true;
  std::string probe;                         // the text that `trainyard-shim --probe` printed
  std::vector<std::string> cgroup_refusals;  // CgroupPlace::refusals
};

// A sentence each: what is missing, what follows for pods, and what mends it. Pure.
std::vector<std::string> sandbox_degradations(const SandboxFacts& facts);

// Runs the shim's probe; blocking, some milliseconds. "": it could not be run.
std::string probe_sandbox(const std::string& shim, const std::string& state_folder);

}  // namespace yard
