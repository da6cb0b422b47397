#include "scheduler/topology.h"

#include <algorithm>

#include "api/selectors.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr auto kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

// The value of a node's label; null where it has none and so lies in no domain.
const Json* domain_of(const Json& node, std::string_view key) {
  return find_path(node, {"metadata", "labels", key});
}

class Term {
 public:
  // A selector that does not parse selects nothing: admission has refused it long before.
  Term(const Json& term, std::string_view own_namespace) : key_(text_at(term, {"topologyKey"})) {
    const Json* selector = find(term, "labelSelector");
    if (selector != nullptr) {
      if (auto parsed = LabelSelector::from_json(*selector)) {
        selector_ = std::move(*parsed);
        selects_ = true;
      }
    }
    for (const Json& each : list_at(term, {"namespaces"}))
      namespaces_.emplace_back(text_of(each));
    everywhere_ = find(term, "namespaceSelector") != nullptr;
    if (namespaces_.empty() && !everywhere_) namespaces_.emplace_back(own_namespace);
  }
  bool matches(const PlacedPod& pod) const {
    return selects_ && selector_.matches_labels(pod.labels) &&
           (everywhere_ || std::ranges::find(namespaces_, pod.ns) != namespaces_.end());
  }
  const std::string& key() const { return key_; }

 private:
  std::string key_;
  LabelSelector selector_;
  bool selects_ = false, everywhere_ = false;
  std::vector<std::string> namespaces_;
};

}  // namespace

TopologyRules::TopologyRules(const Cluster& cluster, const PlacedPod& pod) {
  const auto count = [&](const Term& term, auto& into) {
    into.key = term.key();
    cluster.for_each_pod([&](const PlacedPod& other, const std::string& where) {
      if (other.is_ending || !term.matches(other)) return;
      const auto node = cluster.find_node(where);
      const Json* domain = node ? domain_of(cluster.nodes()[*node].node, into.key) : nullptr;
      if (domain == nullptr) return;
      ++into.matching[std::string(text_of(*domain))];
      ++into.total;
    });
  };
  const Json& spec = pod.shape->spec;
  for (const Json& each : list_at(spec, {"affinity", "podAffinity", kRequired})) {
    const Term term(each, pod.ns);
    Affinity rule;
    count(term, rule);
    rule.matches_itself = term.matches(pod);
    together_.push_back(std::move(rule));
  }
  for (const Json& each : list_at(spec, {"affinity", "podAntiAffinity", kRequired})) {
    Counted rule;
    count(Term(each, pod.ns), rule);
    apart_.push_back(std::move(rule));
  }
  for (const Json& each : list_at(spec, {"topologySpreadConstraints"})) {
    if (text_at(each, {"whenUnsatisfiable"}) == "ScheduleAnyway") continue;
    const Term term(each, pod.ns);
    Spread rule;
    count(term, rule);
    rule.matches_itself = term.matches(pod);
    rule.most_skew = int_at(each, {"maxSkew"}, 1);
    bool first = true;
    for (const Cluster::Node& node : cluster.nodes()) {
      if (node.name.empty() || !matches_node(spec, node.node)) continue;
      const Json* domain = domain_of(node.node, rule.key);
      if (domain == nullptr) continue;
      const auto found = rule.matching.find(text_of(*domain));
      const int64_t here = found == rule.matching.end() ? 0 : found->second;
      rule.least = first ? here : std::min(rule.least, here);
      first = false;
    }
    spread_.push_back(std::move(rule));
  }
  if (cluster.pods_with_anti_affinity() == 0) return;
  // Those already there may not want it beside them.
  cluster.for_each_pod([&](const PlacedPod& other, const std::string& where) {
    if (!other.shape->has_pod_anti_affinity || other.is_ending) return;
    const auto node = cluster.find_node(where);
    if (!node) return;
    for (const Json& each :
         list_at(other.shape->spec, {"affinity", "podAntiAffinity", kRequired})) {
      const Term term(each, other.ns);
      const Json* domain = domain_of(cluster.nodes()[*node].node, term.key());
      if (domain == nullptr || !term.matches(pod)) continue;
      Counted rule;
      rule.key = term.key();
      rule.matching[std::string(text_of(*domain))] = 1;
      apart_.push_back(std::move(rule));
    }
  });
}

std::string TopologyRules::why_not(const Cluster::Node& node) const {
  for (const Affinity& rule : together_) {
    const Json* domain = domain_of(node.node, rule.key);
    const bool first_of_its_kind = rule.total == 0 && rule.matches_itself;
    if (domain == nullptr || (!first_of_its_kind && !rule.matching.contains(text_of(*domain))))
      return "node(s) didn't match pod affinity rules";
  }
  for (const Counted& rule : apart_) {
    const Json* domain = domain_of(node.node, rule.key);
    if (domain != nullptr && rule.matching.contains(text_of(*domain)))
      return "node(s) didn't match pod anti-affinity rules";
  }
  for (const Spread& rule : spread_) {
    const Json* domain = domain_of(node.node, rule.key);
    const auto found =
        domain != nullptr ? rule.matching.find(text_of(*domain)) : rule.matching.end();
    const int64_t here =
        (found == rule.matching.end() ? 0 : found->second) + (rule.matches_itself ? 1 : 0);
    if (domain == nullptr || here - rule.least > rule.most_skew)
      return "node(s) didn't match pod topology spread constraints";
  }
  return "";
}

}  // namespace yard
