#pragma once
// The pod's network namespace: made by the island's keeper, entered by the shim and so by all it
// starts.

#include <string>

#include "node/shim/launch.h"

namespace shim {

// Descriptors the server has given; below 0: none.
struct NetworkDescriptors {
  int net = -1;     // the pod's own namespace
  int island = -1;  // where its bridge is: held open, so that it outlives the keeper
  int user = -1;    // the user namespace that owns both; entered instead of one of our own
};

// An empty text is success. A pod that cannot have its own network must not run in the host's.
std::string join_network(const NetworkDescriptors& descriptors);

bool is_network_own();  // not the machine's

// Low ports and ping, as every container may use them; nothing where its capabilities allow that
// already, the pod has said how it wants them, or the network is the host's.
void open_low_ports(const Pod& pod, const Container& container);

}  // namespace shim
