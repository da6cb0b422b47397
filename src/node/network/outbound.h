#pragma once
// The island's way out, without any change to the host's network: slirp4netns, where it is
// installed, carries what pods send to the world over sockets of an ordinary process.

#include <string>

#include "node/network/host_thread.h"

namespace yard {

// Starts it beside the keeper; it ends with the keeper. Answers why there is no way out, or "".
std::string start_outbound(HostThread& host);

}  // namespace yard
