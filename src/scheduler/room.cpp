#include "scheduler/room.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

// Who has a port that is asked for, and which.
struct TakenPort {
  const PlacedPod* holder = nullptr;
  int64_t port = 0;
};

TakenPort taken_port(const Cluster& cluster, const Cluster::Node& node, const PodShape& shape) {
  if (shape.host_ports.empty()) return {};
  for (const std::string& uid : node.pods) {
    const PlacedPod* pod = cluster.find_pod(uid);
    for (const HostPort& held : pod->shape->host_ports) {
      if (std::ranges::any_of(shape.host_ports,
                              [&](const HostPort& asked) { return asked.clashes_with(held); }))
        return {pod, held.port};
    }
  }
  return {};
}

bool is_full(const Cluster::Node& node) {
  return node.most_pods > 0 && node.pod_count() >= node.most_pods;
}

// As people write amounts: 1500m cpu, 4Gi, 2.
std::string amount_text(std::string_view name, int64_t amount) {
  if (name == "cpu")
    return amount % 1000 == 0 ? std::to_string(amount / 1000) : fmt::format("{}m", amount);
  const bool is_bytes = name == "memory" || name == "ephemeral-storage";
  if (is_bytes) {
    constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
    size_t unit = 0;
    while (unit < 4 && amount != 0 && amount % 1024 == 0) {
      amount /= 1024;
      ++unit;
    }
    // An odd number of bytes or kB: to the nearest MB below is exact enough to act on.
    while (unit < 2 && amount >= 10 * 1024) {
      amount /= 1024;
      ++unit;
    }
    return fmt::format("{}{}", amount, kUnits[unit]);
  }
  return std::to_string(amount);
}

std::string selector_command(const Cluster::Node& node, const PodShape& shape) {
  std::vector<std::string> wanted;
  for (const auto& member : map_at(shape.spec, {"nodeSelector"}))
    wanted.push_back(std::string(member.key()) + "=" + std::string(text_of(member.value())));
  if (wanted.empty()) return "";
  return fmt::format("`kubectl label node {} {}` adds what is asked for", node.name,
                     join(wanted, " "));
}

std::string taint_command(const Cluster::Node& node, const PodShape& shape) {
  for (const Json& taint : list_at(node.node, {"spec", "taints"})) {
    if (text_at(taint, {"effect"}) == "PreferNoSchedule" || tolerates(shape.spec, taint)) continue;
    const std::string_view key = text_at(taint, {"key"});
    return fmt::format("`kubectl taint node {} {}-` removes the taint {}", node.name, key, key);
  }
  return "";
}

// Devices that processes of nobody's pod are on are not offered (node/agent_gpus.cpp).
std::string_view gpu_outsiders_of(const Cluster::Node& node) {
  return text_at(node.node, {"metadata", "annotations", "trainyard.dev/gpus-in-use"});
}

// More than there is at all, and the command that mends it.
std::string beyond_the_node(const Cluster::Node& node, const std::string& name,
                            const std::string& asked, const std::string& has) {
  if (const std::string_view outsiders = gpu_outsiders_of(node);
      name == "nvidia.com/gpu" && !outsiders.empty()) {
    return fmt::format(
        "{}: {} asked, the node offers {} and others are used by processes of no pod ({}): it "
        "starts when these end, `kill` ends one",
        name, asked, has, outsiders);
  }
  if (name == "nvidia.com/gpu" && has == "0") {
    return fmt::format(
        "{0}: {1} asked, the node has none: take it out of resources.limits, or "
        "pretend with `trainyard restart --fake-gpus {1}`",
        name, asked);
  }
  return fmt::format(
      "{0}: {1} asked, the node has {2}: ask for less, or `trainyard restart "
      "--capacity {0}={1}`",
      name, asked, has);
}

}  // namespace

bool has_room(const Cluster& cluster, size_t index, const PodShape& shape) {
  const Cluster::Node& node = cluster.nodes()[index];
  if (is_full(node)) return false;
  for (const Demand& demand : shape.demands) {
    if (demand.amount >
        cluster.allocatable(index, demand.resource) - cluster.used(index, demand.resource))
      return false;
  }
  return taken_port(cluster, node, shape).holder == nullptr;
}

std::vector<Obstacle> obstacles(const Cluster& cluster, size_t index, const PodShape& shape,
                                NodeFit fit) {
  const Cluster::Node& node = cluster.nodes()[index];
  if (fit == NodeFit::Unschedulable)
    return {{"node(s) were unschedulable",
             fmt::format("`kubectl uncordon {}` lets pods in", node.name)}};
  if (fit == NodeFit::Tainted)
    return {{"node(s) had untolerated taint(s)", taint_command(node, shape)}};
  if (fit == NodeFit::Unmatched)
    return {{"node(s) didn't match Pod's node affinity/selector", selector_command(node, shape)}};
  std::vector<Obstacle> out;
  if (is_full(node))
    out.push_back({"Too many pods",
                   fmt::format("{} of {} pods are there", node.pod_count(), node.most_pods)});
  for (const Demand& demand : shape.demands) {
    const std::string& name = cluster.resource_names()[demand.resource];
    const int64_t all = cluster.allocatable(index, demand.resource);
    const int64_t free = all - cluster.used(index, demand.resource);
    if (demand.amount <= free) continue;
    const std::string asked = amount_text(name, demand.amount), has = amount_text(name, all);
    out.push_back({"Insufficient " + name,
                   demand.amount > all
                       ? beyond_the_node(node, name, asked, has)
                       : fmt::format("{}: {} asked, {} of {} free: it starts when others end, "
                                     "`trainyard get pods -A` shows them",
                                     name, asked, amount_text(name, free), has)});
  }
  if (const TakenPort taken = taken_port(cluster, node, shape); taken.holder != nullptr)
    out.push_back({"node(s) didn't have free ports for the requested pod ports",
                   fmt::format("port {} is held by pod {}/{}: it starts when that ends, `kubectl "
                               "delete pod {} -n {}` ends it",
                               taken.port, taken.holder->ns, taken.holder->name, taken.holder->name,
                               taken.holder->ns)});
  return out;
}

}  // namespace yard
