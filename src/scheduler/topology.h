#pragma once
// What a pod asks about the pods beside it: affinity, anti-affinity and spreading over domains (the
// nodes with one value of a label). Looked at only for pods that ask, or that others keep away.

#include <map>
#include <string>
#include <vector>

#include "scheduler/cluster.h"

namespace yard {

class TopologyRules {
 public:
  // Counts once what is where; then every node can be asked.
  TopologyRules(const Cluster& cluster, const PlacedPod& pod);
  // "": nothing against it; else the reason in kube-scheduler's words.
  std::string why_not(const Cluster::Node& node) const;

 private:
  struct Counted {
    std::string key;                                       // topologyKey
    std::map<std::string, int64_t, std::less<>> matching;  // by value of the label
    int64_t total = 0;
  };
  struct Affinity : Counted {
    bool matches_itself = false;
  };
  struct Spread : Counted {
    int64_t most_skew = 1, least = 0;
    bool matches_itself = false;
  };
  std::vector<Affinity> together_;
  std::vector<Counted> apart_;
  std::vector<Spread> spread_;
};

}  // namespace yard
