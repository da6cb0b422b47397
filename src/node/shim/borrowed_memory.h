#pragma once
// A child that lives in our memory, on a stack of its own, while we wait: a copy of our address
// space for a millisecond, which both then write to page by page, is a tenth of a container's
// start.

#include <functional>
#include <string>
#include <sys/types.h>

namespace shim {

// Clones with these namespaces. `body` executes a command, or answers why not; whatever it has
// allocated then stays with us. Returns when it has done either; `problem` is empty when it has
// executed. Nobody may look into the child before that, for it is us that he would see.
pid_t clone_in_our_memory(int namespaces, const std::function<std::string()>& body,
                          std::string& problem);

}  // namespace shim
