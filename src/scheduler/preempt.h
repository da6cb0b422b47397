#pragma once
// Which pods of lower priority have to go so that one fits.

#include <optional>
#include <string>
#include <vector>

#include "scheduler/cluster.h"

namespace yard {

struct Preemption {
  std::string node;
  std::vector<std::string> victims;  // uids, the least important first
};

// The node where the least is lost: the lowest of the highest priorities, then the fewest pods.
// nullopt: nowhere would it help. Leaves the cluster as it was.
std::optional<Preemption> plan_preemption(Cluster& cluster, const PlacedPod& pod);

}  // namespace yard
