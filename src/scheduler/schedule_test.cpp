#include "scheduler/schedule.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

NodeSnapshot node(const char* name, const char* allocatable, const char* more = "{}") {
  NodeSnapshot out;
  out.name = name;
  out.node = changed(
      yaml(std::string("metadata: {name: ") + name + ", labels: {zone: a, size: '3'}}"), more);
  const Json amounts = yaml(allocatable);
  out.allocatable = amounts_of(&amounts);
  return out;
}

WaitingPod pod(const char* name, const char* requests, const char* spec = "{}", int priority = 0) {
  WaitingPod out;
  out.name = name;
  out.pod = JsonObject{{"spec", yaml(spec)}};
  const Json amounts = yaml(requests);
  out.requests = amounts_of(&amounts);
  out.priority = priority;
  return out;
}

struct Case {
  const char* about;
  WaitingPod pod;
  const char* node_change;
  const char* answer;  // the node, or the beginning of why not
};

const Case kCases[] = {
    {"what fits is placed", pod("p", "{cpu: 500m}"), "{}", "n"},
    {"a pod that asks nothing fits", pod("p", "{}"), "{}", "n"},
    {"too much cpu", pod("p", "{cpu: '8'}"), "{}", "0/1 nodes are available: 1 Insufficient cpu. "},
    {"two reasons in order", pod("p", "{memory: 9Gi, cpu: '8'}"), "{}",
     "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. "},
    {"a device the node lacks", pod("p", "{nvidia.com/gpu: '1'}"), "{}",
     "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. "},
    {"its nodeSelector matches", pod("p", "{}", "nodeSelector: {zone: a}"), "{}", "n"},
    {"its nodeSelector does not", pod("p", "{}", "nodeSelector: {zone: b}"), "{}",
     "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "},
    {"affinity In",
     pod("p", "{}",
         "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [b, "
         "a]}]}]}}}"),
     "{}", "n"},
    {"affinity Gt",
     pod("p", "{}",
         "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: size, operator: Gt, values: ['3']}]}]}}}"),
     "{}", "0/1 nodes are available: 1 node(s) didn't match"},
    {"a taint keeps it out", pod("p", "{}"),
     "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}",
     "0/1 nodes are available: 1 node(s) had untolerated taint(s). "},
    {"a toleration lets it in",
     pod("p", "{}", "tolerations: [{key: k, value: v, effect: NoSchedule}]"),
     "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}", "n"},
    {"Exists without a key tolerates all", pod("p", "{}", "tolerations: [{operator: Exists}]"),
     "spec: {taints: [{key: k, value: v, effect: NoSchedule}]}", "n"},
    {"PreferNoSchedule keeps nobody out", pod("p", "{}"),
     "spec: {taints: [{key: k, effect: PreferNoSchedule}]}", "n"},
    {"a cordoned node", pod("p", "{}"), "spec: {unschedulable: true}",
     "0/1 nodes are available: 1 node(s) were unschedulable. "},
};

TEST(Schedule, Table) {
  for (const Case& each : kCases) {
    const ClusterSnapshot cluster{
        {node("n", "{cpu: '2', memory: 4Gi, pods: '10'}", each.node_change)}};
    const Placements placed = schedule(cluster, std::span(&each.pod, 1));
    ASSERT_EQ(placed.size(), 1u);
    const std::string answer = placed[0].node.empty() ? placed[0].why : placed[0].node;
    EXPECT_TRUE(answer.starts_with(each.answer)) << each.about << ": " << answer;
  }
}

TEST(Schedule, NoNodeIsFilledTwice) {
  const ClusterSnapshot cluster{
      {node("a", "{cpu: '2', pods: '10'}"), node("b", "{cpu: '1', pods: '10'}")}};
  const std::vector<WaitingPod> waiting = {pod("1", "{cpu: '1'}"), pod("2", "{cpu: '1'}"),
                                           pod("3", "{cpu: '1'}"), pod("4", "{cpu: '1'}")};
  int placed = 0;
  std::map<std::string, int> on;
  for (const Placement& each : schedule(cluster, waiting)) {
    placed += each.node.empty() ? 0 : 1;
    ++on[each.node];
  }
  EXPECT_EQ(placed, 3);
  EXPECT_EQ(on["a"], 2);
  EXPECT_EQ(on["b"], 1);
}

TEST(Schedule, TheHigherPriorityGoesFirst) {
  const ClusterSnapshot cluster{{node("a", "{cpu: '1', pods: '10'}")}};
  const std::vector<WaitingPod> waiting = {pod("low", "{cpu: '1'}"),
                                           pod("high", "{cpu: '1'}", "{}", 5)};
  const Placements placed = schedule(cluster, waiting);
  EXPECT_EQ(placed[0].waiting, 1u);
  EXPECT_EQ(placed[0].node, "a");
  EXPECT_EQ(placed[1].node, "");
}

}  // namespace
}  // namespace yard
