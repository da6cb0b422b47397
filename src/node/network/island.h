#pragma once
// The island itself: a network namespace with a bridge that no interface of the host is part of.

#include "base/result.h"
#include "node/network/netlink.h"

namespace yard {

struct Island {
  int net = -1;    // its namespace
  int user = -1;   // the user namespace that owns it; below 0: the host's
  int bridge = 0;  // the index of its bridge
};

// An ordinary user may make network namespaces as root of a user namespace. Before any thread.
Result<void> enter_own_user_namespace();
// The calling thread is in the island afterwards. `known` is one that is there already; below 0:
// make one.
Result<Island> enter_island(int known);

}  // namespace yard
