#include "scheduler/schedule.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

bool list_has(const Json& expression, std::string_view value) {
  const JsonArray& values = list_at(expression, {"values"});
  return std::ranges::any_of(values, [&](const Json& each) { return text_of(each) == value; });
}

bool matches_expression(const Json& expression, const std::optional<std::string_view>& value) {
  const std::string_view op = text_at(expression, {"operator"});
  if (op == "Exists") return value.has_value();
  if (op == "DoesNotExist") return !value;
  if (op == "In") return value && list_has(expression, *value);
  if (op == "NotIn") return !value || !list_has(expression, *value);
  const JsonArray& values = list_at(expression, {"values"});
  const auto wanted = values.empty() ? std::nullopt : parse_int64(text_of(values[0]));
  const auto held = value ? parse_int64(*value) : std::nullopt;
  if (!wanted || !held) return false;
  return op == "Gt" ? *held > *wanted : op == "Lt" && *held < *wanted;
}

bool matches_term(const Json& term, const Json& node) {
  const JsonArray& expressions = list_at(term, {"matchExpressions"});
  const JsonArray& fields = list_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;
  for (const Json& expression : expressions) {
    const Json* label = find_path(node, {"metadata", "labels", text_at(expression, {"key"})});
    if (!matches_expression(expression,
                            label != nullptr ? std::optional(text_of(*label)) : std::nullopt))
      return false;
  }
  for (const Json& field : fields) {
    if (!matches_expression(field, name_of(node))) return false;
  }
  return true;
}

Quantity amount_in(const Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? Quantity() : found->second;
}

// Why the pod cannot be there, in kube-scheduler's words, and what would have to change in ours.
struct Obstacle {
  std::string reason, detail;
};

std::vector<Obstacle> obstacles(const WaitingPod& pod, const NodeSnapshot& node) {
  std::vector<Obstacle> out;
  if (bool_at(node.node, {"spec", "unschedulable"}) &&
      !tolerates(pod.pod, JsonObject{{"key", "node.kubernetes.io/unschedulable"},
                                     {"effect", "NoSchedule"}})) {
    return {{"node(s) were unschedulable",
             fmt::format("`kubectl uncordon {}` lets pods in", node.name)}};
  }
  for (const Json& taint : list_at(node.node, {"spec", "taints"})) {
    if (text_at(taint, {"effect"}) != "PreferNoSchedule" && !tolerates(pod.pod, taint)) {
      return {{"node(s) had untolerated taint(s)",
               fmt::format("`kubectl taint node {} {}-` removes the taint {}", node.name,
                           text_at(taint, {"key"}), text_at(taint, {"key"}))}};
    }
  }
  if (!matches_node(pod.pod, node.node)) {
    std::vector<std::string> wanted;
    for (const auto& member : map_at(pod.pod, {"spec", "nodeSelector"}))
      wanted.push_back(std::string(member.key()) + "=" + std::string(text_of(member.value())));
    const std::string command =
        wanted.empty() ? ""
                       : fmt::format("`kubectl label node {} {}` adds what is asked for", node.name,
                                     join(wanted, " "));
    return {{"node(s) didn't match Pod's node affinity/selector", command}};
  }
  const Quantity most_pods = amount_in(node.allocatable, "pods");
  if (!most_pods.is_zero() && node.pods >= most_pods.value())
    out.push_back(
        {"Too many pods", fmt::format("{} of {} pods are there", node.pods, most_pods.value())});
  for (const auto& [name, asked] : pod.requests) {
    if (asked.is_zero()) continue;
    const Quantity all = amount_in(node.allocatable, name), free = all - amount_in(node.used, name);
    if (asked <= free) continue;
    out.push_back({"Insufficient " + name,
                   asked <= all ? fmt::format("{}: {} asked, {} of {} free", name,
                                              asked.canonical(), free.canonical(), all.canonical())
                                : fmt::format("{}: {} asked, the node has {}: ask for less, or "
                                              "`trainyard restart --capacity {}={}`",
                                              name, asked.canonical(), all.canonical(), name,
                                              asked.canonical())});
  }
  return out;
}

std::string explanation(size_t nodes, const std::map<std::string, int>& counts,
                        const std::set<std::string>& details) {
  std::vector<std::string> reasons, numbers;
  for (const auto& [reason, count] : counts)
    reasons.push_back(fmt::format("{} {}", count, reason));
  for (const std::string& detail : details) {
    if (!detail.empty() && numbers.size() < 3) numbers.push_back(detail);
  }
  std::string out = fmt::format("0/{} nodes are available", nodes);
  if (!reasons.empty()) out += ": " + join(reasons, ", ");
  out += fmt::format(
      ". preemption: 0/{} nodes are available: {} No preemption victims found for incoming pod.",
      nodes, nodes);
  if (!numbers.empty()) out += " (" + join(numbers, "; ") + ")";
  return out;
}

// How full the fuller of cpu and memory would be: the emptiest node takes the pod.
double fullness(const WaitingPod& pod, const NodeSnapshot& node) {
  double most = 0;
  for (const char* name : {"cpu", "memory"}) {
    const double all = static_cast<double>(amount_in(node.allocatable, name).value());
    const double used =
        static_cast<double>((amount_in(node.used, name) + amount_in(pod.requests, name)).value());
    if (all > 0) most = std::max(most, used / all);
  }
  return most + static_cast<double>(node.pods) * 1e-6;
}

void take(NodeSnapshot& node, const WaitingPod& pod) {
  for (const auto& [name, asked] : pod.requests)
    node.used[name] = amount_in(node.used, name) + asked;
  ++node.pods;
}

Placement place(ClusterSnapshot& cluster, const WaitingPod& pod, size_t index) {
  std::map<std::string, int> counts;
  std::set<std::string> details;
  NodeSnapshot* best = nullptr;
  double least = 0;
  for (NodeSnapshot& node : cluster.nodes) {
    const std::vector<Obstacle> found = obstacles(pod, node);
    for (const Obstacle& obstacle : found) {
      ++counts[obstacle.reason];
      details.insert(obstacle.detail);
    }
    if (!found.empty()) continue;
    const double full = fullness(pod, node);
    if (best != nullptr && full >= least) continue;
    best = &node;
    least = full;
  }
  if (best == nullptr) return {index, "", explanation(cluster.nodes.size(), counts, details)};
  take(*best, pod);
  return {index, best->name, ""};
}

}  // namespace

bool tolerates(const Json& pod, const Json& taint) {
  for (const Json& toleration : list_at(pod, {"spec", "tolerations"})) {
    const std::string_view effect = text_at(toleration, {"effect"}),
                           key = text_at(toleration, {"key"});
    if (!effect.empty() && effect != text_at(taint, {"effect"})) continue;
    if (!key.empty() && key != text_at(taint, {"key"})) continue;
    if (text_at(toleration, {"operator"}) == "Exists") return true;
    if (!key.empty() && text_at(toleration, {"value"}) == text_at(taint, {"value"})) return true;
  }
  return false;
}

bool matches_node(const Json& pod, const Json& node) {
  for (const auto& member : map_at(pod, {"spec", "nodeSelector"})) {
    const Json* label = find_path(node, {"metadata", "labels", member.key()});
    if (label == nullptr || text_of(*label) != text_of(member.value())) return false;
  }
  const Json* required = find_path(
      pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required == nullptr) return true;
  const JsonArray& terms = list_at(*required, {"nodeSelectorTerms"});
  return std::ranges::any_of(terms, [&](const Json& term) { return matches_term(term, node); });
}

Placements schedule(const ClusterSnapshot& cluster, std::span<const WaitingPod> waiting) {
  ClusterSnapshot left = cluster;
  std::vector<size_t> order(waiting.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return waiting[i].priority; });
  Placements out;
  out.reserve(order.size());
  for (const size_t index : order)
    out.push_back(place(left, waiting[index], index));
  return out;
}

}  // namespace yard
