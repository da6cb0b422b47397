#pragma once
// What should run where, given all that is known. Touches nothing.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/core/resources.h"
#include "json/json.h"

namespace yard {

struct NodeSnapshot {
  std::string name;
  Json node;  // labels, taints, spec.unschedulable
  Amounts allocatable;
  Amounts used;
  int64_t pods = 0;
};

struct ClusterSnapshot {
  std::vector<NodeSnapshot> nodes;
};

struct WaitingPod {
  std::string ns, name, uid;
  Json pod;
  Amounts requests;
  int64_t priority = 0;
};

struct Placement {
  size_t waiting = 0;  // which of the waiting pods
  std::string node;    // "": none fits, and `why` says so
  std::string why;
};
using Placements = std::vector<Placement>;  // one for each waiting pod, in the order decided

Placements schedule(const ClusterSnapshot& cluster, std::span<const WaitingPod> waiting);

// Parts of it that others ask too.
bool tolerates(const Json& pod, const Json& taint);
bool matches_node(const Json& pod, const Json& node);  // nodeSelector and required node affinity

}  // namespace yard
