#include "scheduler/placer.h"

#include <algorithm>
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
// Bounds on what is kept. A ranking has 16 bytes a node.
constexpr size_t kMostRankings = 16, kMostRefusals = 1024;
// On so many nodes a reason's numbers are always those of now. On more they are those of when the
// first such pod was refused.
constexpr size_t kFewNodes = 16;
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

double points_of(const Cluster& cluster, size_t node, const PodShape& shape) {
  double out = emptiness(cluster, node, shape);
  const Cluster::Node& there = cluster.nodes()[node];
  if (shape.has_preferences || there.has_soft_taints) out += preferences(shape.spec, there.node);
  return out;
}

}  // namespace

void Placer::forget_if_freed() {
  if (freed_ == cluster_.freed()) return;
  freed_ = cluster_.freed();
  rankings_.clear();
  refusals_.clear();
}

std::optional<Placer::Ranked> Placer::rank(size_t node, const PodShape& shape) const {
  if (!has_room(cluster_, node, shape)) return std::nullopt;
  return Ranked{points_of(cluster_, node, shape), static_cast<uint32_t>(node),
                cluster_.nodes()[node].changes};
}

Placer::Ranking& Placer::ranking_of(const PodShapePtr& shape) {
  if (const auto found = rankings_.find(shape); found != rankings_.end()) return found->second;
  if (rankings_.size() >= kMostRankings) rankings_.clear();
  Ranking& out = rankings_[shape];
  const std::vector<NodeFit>& fits = cluster_.fits(shape);
  for (size_t node = 0; node < fits.size(); ++node) {
    if (cluster_.nodes()[node].name.empty() || fits[node] != NodeFit::Fits) continue;
    if (const auto ranked = rank(node, *shape)) out.push_back(*ranked);
  }
  std::make_heap(out.begin(), out.end());
  return out;
}

// Room is only taken as long as a ranking holds: a node that has changed since has fewer points
// than it had, and is put where it belongs when it comes to the top.
std::optional<size_t> Placer::best_node(const WaitingPod& pod) {
  const PodShapePtr& shape = pod.pod.shape;
  Ranking& ranking = ranking_of(shape);
  while (!ranking.empty()) {
    const Ranked top = ranking.front();
    if (top.changes == cluster_.nodes()[top.node].changes) break;
    std::pop_heap(ranking.begin(), ranking.end());
    ranking.pop_back();
    if (const auto again = rank(top.node, *shape)) {
      ranking.push_back(*again);
      std::push_heap(ranking.begin(), ranking.end());
    }
  }
  if (ranking.empty()) return std::nullopt;
  Ranked best = ranking.front();
  const std::map<std::string, int>& mates = cluster_.gang_nodes(pod.pod.ns, pod.pod.gang);
  if (mates.empty()) return best.node;
  const std::vector<NodeFit>& fits = cluster_.fits(shape);
  for (const auto& [name, count] : mates) {
    const auto node = cluster_.find_node(name);
    if (!node || fits[*node] != NodeFit::Fits) continue;
    auto beside = rank(*node, *shape);
    if (!beside) continue;
    beside->points += kBesideMates;
    if (best < *beside) best = *beside;
  }
  return best.node;
}

// Every placement may change what is asked here: nothing is kept.
std::optional<size_t> Placer::best_beside_others(const WaitingPod& pod,
                                                 const TopologyRules& topology) {
  const std::vector<NodeFit>& fits = cluster_.fits(pod.pod.shape);
  const std::map<std::string, int>& mates = cluster_.gang_nodes(pod.pod.ns, pod.pod.gang);
  std::optional<Ranked> best;
  for (size_t node = 0; node < fits.size(); ++node) {
    const Cluster::Node& there = cluster_.nodes()[node];
    if (there.name.empty() || fits[node] != NodeFit::Fits) continue;
    auto ranked = rank(node, *pod.pod.shape);
    if (!ranked || !topology.why_not(there).empty()) continue;
    if (mates.contains(there.name)) ranked->points += kBesideMates;
    if (!best || *best < *ranked) best = ranked;
  }
  return best ? std::optional<size_t>(best->node) : std::nullopt;
}

// Those that have to go for it are still on their way: no more has to.
bool Placer::is_making_room(const WaitingPod& pod) const {
  const auto node = cluster_.find_node(pod.nominated);
  if (!node) return false;
  return std::ranges::any_of(cluster_.nodes()[*node].pods, [&](const std::string& uid) {
    const PlacedPod* there = cluster_.find_pod(uid);
    return there->is_ending && there->priority < pod.pod.priority;
  });
}

std::string Placer::why_held(const WaitingPod& pod) const {
  return fmt::format(
      "0/{0} nodes are available: {1}. preemption: 0/{0} nodes are available: {0} Preemption is "
      "not helpful for scheduling.",
      cluster_.node_count(), pod.hold);
}

Placement Placer::place(const WaitingPod& pod) {
  Placement out;
  if (!pod.hold.empty()) {
    out.why = why_held(pod);
    return out;
  }
  forget_if_freed();
  const PodShapePtr& shape = pod.pod.shape;
  std::optional<TopologyRules> topology;
  if (asks_about_others(*shape)) topology.emplace(cluster_, pod.pod);
  if (const auto known = refusals_.find(shape); !topology && known != refusals_.end()) {
    Refusal& refusal = known->second;
    if (refusal.changes != cluster_.changes() && cluster_.node_count() <= kFewNodes)
      refusal = {explain(pod, nullptr), cluster_.changes(), refusal.in_vain};
    return refuse(pod, refusal);
  }
  if (const auto best = topology ? best_beside_others(pod, *topology) : best_node(pod)) {
    out.node = cluster_.nodes()[*best].name;
    cluster_.place(pod.pod, out.node);
    return out;
  }
  Refusal refusal{explain(pod, topology ? &*topology : nullptr), cluster_.changes(), std::nullopt};
  if (topology) return refuse(pod, refusal);
  if (refusals_.size() >= kMostRefusals) refusals_.clear();
  return refuse(pod, refusals_.emplace(shape, std::move(refusal)).first->second);
}

bool Placer::asks_about_others(const PodShape& shape) const {
  return shape.wants_company() || shape.has_pod_anti_affinity ||
         cluster_.pods_with_anti_affinity() > 0;
}

bool Placer::pushes_nobody_aside(const WaitingPod& pod, const Refusal& refusal) const {
  const int64_t priority = pod.pod.priority;
  return !pod.may_preempt || !cluster_.has_lesser_than(priority) ||
         (refusal.in_vain && priority <= *refusal.in_vain);
}

const std::string* Placer::known_refusal(const WaitingPod& pod) const {
  const bool is_like_its_template = pod.hold.empty() && !pod.has_claims && !pod.is_of_gang() &&
                                    !asks_about_others(*pod.pod.shape);
  if (!is_like_its_template || freed_ != cluster_.freed()) return nullptr;
  const auto known = refusals_.find(pod.pod.shape);
  if (known == refusals_.end() || !pushes_nobody_aside(pod, known->second)) return nullptr;
  return &known->second.why;
}

Placement Placer::refuse(const WaitingPod& pod, Refusal& refusal) {
  Placement out;
  out.why = refusal.why;
  const int64_t priority = pod.pod.priority;
  if (pushes_nobody_aside(pod, refusal) || is_making_room(pod)) return out;
  if (auto plan = plan_preemption(cluster_, pod.pod)) {
    out.nominated = std::move(plan->node);
    out.victims = std::move(plan->victims);
  } else {
    refusal.in_vain = priority;
  }
  cluster_.nothing_was_freed_since(freed_);
  return out;
}

std::vector<Placement> Placer::place_gang(std::span<const WaitingPod* const> members) {
  const WaitingPod& first = *members.front();
  int64_t there = 0;
  for (const auto& [node, count] : cluster_.gang_nodes(first.pod.ns, first.pod.gang))
    there += count;
  const int64_t known = there + static_cast<int64_t>(members.size());
  std::vector<Placement> out;
  int64_t fit = there;
  std::string why;
  if (known >= first.gang_least) {
    for (const WaitingPod* member : members) {
      out.push_back(place(*member));
      if (!out.back().node.empty()) {
        ++fit;
      } else if (why.empty()) {
        why = out.back().why;
      }
    }
    if (fit >= first.gang_least) return out;
    why = fmt::format("{} of the {} pods that {} needs at once fit: {}", fit, first.gang_least,
                      first.pod.gang, why);
  } else {
    why = fmt::format("{} of the {} pods that {} needs at once exist", known, first.gang_least,
                      first.pod.gang);
  }
  const uint64_t freed = cluster_.freed();
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].node.empty()) cluster_.remove_pod(members[i]->pod.uid);
  }
  cluster_.nothing_was_freed_since(freed);  // but what was found out beside them holds no more
  freed_ = 0;
  Placement refusal;
  refusal.why = std::move(why);
  out.assign(members.size(), refusal);
  return out;
}

std::string Placer::explain(const WaitingPod& pod, const TopologyRules* topology) {
  const std::vector<NodeFit>& fits = cluster_.fits(pod.pod.shape);
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

}  // namespace yard
