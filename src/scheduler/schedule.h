#pragma once
// What should run where, given all that is known: snapshot → filter → score → placements. Touches
// nothing but the Cluster it is given, where it takes the room of what it places.

#include <span>
#include <string>
#include <vector>

#include "scheduler/cluster.h"

namespace yard {

struct WaitingPod {
  PlacedPod pod;
  bool may_preempt = true;
  int64_t gang_least = 0;  // of its gang, so many pods or none
  bool leads = false;      // its gang, which can do nothing without it
  std::string hold;        // why no node may have it yet, whatever room there is; "": nothing
  std::string nominated;   // where room is being made for it
};

struct Placement {
  size_t waiting = 0;  // which of the waiting pods
  std::string node;    // "": none fits, and `why` says so
  std::string why;
  // Pods that have to go so that it fits on `nominated`.
  std::string nominated;
  std::vector<std::string> victims;  // uids
};
using Placements = std::vector<Placement>;  // one for each waiting pod, in the order decided

Placements schedule(Cluster& cluster, std::span<const WaitingPod> waiting);

}  // namespace yard
