#pragma once
// Which network the pods have, and the names in it: an island where the kernel allows one, else the
// host's own.

#include <memory>
#include <string>

#include "base/loop.h"
#include "client/client.h"
#include "node/network/hosts_names.h"
#include "node/network/island_network.h"
#include "node/network/name_feed.h"

namespace yard {

struct PodNetworkWiring {
  std::unique_ptr<IslandNetwork> island;  // one of the two
  std::unique_ptr<SharedNetwork> shared;
  std::unique_ptr<HostsNames> hosts;  // of the shared one
  std::unique_ptr<NameFeed> names;

  PodNetwork& network() { return island ? static_cast<PodNetwork&>(*island) : *shared; }
  // What pods miss, in a sentence; "": nothing.
  std::string problem() const;
};

PodNetworkWiring open_pod_network(Loop& loop, const std::string& state_folder, bool shared);
// Names are followed from here on; the first objects are there.
void start_names(PodNetworkWiring& wiring, Client& client, Loop& loop,
                 std::function<void(std::string problem)> on_problem);

}  // namespace yard
