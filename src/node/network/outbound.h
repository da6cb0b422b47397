#pragma once
// The island's way out, without any change to the host's network: slirp4netns, where it is
// installed, carries what pods send to the world over sockets of an ordinary process.

#include <string>

#include "node/network/host_thread.h"

namespace yard {

struct Outbound {
  std::string problem{};  // why there is no way out; "": there is one
  int pid = 0;            // of slirp4netns
  int alive = -1;         // it ends when the last copy of this descriptor is closed, so with us
};
// In a thread of the island; blocks until it carries.
Outbound start_outbound(HostThread& host);
void end_outbound(const Outbound& outbound);

}  // namespace yard
