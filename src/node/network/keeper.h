#pragma once
// The keeper of the island: a process of its own, one a state folder, that holds what pods need of
// the network while no server runs: the namespace with the bridge, DNS, ClusterIPs, the way out. It
// is told by the server what names lead where (keeper_channel.h). It ends when it is told to, or
// when no server is connected and no pod is left on the bridge.

#include <string>

namespace yard {

struct KeeperOptions {
  std::string folder;   // <state>/keeper: its lock and socket
  int connection = -1;  // the first server's end of a channel
  // The namespaces of a keeper that died and whose pods live; below 0: make them.
  int island = -1, user = -1;
};

int run_keeper(const KeeperOptions& options);

}  // namespace yard
