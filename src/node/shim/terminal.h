#pragma once
// Terminals of a container.

#include <string>

#include "node/shim/launch.h"

namespace shim {

// In a process that has entered the container's files and begun a session: it gets a terminal of
// the container's own /dev/pts, whose name means something inside and nothing outside. `socket`
// hears "terminal" with the other end. An empty text is success.
std::string open_terminal(const Container& container, int socket);

}  // namespace shim
