#include "scheduler/schedule.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "scheduler/preempt.h"
#include "scheduler/room.h"
#include "scheduler/topology.h"

namespace yard {
namespace {

constexpr size_t kMostDetails = 3;
// A rank beside its mates talks to them through memory; worth more than an emptier node.
constexpr double kBesideMates = 200;

// How full the fuller of its resources would be: the emptiest node takes the pod.
double emptiness(const Cluster& cluster, size_t node, const PodShape& shape) {
  double most = 0;
  for (const Demand& demand : shape.demands) {
    const auto all = static_cast<double>(cluster.allocatable(node, demand.resource));
    const auto used = static_cast<double>(cluster.used(node, demand.resource) + demand.amount);
    if (all > 0) most = std::max(most, used / all);
  }
  return 100 * (1 - most) - 1e-4 * static_cast<double>(cluster.nodes()[node].pod_count());
}

double preferences(const Json& spec, const Json& node) {
  double out = 0;
  for (const Json& each : list_at(
           spec, {"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"})) {
    const Json* term = find(each, "preference");
    if (term != nullptr && matches_node_term(*term, node))
      out += static_cast<double>(int_at(each, {"weight"}));
  }
  for (const Json& taint : list_at(node, {"spec", "taints"})) {
    if (text_at(taint, {"effect"}) == "PreferNoSchedule" && !tolerates(spec, taint)) out -= 100;
  }
  return out;
}

class Cycle {
 public:
  Cycle(Cluster& cluster, std::span<const WaitingPod> waiting)
      : cluster_(cluster), waiting_(waiting) {}

  Placements run() {
    std::vector<size_t> order(waiting_.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](size_t i) { return waiting_[i].pod.priority; });
    for (const size_t i : order) {
      if (!waiting_[i].pod.gang.empty() && waiting_[i].gang_least > 1)
        gangs_[waiting_[i].pod.ns + "/" + waiting_[i].pod.gang].push_back(i);
    }
    for (const size_t i : order) {
      const WaitingPod& pod = waiting_[i];
      if (pod.pod.gang.empty() || pod.gang_least <= 1) {
        out_.push_back(place(i));
      } else if (const auto gang = gangs_.find(pod.pod.ns + "/" + pod.pod.gang);
                 gang != gangs_.end()) {
        // Where not all have room, those without the leader would only wait for it.
        std::ranges::stable_sort(gang->second, std::greater<>(), [&](size_t member) {
          return std::pair(waiting_[member].pod.priority, waiting_[member].leads);
        });
        place_gang(gang->second);
        gangs_.erase(gang);
      }
    }
    return std::move(out_);
  }

 private:
  Placement place(size_t index);
  void place_gang(const std::vector<size_t>& members);
  bool is_making_room(const WaitingPod& pod) const;
  double score(size_t node, const WaitingPod& pod, const std::map<std::string, int>& mates) const;
  const std::map<std::string, int>& mates_of(const WaitingPod& pod) const {
    return cluster_.gang_nodes(pod.pod.ns, pod.pod.gang);
  }
  std::string explain(const WaitingPod& pod, const std::vector<NodeFit>& fits,
                      const TopologyRules* topology) const;

  Cluster& cluster_;
  std::span<const WaitingPod> waiting_;
  std::map<std::string, std::vector<size_t>> gangs_;  // by namespace and name, not yet decided
  Placements out_;
};

double Cycle::score(size_t node, const WaitingPod& pod,
                    const std::map<std::string, int>& mates) const {
  const Json& object = cluster_.nodes()[node].node;
  return emptiness(cluster_, node, *pod.pod.shape) + preferences(pod.pod.shape->spec, object) +
         (mates.contains(cluster_.nodes()[node].name) ? kBesideMates : 0);
}

// Those that have to go for it are still on their way: no more has to.
bool Cycle::is_making_room(const WaitingPod& pod) const {
  const auto node = cluster_.find_node(pod.nominated);
  if (!node) return false;
  return std::ranges::any_of(cluster_.nodes()[*node].pods, [&](const std::string& uid) {
    const PlacedPod* there = cluster_.find_pod(uid);
    return there->is_ending && there->priority < pod.pod.priority;
  });
}

Placement Cycle::place(size_t index) {
  const WaitingPod& pod = waiting_[index];
  Placement out;
  out.waiting = index;
  if (!pod.hold.empty()) {
    out.why = fmt::format(
        "0/{} nodes are available: {}. preemption: 0/{} nodes are available: {} "
        "Preemption is not helpful for scheduling.",
        cluster_.node_count(), pod.hold, cluster_.node_count(), cluster_.node_count());
    return out;
  }
  const std::vector<NodeFit>& fits = cluster_.fits(pod.pod.shape);
  const PodShape& shape = *pod.pod.shape;
  std::optional<TopologyRules> topology;
  if (shape.has_pod_affinity || shape.has_pod_anti_affinity || shape.has_spread ||
      cluster_.pods_with_anti_affinity() > 0)
    topology.emplace(cluster_, pod.pod);
  const std::map<std::string, int>& mates = mates_of(pod);
  std::optional<size_t> best;
  double most = 0;
  for (size_t node = 0; node < fits.size(); ++node) {
    if (cluster_.nodes()[node].name.empty() || fits[node] != NodeFit::Fits) continue;
    if (!has_room(cluster_, node, shape)) continue;
    if (topology && !topology->why_not(cluster_.nodes()[node]).empty()) continue;
    const double points = score(node, pod, mates);
    if (best && points <= most) continue;
    best = node;
    most = points;
  }
  if (best) {
    out.node = cluster_.nodes()[*best].name;
    cluster_.place(pod.pod, out.node);
    return out;
  }
  out.why = explain(pod, fits, topology ? &*topology : nullptr);
  if (!pod.may_preempt || is_making_room(pod)) return out;
  if (auto plan = plan_preemption(cluster_, pod.pod)) {
    out.nominated = std::move(plan->node);
    out.victims = std::move(plan->victims);
  }
  return out;
}

void Cycle::place_gang(const std::vector<size_t>& members) {
  const WaitingPod& first = waiting_[members.front()];
  int64_t there = 0;
  for (const auto& [node, count] : mates_of(first))
    there += count;
  const int64_t known = there + static_cast<int64_t>(members.size());
  Placements placed;
  int64_t fit = there;
  std::string why;
  if (known >= first.gang_least) {
    for (const size_t index : members) {
      placed.push_back(place(index));
      if (!placed.back().node.empty()) {
        ++fit;
      } else if (why.empty()) {
        why = placed.back().why;
      }
    }
    if (fit >= first.gang_least) {
      out_.insert(out_.end(), placed.begin(), placed.end());
      return;
    }
    why = fmt::format("{} of the {} pods that {} needs at once fit: {}", fit, first.gang_least,
                      first.pod.gang, why);
  } else {
    why = fmt::format("{} of the {} pods that {} needs at once exist", known, first.gang_least,
                      first.pod.gang);
  }
  for (const Placement& each : placed) {
    if (!each.node.empty()) cluster_.remove_pod(waiting_[each.waiting].pod.uid);
  }
  for (const size_t index : members) {
    Placement out;
    out.waiting = index;
    out.why = why;
    out_.push_back(std::move(out));
  }
}

std::string Cycle::explain(const WaitingPod& pod, const std::vector<NodeFit>& fits,
                           const TopologyRules* topology) const {
  std::map<std::string, int> reasons;
  std::set<std::string> details;
  int helpless = 0, victimless = 0;
  for (size_t node = 0; node < fits.size(); ++node) {
    if (cluster_.nodes()[node].name.empty()) continue;
    std::vector<Obstacle> found = obstacles(cluster_, node, *pod.pod.shape, fits[node]);
    if (found.empty() && topology != nullptr)
      found.push_back({topology->why_not(cluster_.nodes()[node]), ""});
    (fits[node] == NodeFit::Fits ? victimless : helpless)++;
    for (const Obstacle& obstacle : found) {
      ++reasons[obstacle.reason];
      if (!obstacle.detail.empty() && details.size() < kMostDetails)
        details.insert(obstacle.detail);
    }
  }
  std::vector<std::string> words;
  for (const auto& [reason, count] : reasons)
    words.push_back(fmt::format("{} {}", count, reason));
  std::ranges::sort(words);
  const size_t nodes = cluster_.node_count();
  std::string out = fmt::format("0/{} nodes are available", nodes);
  if (!words.empty()) out += ": " + join(words, ", ");
  std::vector<std::string> preemption;
  if (victimless > 0)
    preemption.push_back(
        fmt::format("{} No preemption victims found for incoming pod", victimless));
  if (helpless > 0)
    preemption.push_back(fmt::format("{} Preemption is not helpful for scheduling", helpless));
  out += fmt::format(". preemption: 0/{} nodes are available", nodes);
  if (!preemption.empty()) out += ": " + join(preemption, ", ");
  out += ".";
  if (!details.empty())
    out += " (" + join(std::vector<std::string>(details.begin(), details.end()), "; ") + ")";
  return out;
}

}  // namespace

Placements schedule(Cluster& cluster, std::span<const WaitingPod> waiting) {
  return Cycle(cluster, waiting).run();
}

}  // namespace yard
