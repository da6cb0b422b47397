#pragma once
// Where a pod should run, given all that is known: filter → score → a placement. Touches nothing
// but the Cluster it is given, where it takes the room of what it places.
//
// Pods of one template come by the hundred, so what was found out for one is kept for the next:
// the order of the nodes, and why there is no room. It holds until room is freed.

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "scheduler/cluster.h"

namespace yard {

struct WaitingPod {
  PlacedPod pod;
  bool may_preempt = true;
  int64_t gang_least = 0;  // of its gang, so many pods or none
  bool leads = false;      // its gang, which can do nothing without it
  std::string hold;        // why no node may have it yet, whatever room there is; "": nothing
  std::string nominated;   // where room is being made for it
  Time created{};          // first come, first served,
  uint64_t arrival = 0;    // also within a second
  bool has_claims = false;
  uint64_t refused_at = 0;    // the cluster's count of freed room then
  bool words_follow = false;  // that it waits has been told, and newer words are on their way
  bool is_of_gang() const { return !pod.gang.empty() && gang_least > 1; }
};

struct Placement {
  std::string node;  // "": none fits, and `why` says so
  std::string why;
  // Pods that have to go so that it fits on `nominated`.
  std::string nominated;
  std::vector<std::string> victims;  // uids
};

class Placer {
 public:
  explicit Placer(Cluster& cluster) : cluster_(cluster) {}
  Placement place(const WaitingPod& pod);
  // One for each, in their order.
  std::vector<Placement> place_gang(std::span<const WaitingPod* const> members);
  // Why place() would refuse it, where that is known without a look at any node, and nobody could
  // be pushed aside for it; else null.
  const std::string* known_refusal(const WaitingPod& pod) const;

 private:
  struct Ranked {
    double points = 0;
    uint32_t node = 0, changes = 0;  // how it was when it got its points
    // The most points first, then the node that was there first.
    bool operator<(const Ranked& other) const {
      return points != other.points ? points < other.points : node > other.node;
    }
  };
  using Ranking = std::vector<Ranked>;  // a heap
  struct Refusal {
    std::string why;
    uint64_t changes = 0;            // the cluster's count for which the numbers in it hold
    std::optional<int64_t> in_vain;  // no pod of this priority or less can push others aside
  };

  void forget_if_freed();
  std::optional<size_t> best_node(const WaitingPod& pod);
  std::optional<size_t> best_beside_others(const WaitingPod& pod,
                                           const class TopologyRules& topology);
  Ranking& ranking_of(const PodShapePtr& shape);
  std::optional<Ranked> rank(size_t node, const PodShape& shape) const;
  Placement refuse(const WaitingPod& pod, Refusal& refusal);
  bool is_making_room(const WaitingPod& pod) const;
  bool asks_about_others(const PodShape& shape) const;
  bool pushes_nobody_aside(const WaitingPod& pod, const Refusal& refusal) const;
  std::string explain(const WaitingPod& pod, const class TopologyRules* topology);
  std::string why_held(const WaitingPod& pod) const;

  Cluster& cluster_;
  uint64_t freed_ = 0;  // the cluster's count for which the two hold
  std::unordered_map<PodShapePtr, Ranking> rankings_;
  std::unordered_map<PodShapePtr, Refusal> refusals_;
};

}  // namespace yard
