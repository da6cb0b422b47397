#pragma once
// Ends all pods of a state folder that has no server: `trainyard down`. Blocking.

#include <chrono>
#include <string>

namespace yard {

// How many pods have a shim that answers.
int count_pods(const std::string& state_folder);

// SIGTERM to all, SIGKILL to what is left after `grace`. Answers how many pods were ended. Their
// journals stay: the next server reads there how each container ended.
int end_pods(const std::string& state_folder, std::chrono::milliseconds grace);

}  // namespace yard
