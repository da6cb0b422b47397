#pragma once
// Whether a node has room for a pod, and the words for it when not.

#include <string>
#include <vector>

#include "scheduler/cluster.h"

namespace yard {

bool has_room(const Cluster& cluster, size_t node, const PodShape& shape);

// Why the pod cannot be there, in kube-scheduler's words, and what would mend it in ours.
struct Obstacle {
  std::string reason, detail;
};
std::vector<Obstacle> obstacles(const Cluster& cluster, size_t node, const PodShape& shape,
                                NodeFit fit);

}  // namespace yard
