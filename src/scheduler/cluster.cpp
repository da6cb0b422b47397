#include "scheduler/cluster.h"

#include <algorithm>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

// Templates differ far less than pods do; more than these and the oldest knowledge is made again.
constexpr size_t kMostShapes = 4096;

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

NodeFit fit_of(const Json& spec, const Json& node) {
  static const Json kCordoned =
      JsonObject{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}};
  if (bool_at(node, {"spec", "unschedulable"}) && !tolerates(spec, kCordoned))
    return NodeFit::Unschedulable;
  for (const Json& taint : list_at(node, {"spec", "taints"})) {
    if (text_at(taint, {"effect"}) != "PreferNoSchedule" && !tolerates(spec, taint))
      return NodeFit::Tainted;
  }
  return matches_node(spec, node) ? NodeFit::Fits : NodeFit::Unmatched;
}

int64_t whole_amount(std::string_view name, const Quantity& quantity) {
  return name == "cpu" ? quantity.milli() : quantity.value();
}

std::vector<HostPort> host_ports_of(const Json& spec, bool shares_network) {
  std::vector<HostPort> out;
  const bool on_host = shares_network || bool_at(spec, {"hostNetwork"});
  for (const Json& container : list_at(spec, {"containers"})) {
    for (const Json& port : list_at(container, {"ports"})) {
      const int64_t number =
          int_at(port, {"hostPort"}, on_host ? int_at(port, {"containerPort"}) : 0);
      if (number == 0) continue;
      std::string ip(text_at(port, {"hostIP"}));
      if (ip == "0.0.0.0" || ip == "::") ip.clear();
      out.push_back({std::move(ip), std::string(text_at(port, {"protocol"}, "TCP")), number});
    }
  }
  return out;
}

// What pods look at; the status of a node is long and changes all the time.
Json node_part(const Json& object) {
  Json out =
      JsonObject{{"metadata", JsonObject{{"name", name_of(object)}}}, {"spec", JsonObject{}}};
  for (const char* map : {"labels", "annotations"}) {
    if (const Json* there = find_path(object, {"metadata", map}))
      out.get_object()["metadata"].get_object()[map] = *there;
  }
  if (const Json* spec = find(object, "spec")) out.get_object()["spec"] = *spec;
  return out;
}

bool has_soft_taints(const Json& node) {
  return std::ranges::any_of(list_at(node, {"spec", "taints"}), [](const Json& taint) {
    return text_at(taint, {"effect"}) == "PreferNoSchedule";
  });
}

// The part of a spec that a placement looks at.
Json placement_part(const Json& spec) {
  JsonObject out;
  for (const char* key : {"nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"}) {
    if (const Json* value = find(spec, key)) out[key] = *value;
  }
  return out;
}

}  // namespace

bool tolerates(const Json& spec, const Json& taint) {
  for (const Json& toleration : list_at(spec, {"tolerations"})) {
    const std::string_view effect = text_at(toleration, {"effect"}),
                           key = text_at(toleration, {"key"});
    if (!effect.empty() && effect != text_at(taint, {"effect"})) continue;
    if (!key.empty() && key != text_at(taint, {"key"})) continue;
    if (text_at(toleration, {"operator"}) == "Exists") return true;
    if (!key.empty() && text_at(toleration, {"value"}) == text_at(taint, {"value"})) return true;
  }
  return false;
}

bool matches_node_term(const Json& term, const Json& node) {
  const JsonArray& expressions = list_at(term, {"matchExpressions"});
  const JsonArray& fields = list_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;
  for (const Json& expression : expressions) {
    const Json* label = find_path(node, {"metadata", "labels", text_at(expression, {"key"})});
    if (!matches_expression(expression,
                            label != nullptr ? std::optional(text_of(*label)) : std::nullopt))
      return false;
  }
  return std::ranges::all_of(
      fields, [&](const Json& field) { return matches_expression(field, name_of(node)); });
}

bool matches_node(const Json& spec, const Json& node) {
  for (const auto& member : map_at(spec, {"nodeSelector"})) {
    const Json* label = find_path(node, {"metadata", "labels", member.key()});
    if (label == nullptr || text_of(*label) != text_of(member.value())) return false;
  }
  const Json* required = find_path(
      spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required == nullptr) return true;
  const JsonArray& terms = list_at(*required, {"nodeSelectorTerms"});
  return std::ranges::any_of(terms,
                             [&](const Json& term) { return matches_node_term(term, node); });
}

size_t Cluster::resource(std::string_view name) {
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
  names_.emplace_back(name);
  return names_.size() - 1;
}

void Cluster::account(Node& node, const PlacedPod& pod, int sign) {
  for (const Demand& demand : pod.shape->demands) {
    if (node.used.size() <= demand.resource) node.used.resize(demand.resource + 1);
    node.used[demand.resource] += sign * demand.amount;
  }
  ++node.changes;
  ++changes_;
  if (sign > 0) {
    node.pods.push_back(pod.uid);
  } else {
    std::erase(node.pods, pod.uid);
  }
}

void Cluster::count_gang(const PlacedPod& pod, const std::string& node, int sign) {
  if (pod.gang.empty()) return;
  const std::string key = pod.ns + "/" + pod.gang;
  std::map<std::string, int>& nodes = gangs_[key];
  if ((nodes[node] += sign) == 0) nodes.erase(node);
  if (nodes.empty()) gangs_.erase(key);
}

const std::map<std::string, int>& Cluster::gang_nodes(std::string_view ns,
                                                      std::string_view gang) const {
  static const std::map<std::string, int> kNone;
  const auto found = gangs_.find(std::string(ns) + "/" + std::string(gang));
  return gang.empty() || found == gangs_.end() ? kNone : found->second;
}

void Cluster::forget_fits(size_t node) {
  for (auto& [shape, fits] : fits_) {
    if (node < fits.size()) fits[node] = NodeFit::Unknown;
  }
}

size_t Cluster::take_place() {
  if (free_places_.empty()) {
    nodes_.emplace_back();
    return nodes_.size() - 1;
  }
  const size_t place = free_places_.back();
  free_places_.pop_back();
  return place;
}

bool Cluster::set_node(const Json& object) {
  std::string name(name_of(object));
  int64_t most_pods = 0;
  std::vector<int64_t> allocatable;
  for (const auto& [key, amount] : amounts_of(find_path(object, {"status", "allocatable"}))) {
    if (key == "pods") {
      most_pods = amount.value();
      continue;
    }
    const size_t place = resource(key);
    if (allocatable.size() <= place) allocatable.resize(place + 1);
    allocatable[place] = whole_amount(key, amount);
  }
  Json part = node_part(object);
  const auto [found, is_new] = by_name_.try_emplace(name);
  if (is_new) found->second = take_place();
  const size_t index = found->second;
  Node& node = nodes_[index];
  if (!is_new && node.most_pods == most_pods && node.allocatable == allocatable &&
      node.node == part)
    return false;
  ++freed_;
  forget_fits(index);
  node.name = std::move(name);
  node.has_soft_taints = has_soft_taints(part);
  node.node = std::move(part);
  node.allocatable = std::move(allocatable);
  node.most_pods = most_pods;
  ++node.changes;
  if (const auto before = strangers_.extract(node.name)) {
    for (const std::string& uid : before.mapped())
      account(node, pods_.at(uid).pod, +1);
  }
  return true;
}

void Cluster::remove_node(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return;
  const size_t index = found->second;
  ++freed_;
  forget_fits(index);
  if (const Node& node = nodes_[index]; !node.pods.empty())
    strangers_[node.name] = std::set<std::string>(node.pods.begin(), node.pods.end());
  const uint32_t changes = nodes_[index].changes + 1;
  nodes_[index] = {};
  nodes_[index].changes = changes;
  free_places_.push_back(index);
  by_name_.erase(found);
}

std::optional<size_t> Cluster::find_node(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void Cluster::count_priority(int64_t priority, int sign) {
  size_t& count = priorities_[priority];
  count += static_cast<size_t>(sign);
  if (count == 0) priorities_.erase(priority);
}

void Cluster::place(PlacedPod pod, std::string_view node) {
  remove_pod(pod.uid);
  if (const auto index = find_node(node)) {
    account(nodes_[*index], pod, +1);
  } else {
    strangers_[std::string(node)].insert(pod.uid);
  }
  if (pod.shape->has_pod_anti_affinity) ++anti_affine_;
  count_gang(pod, std::string(node), +1);
  count_priority(pod.priority, +1);
  std::string uid = pod.uid;
  pods_.insert_or_assign(std::move(uid), Entry{std::move(pod), std::string(node)});
}

bool Cluster::remove_pod(std::string_view uid) {
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end()) return false;
  const auto& [pod, node] = found->second;
  ++freed_;
  if (const auto index = find_node(node)) {
    account(nodes_[*index], pod, -1);
  } else if (const auto strangers = strangers_.find(node); strangers != strangers_.end()) {
    strangers->second.erase(pod.uid);
    if (strangers->second.empty()) strangers_.erase(strangers);
  }
  if (pod.shape->has_pod_anti_affinity) --anti_affine_;
  count_gang(pod, node, -1);
  count_priority(pod.priority, -1);
  pods_.erase(found);
  return true;
}

const PlacedPod* Cluster::find_pod(std::string_view uid) const {
  const auto found = pods_.find(std::string(uid));
  return found == pods_.end() ? nullptr : &found->second.pod;
}

std::string_view Cluster::node_of(std::string_view uid) const {
  const auto found = pods_.find(std::string(uid));
  return found == pods_.end() ? std::string_view() : found->second.node;
}

void Cluster::set_ending(std::string_view uid) {
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end() || found->second.pod.is_ending) return;
  found->second.pod.is_ending = true;
  ++freed_;  // who keeps away from it need not any more
}

PodShapePtr Cluster::shape_of(const Json& pod) {
  const Json* spec = find(pod, "spec");
  if (spec == nullptr) spec = &pod;
  PodShape shape;
  shape.spec = placement_part(*spec);
  std::string key = to_text(shape.spec);
  const Amounts requests = pod_amounts(*spec, "requests");
  for (const auto& [name, amount] : requests) {
    if (amount.is_zero()) continue;
    shape.demands.push_back({resource(name), whole_amount(name, amount)});
    key += name + "=" + std::to_string(shape.demands.back().amount) + ";";
  }
  // Every replica of a training job declares the port that one of them listens on.
  const bool is_replica =
      find_path(pod, {"metadata", "annotations", "trainyard.dev/gang-size"}) != nullptr;
  shape.host_ports = host_ports_of(*spec, shares_network_ && !is_replica);
  for (const HostPort& port : shape.host_ports)
    key += port.ip + "/" + port.protocol + "/" + std::to_string(port.port) + ";";
  const auto found = shapes_.find(key);
  if (found != shapes_.end()) return found->second;
  constexpr auto kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  shape.has_pod_affinity = !list_at(shape.spec, {"affinity", "podAffinity", kRequired}).empty();
  shape.has_pod_anti_affinity =
      !list_at(shape.spec, {"affinity", "podAntiAffinity", kRequired}).empty();
  shape.has_spread = !list_at(shape.spec, {"topologySpreadConstraints"}).empty();
  shape.has_preferences = !list_at(shape.spec, {"affinity", "nodeAffinity",
                                                "preferredDuringSchedulingIgnoredDuringExecution"})
                               .empty();
  if (shapes_.size() >= kMostShapes) {
    shapes_.clear();
    fits_.clear();
  }
  auto made = std::make_shared<const PodShape>(std::move(shape));
  shapes_.emplace(std::move(key), made);
  return made;
}

const std::vector<NodeFit>& Cluster::fits(const PodShapePtr& shape) {
  std::vector<NodeFit>& fits = fits_[shape];
  fits.resize(nodes_.size(), NodeFit::Unknown);
  for (size_t node = 0; node < fits.size(); ++node) {
    if (fits[node] == NodeFit::Unknown && !nodes_[node].name.empty())
      fits[node] = fit_of(shape->spec, nodes_[node].node);
  }
  return fits;
}

int64_t Cluster::allocatable(size_t node, size_t resource) const {
  const std::vector<int64_t>& amounts = nodes_[node].allocatable;
  return resource < amounts.size() ? amounts[resource] : 0;
}

int64_t Cluster::used(size_t node, size_t resource) const {
  const std::vector<int64_t>& amounts = nodes_[node].used;
  return resource < amounts.size() ? amounts[resource] : 0;
}

}  // namespace yard
