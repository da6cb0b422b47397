#pragma once
// The nodes and what takes room on them, in the form the scheduler decides on: numbers in arrays,
// and what a template asks of a node looked at once for all pods made from it. A value: no I/O.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/resources.h"
#include "json/json.h"

namespace yard {

// So much of one resource: cpu in thousandths, everything else in units.
struct Demand {
  size_t resource = 0;  // its place in Cluster::resource_names()
  int64_t amount = 0;
};

struct HostPort {
  std::string ip;  // "": every address
  std::string protocol = "TCP";
  int64_t port = 0;
  bool clashes_with(const HostPort& other) const {
    return port == other.port && protocol == other.protocol &&
           (ip.empty() || other.ip.empty() || ip == other.ip);
  }
};

// What decides where a pod may go. Pods of one template share it.
struct PodShape {
  Json spec;  // nodeSelector, affinity, tolerations, topologySpreadConstraints
  std::vector<Demand> demands;
  std::vector<HostPort> host_ports;
  bool has_pod_affinity = false, has_pod_anti_affinity = false, has_spread = false;
  bool has_preferences = false;  // of nodes
  // What others do may make room for it, not only what they leave.
  bool wants_company() const { return has_pod_affinity || has_spread; }
};
using PodShapePtr = std::shared_ptr<const PodShape>;

// A pod that has, or is to get, room on a node.
struct PlacedPod {
  std::string ns, name, uid;
  Json labels;
  PodShapePtr shape;
  int64_t priority = 0;
  bool is_ending = false;
  std::string gang;  // "": none
};

// What keeps a pod off a node, whatever else runs there.
enum class NodeFit : uint8_t { Unknown, Fits, Unschedulable, Tainted, Unmatched };

class Cluster {
 public:
  struct Node {
    std::string name;  // "": the place is free
    Json node;
    std::vector<int64_t> allocatable, used;  // by resource
    int64_t most_pods = 0;                   // 0: no bound
    std::vector<std::string> pods;           // uids
    bool has_soft_taints = false;
    uint32_t changes = 0;  // counts what came and went
    int64_t pod_count() const { return static_cast<int64_t>(pods.size()); }
  };

  bool set_node(const Json& node);  // false: nothing that matters to pods has changed
  void remove_node(std::string_view name);
  std::span<const Node> nodes() const { return nodes_; }
  size_t node_count() const { return by_name_.size(); }
  std::optional<size_t> find_node(std::string_view name) const;

  // Takes room from now on; also on a node that is not known yet.
  void place(PlacedPod pod, std::string_view node);
  bool remove_pod(std::string_view uid);  // false: it had no room
  const PlacedPod* find_pod(std::string_view uid) const;
  std::string_view node_of(std::string_view uid) const;  // "": nowhere
  void set_ending(std::string_view uid);
  // Goes up whenever there may be room where there was none: who was refused at this count still
  // is. Placing a pod only takes room.
  uint64_t freed() const { return freed_; }
  // What was taken away since that count was in thought only, and is back.
  void nothing_was_freed_since(uint64_t count) { freed_ = count; }
  uint64_t changes() const { return changes_; }  // of any sort
  // Whether there is a pod that one of this priority could push aside.
  bool has_lesser_than(int64_t priority) const {
    return !priorities_.empty() && priorities_.begin()->first < priority;
  }

  // One shape for equal specs.
  PodShapePtr shape_of(const Json& pod);
  // Pods have the machine's own network: the ports they declare are taken from it. Before any pod.
  void share_network() { shares_network_ = true; }
  // By node; those of free places mean nothing.
  const std::vector<NodeFit>& fits(const PodShapePtr& shape);
  const std::vector<std::string>& resource_names() const { return names_; }
  int64_t allocatable(size_t node, size_t resource) const;
  int64_t used(size_t node, size_t resource) const;

  template <typename Visit>
  void for_each_pod(const Visit& visit) const {  // visit(const PlacedPod&, node name)
    for (const auto& [uid, entry] : pods_)
      visit(entry.pod, entry.node);
  }
  size_t pods_with_anti_affinity() const { return anti_affine_; }
  // How many pods of a gang are on which node.
  const std::map<std::string, int>& gang_nodes(std::string_view ns, std::string_view gang) const;

 private:
  struct Entry {
    PlacedPod pod;
    std::string node;
  };
  size_t resource(std::string_view name);
  void count_gang(const PlacedPod& pod, const std::string& node, int sign);
  void account(Node& node, const PlacedPod& pod, int sign);
  void count_priority(int64_t priority, int sign);
  void forget_fits(size_t node);
  size_t take_place();

  std::vector<Node> nodes_;
  std::vector<size_t> free_places_;  // in nodes_
  std::map<std::string, size_t, std::less<>> by_name_;
  std::unordered_map<std::string, Entry> pods_;
  std::unordered_map<std::string, std::set<std::string>> strangers_;  // uids, by unknown node
  std::map<int64_t, size_t> priorities_;                              // of pods_
  std::vector<std::string> names_;
  bool shares_network_ = false;
  std::unordered_map<std::string, PodShapePtr> shapes_;  // by text
  std::unordered_map<PodShapePtr, std::vector<NodeFit>> fits_;
  std::unordered_map<std::string, std::map<std::string, int>> gangs_;  // by namespace/name
  size_t anti_affine_ = 0;
  uint64_t freed_ = 1, changes_ = 0;
};

// Parts of it that others ask too.
bool tolerates(const Json& spec, const Json& taint);
bool matches_node(const Json& spec, const Json& node);  // nodeSelector and required node affinity
bool matches_node_term(const Json& term, const Json& node);

}  // namespace yard
