#include "scheduler/preempt.h"

#include <algorithm>
#include <limits>

#include "scheduler/room.h"
#include "scheduler/topology.h"

namespace yard {
namespace {

struct Candidate {
  Preemption preemption;
  int64_t highest = std::numeric_limits<int64_t>::min();
};

bool fits_now(const Cluster& cluster, size_t node, const PlacedPod& pod) {
  if (!has_room(cluster, node, *pod.shape)) return false;
  return TopologyRules(cluster, pod).why_not(cluster.nodes()[node]).empty();
}

// Takes all lesser pods away, then gives back, the most important first, whatever still fits beside
// the newcomer.
std::optional<Candidate> victims_on(Cluster& cluster, size_t node, const PlacedPod& pod) {
  const std::string name = cluster.nodes()[node].name;
  std::vector<PlacedPod> lesser;
  for (const std::string& uid : cluster.nodes()[node].pods) {
    const PlacedPod* there = cluster.find_pod(uid);
    if (there->priority < pod.priority && !there->is_ending) lesser.push_back(*there);
  }
  if (lesser.empty()) return std::nullopt;
  std::ranges::sort(lesser, [](const PlacedPod& left, const PlacedPod& right) {
    return left.priority != right.priority ? left.priority > right.priority : left.uid < right.uid;
  });
  for (const PlacedPod& each : lesser)
    cluster.remove_pod(each.uid);
  std::optional<Candidate> out;
  if (fits_now(cluster, node, pod)) {
    out.emplace();
    out->preemption.node = name;
    for (const PlacedPod& each : lesser) {
      cluster.place(each, name);
      if (fits_now(cluster, node, pod)) continue;
      cluster.remove_pod(each.uid);
      out->preemption.victims.insert(out->preemption.victims.begin(), each.uid);
      out->highest = std::max(out->highest, each.priority);
    }
  }
  for (const PlacedPod& each : lesser)
    cluster.place(each, name);
  return out;
}

}  // namespace

std::optional<Preemption> plan_preemption(Cluster& cluster, const PlacedPod& pod) {
  std::optional<Candidate> best;
  const std::vector<NodeFit> fits = cluster.fits(pod.shape);
  for (size_t node = 0; node < fits.size(); ++node) {
    if (cluster.nodes()[node].name.empty() || fits[node] != NodeFit::Fits) continue;
    auto found = victims_on(cluster, node, pod);
    if (!found || found->preemption.victims.empty()) continue;
    const auto cost = [](const Candidate& each) {
      return std::pair(each.highest, each.preemption.victims.size());
    };
    if (!best || cost(*found) < cost(*best)) best = std::move(found);
  }
  if (!best) return std::nullopt;
  return std::move(best->preemption);
}

}  // namespace yard
