#include "scheduler/placer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/waiting_queue.h"
#include "testing/objects.h"

namespace yard {
namespace {

Json node(const char* name, const char* allocatable, const char* more = "{}") {
  Json out = changed(
      yaml(std::string("metadata: {name: '") + name + "', labels: {zone: a, size: '3'}}"), more);
  out.get_object()["status"] = JsonObject{{"allocatable", yaml(allocatable)}};
  return out;
}

Cluster cluster_of(std::initializer_list<Json> nodes) {
  Cluster out;
  for (const Json& each : nodes)
    out.set_node(each);
  return out;
}

// A pod before it is known which cluster it comes to.
struct PodText {
  std::string name, requests, spec = "{}";
  int64_t priority = 0;
  std::string gang = "";
  int64_t gang_least = 0;
  bool leads = false;
};

PodText pod(const char* name, const char* requests, const char* spec = "{}", int priority = 0) {
  return {name, requests, spec, priority};
}

WaitingPod waiting_pod(Cluster& cluster, const PodText& text) {
  Json spec = yaml(text.spec);
  spec.get_object()["containers"] =
      JsonArray{JsonObject{{"resources", JsonObject{{"requests", yaml(text.requests)}}}}};
  WaitingPod out;
  out.pod.ns = "ns";
  out.pod.name = text.name;
  out.pod.uid = text.name;
  out.pod.labels = JsonObject{{"app", text.name.substr(0, 1)}};
  out.pod.shape = cluster.shape_of(JsonObject{{"spec", std::move(spec)}});
  out.pod.priority = text.priority;
  out.pod.gang = text.gang;
  out.gang_least = text.gang_least;
  out.leads = text.leads;
  return out;
}

struct Placed : Placement {
  size_t waiting = 0;  // which of the waiting pods
};

bool passes_nobody(const WaitingPod&) {
  return false;
}

// Each in its turn, in the order decided.
std::vector<Placed> schedule(Cluster& cluster, std::vector<WaitingPod> pods) {
  WaitingQueue queue;
  for (size_t i = 0; i < pods.size(); ++i) {
    pods[i].arrival = i;
    queue.add(pods[i]);
  }
  Placer placer(cluster);
  std::vector<Placed> out;
  std::optional<WaitingQueue::Place> reached;
  while (true) {
    const auto [turn, passed_by, is_end] = queue.next(reached, passes_nobody, 1);
    if (is_end) break;
    std::vector<Placement> placed{Placement{}};
    if (turn.front()->is_of_gang()) {
      placed = placer.place_gang(turn);
    } else {
      placed[0] = placer.place(*turn.front());
    }
    for (size_t i = 0; i < turn.size(); ++i)
      out.push_back({std::move(placed[i]), turn[i]->arrival});
  }
  return out;
}

std::vector<Placed> place_all(Cluster& cluster, const std::vector<PodText>& pods) {
  std::vector<WaitingPod> waiting;
  for (const PodText& each : pods)
    waiting.push_back(waiting_pod(cluster, each));
  return schedule(cluster, std::move(waiting));
}

// "a:n1 b:-": where each went.
std::string outcome(Cluster& cluster, const std::vector<PodText>& pods) {
  std::string out;
  for (const Placed& each : place_all(cluster, pods))
    out += (out.empty() ? "" : " ") + pods[each.waiting].name + ":" +
           (each.node.empty() ? "-" : each.node);
  return out;
}

struct Case {
  const char* about;
  PodText pod;
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
    Cluster cluster =
        cluster_of({node("n", "{cpu: '2', memory: 4Gi, pods: '10'}", each.node_change)});
    const std::vector<Placed> placed = place_all(cluster, {each.pod});
    ASSERT_EQ(placed.size(), 1u);
    const std::string answer = placed[0].node.empty() ? placed[0].why : placed[0].node;
    EXPECT_TRUE(answer.starts_with(each.answer)) << each.about << ": " << answer;
  }
}

TEST(Schedule, ADeviceThatSomebodyOutsideIsOn) {
  Cluster cluster = cluster_of({node(
      "n", "{cpu: '2', memory: 4Gi, pods: '10', nvidia.com/gpu: '1'}",
      "metadata: {annotations: {trainyard.dev/gpus-in-use: 'GPU 0: process 77 (python3)'}}")});
  EXPECT_EQ(place_all(cluster, {pod("p", "{nvidia.com/gpu: '2'}")})[0].why,
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are "
            "available: 1 No preemption victims found for incoming pod. (nvidia.com/gpu: 2 asked, "
            "the node offers 1 and others are used by processes of no pod (GPU 0: process 77 "
            "(python3)): it starts when these end, `kill` ends one)");
  EXPECT_EQ(place_all(cluster, {pod("p", "{nvidia.com/gpu: '1'}")})[0].node, "n");
}

TEST(Schedule, TheReasonSaysNumbersAndTheCommand) {
  Cluster cluster = cluster_of({node("n", "{cpu: '2', memory: 4Gi, pods: '10'}")});
  EXPECT_EQ(place_all(cluster, {pod("p", "{cpu: '8', memory: 1Gi}")})[0].why,
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 "
            "No preemption victims found for incoming pod. (cpu: 8 asked, the node has 2: ask for "
            "less, or `trainyard restart --capacity cpu=8`)");
  EXPECT_EQ(place_all(cluster, {pod("p", "{}", "nodeSelector: {gpu: h200}")})[0].why,
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling. "
            "(`kubectl label node n gpu=h200` adds what is asked for)");
}

TEST(Schedule, NoNodeIsFilledTwice) {
  Cluster cluster =
      cluster_of({node("a", "{cpu: '2', pods: '10'}"), node("b", "{cpu: '1', pods: '10'}")});
  EXPECT_EQ(outcome(cluster, {pod("1", "{cpu: '1'}"), pod("2", "{cpu: '1'}"),
                              pod("3", "{cpu: '1'}"), pod("4", "{cpu: '1'}")}),
            "1:a 2:b 3:a 4:-");
}

TEST(Schedule, TheHigherPriorityGoesFirst) {
  Cluster cluster = cluster_of({node("a", "{cpu: '1', pods: '10'}")});
  EXPECT_EQ(outcome(cluster, {pod("low", "{cpu: '1'}"), pod("high", "{cpu: '1'}", "{}", 5)}),
            "high:a low:-");
}

TEST(Schedule, RoomComesBack) {
  Cluster cluster = cluster_of({node("a", "{cpu: '1', pods: '10'}")});
  EXPECT_EQ(outcome(cluster, {pod("1", "{cpu: '1'}"), pod("2", "{cpu: '1'}")}), "1:a 2:-");
  EXPECT_TRUE(cluster.remove_pod("1"));
  EXPECT_FALSE(cluster.remove_pod("1"));
  EXPECT_EQ(outcome(cluster, {pod("2", "{cpu: '1'}")}), "2:a");
}

TEST(Schedule, ANodeThatComesAfterItsPodsCountsThem) {
  Cluster cluster;
  cluster.place(waiting_pod(cluster, pod("old", "{cpu: '1'}")).pod, "a");
  cluster.set_node(node("a", "{cpu: '1', pods: '10'}"));
  EXPECT_EQ(outcome(cluster, {pod("new", "{cpu: '1'}")}), "new:-");
}

TEST(Schedule, ANodeThatChangesIsLookedAtAgain) {
  Cluster cluster = cluster_of({node("a", "{pods: '10'}")});
  const PodText picky = pod("p", "{}", "nodeSelector: {zone: b}");
  EXPECT_EQ(outcome(cluster, {picky}), "p:-");
  cluster.set_node(node("a", "{pods: '10'}", "metadata: {labels: {zone: b}}"));
  EXPECT_EQ(outcome(cluster, {picky}), "p:a");
}

TEST(Schedule, PreferencesDecideBetweenEqualNodes) {
  Cluster cluster = cluster_of(
      {node("a", "{cpu: '4'}", "spec: {taints: [{key: k, effect: PreferNoSchedule}]}"),
       node("b", "{cpu: '4'}"), node("c", "{cpu: '4'}", "metadata: {labels: {disk: fast}}")});
  EXPECT_EQ(outcome(cluster, {pod("1", "{cpu: '1'}",
                                  "affinity: {nodeAffinity: "
                                  "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, "
                                  "preference: {matchExpressions: [{key: disk, operator: "
                                  "Exists}]}}]}}"),
                              pod("2", "{cpu: '1'}")}),
            "1:c 2:b");
}

constexpr const char* kApart =
    "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
    "host, labelSelector: {matchLabels: {app: x}}}]}}";

TEST(Schedule, AntiAffinityKeepsApartBothWays) {
  Cluster cluster = cluster_of({node("a", "{pods: '9'}", "metadata: {labels: {host: a}}"),
                                node("b", "{pods: '9'}", "metadata: {labels: {host: b}}")});
  EXPECT_EQ(outcome(cluster, {pod("x1", "{}", kApart), pod("x2", "{}", kApart),
                              pod("x3", "{}", kApart), pod("x4", "{}"), pod("y", "{}")}),
            "x1:a x2:b x3:- x4:- y:a");
  EXPECT_TRUE(place_all(cluster, {pod("x5", "{}", kApart)})[0].why.starts_with(
      "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "));
}

TEST(Schedule, AffinityFollowsItsMate) {
  Cluster cluster = cluster_of({node("a", "{pods: '9'}", "metadata: {labels: {host: a}}"),
                                node("b", "{pods: '9'}", "metadata: {labels: {host: b}}")});
  constexpr const char* kWithW =
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
      "host, labelSelector: {matchLabels: {app: w}}}]}}";
  EXPECT_EQ(outcome(cluster, {pod("x", "{}", kWithW)}), "x:-");
  // The first of its own kind founds the domain; the next follow.
  EXPECT_EQ(outcome(cluster, {pod("w1", "{}", kWithW), pod("z", "{}"), pod("x", "{}", kWithW)}),
            "w1:a z:b x:a");
}

TEST(Schedule, SpreadingHoldsItsSkew) {
  Cluster cluster = cluster_of({node("a", "{pods: '9'}", "metadata: {labels: {host: a}}"),
                                node("b", "{pods: '1'}", "metadata: {labels: {host: b}}")});
  constexpr const char* kSpread =
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: host, whenUnsatisfiable: "
      "DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]";
  EXPECT_EQ(outcome(cluster, {pod("x1", "{}", kSpread), pod("x2", "{}", kSpread),
                              pod("x3", "{}", kSpread), pod("x4", "{}", kSpread)}),
            "x1:a x2:b x3:a x4:-");
}

TEST(Schedule, AHostPortIsTakenOnce) {
  Cluster cluster = cluster_of({node("a", "{pods: '9'}")});
  Json spec = yaml("containers: [{ports: [{containerPort: 80, hostPort: 8080}]}]");
  const auto with_port = [&](const char* name) {
    WaitingPod out = waiting_pod(cluster, pod(name, "{}"));
    out.pod.shape = cluster.shape_of(JsonObject{{"spec", spec}});
    return out;
  };
  const std::vector<WaitingPod> waiting = {with_port("1"), with_port("2")};
  const std::vector<Placed> placed = schedule(cluster, waiting);
  EXPECT_EQ(placed[0].node, "a");
  EXPECT_TRUE(placed[1].why.starts_with(
      "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. "));
  EXPECT_NE(placed[1].why.find("is held by pod "), std::string::npos) << placed[1].why;
}

TEST(Schedule, OnTheMachinesOwnNetworkDeclaredPortsAreTaken) {
  const Json server = yaml("spec: {containers: [{ports: [{containerPort: 8080}]}]}");
  Json replica = server;
  replica.as_object()["metadata"] = yaml("annotations: {trainyard.dev/gang-size: '2'}");
  Cluster own;
  EXPECT_TRUE(own.shape_of(server)->host_ports.empty()) << "each pod has its own ports";
  Cluster shared;
  shared.share_network();
  ASSERT_EQ(shared.shape_of(server)->host_ports.size(), 1u);
  EXPECT_EQ(shared.shape_of(server)->host_ports[0].port, 8080);
  EXPECT_TRUE(shared.shape_of(replica)->host_ports.empty())
      << "of a training job's replicas only one listens";
}

PodText gang(const char* name, const char* requests, int64_t least) {
  return {name, requests, "{}", 0, "ring", least};
}

TEST(Schedule, AGangIsPlacedWholeOrNotAtAll) {
  Cluster cluster = cluster_of({node("a", "{cpu: '2'}"), node("b", "{cpu: '1'}")});
  EXPECT_EQ(outcome(cluster, {gang("1", "{cpu: '1'}", 4), gang("2", "{cpu: '1'}", 4),
                              gang("3", "{cpu: '1'}", 4), gang("4", "{cpu: '1'}", 4),
                              pod("other", "{cpu: '2'}")}),
            "1:- 2:- 3:- 4:- other:a");
  cluster.remove_pod("other");
  EXPECT_EQ(outcome(cluster, {gang("1", "{cpu: '1'}", 3), gang("2", "{cpu: '1'}", 3),
                              gang("3", "{cpu: '1'}", 3)}),
            "1:a 2:a 3:b");
  // A member that comes again counts those that are there.
  cluster.remove_pod("2");
  EXPECT_EQ(outcome(cluster, {gang("2", "{cpu: '1'}", 3)}), "2:a");
}

TEST(Schedule, TheLeaderOfAGangComesFirst) {
  Cluster cluster = cluster_of({node("a", "{cpu: '2'}")});
  PodText leader = gang("leader", "{cpu: '1'}", 2);
  leader.leads = true;
  EXPECT_EQ(outcome(cluster, {gang("1", "{cpu: '1'}", 2), gang("2", "{cpu: '1'}", 2), leader}),
            "leader:a 1:a 2:-");
}

TEST(Schedule, AGangWaitsForItsMembers) {
  Cluster cluster = cluster_of({node("a", "{cpu: '9'}")});
  const std::vector<Placed> placed =
      place_all(cluster, {gang("1", "{cpu: '1'}", 3), gang("2", "{cpu: '1'}", 3)});
  EXPECT_EQ(placed[0].why, "2 of the 3 pods that ring needs at once exist");
  EXPECT_EQ(cluster.nodes()[0].pod_count(), 0);
}

TEST(Schedule, PreemptionTakesTheLeastImportant) {
  Cluster cluster = cluster_of({node("a", "{cpu: '2'}"), node("b", "{cpu: '2'}")});
  cluster.place(waiting_pod(cluster, pod("a1", "{cpu: '1'}", "{}", 5)).pod, "a");
  cluster.place(waiting_pod(cluster, pod("a2", "{cpu: '1'}", "{}", 5)).pod, "a");
  cluster.place(waiting_pod(cluster, pod("b1", "{cpu: '1'}", "{}", 7)).pod, "b");
  cluster.place(waiting_pod(cluster, pod("b2", "{cpu: '1'}", "{}", 1)).pod, "b");
  const Placed placed = place_all(cluster, {pod("new", "{cpu: '1'}", "{}", 9)})[0];
  EXPECT_EQ(placed.node, "");
  EXPECT_EQ(placed.nominated, "b");
  EXPECT_EQ(placed.victims, std::vector<std::string>{"b2"});
  EXPECT_EQ(cluster.node_of("b2"), "b") << "what is planned has not happened";
  // While those on their way still hold the room, nobody else has to go.
  cluster.set_ending("b2");
  WaitingPod again = waiting_pod(cluster, pod("new", "{cpu: '1'}", "{}", 9));
  again.nominated = "b";
  EXPECT_TRUE(schedule(cluster, {again})[0].victims.empty());
  cluster.remove_pod("b2");
  EXPECT_EQ(schedule(cluster, {again})[0].node, "b");
}

TEST(Schedule, NobodyIsPreemptedInVain) {
  Cluster cluster = cluster_of({node("a", "{cpu: '2'}")});
  cluster.place(waiting_pod(cluster, pod("low", "{cpu: '1'}", "{}", 1)).pod, "a");
  cluster.place(waiting_pod(cluster, pod("high", "{cpu: '1'}", "{}", 9)).pod, "a");
  struct Row {
    const char* about;
    PodText pod;
  };
  const Row rows[] = {
      {"equals stay", pod("p", "{cpu: '1'}", "{}", 1)},
      {"it would not fit even then", pod("p", "{cpu: '2'}", "{}", 5)},
      {"the node is not for it", pod("p", "{cpu: '1'}", "nodeSelector: {zone: q}", 5)},
  };
  for (const Row& row : rows)
    EXPECT_TRUE(place_all(cluster, {row.pod})[0].victims.empty()) << row.about;
}

// One placer for a whole life of a cluster decides as one that has just come and remembers nothing.
TEST(Schedule, WhatIsRememberedChangesNoDecision) {
  const std::vector<PodText> templates = {
      pod("s", "{cpu: 500m}"),
      pod("m", "{cpu: '2', memory: 1Gi}"),
      pod("g", "{nvidia.com/gpu: '1'}", "nodeSelector: {zone: a}"),
      pod("h", "{cpu: '1'}", "{}", 5),
      pod("x", "{cpu: 100m}", kApart),
  };
  size_t known_refusals = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Cluster kept, fresh;
    Placer remembers(kept);
    std::vector<std::string> placed;
    for (int step = 0; step < 300; ++step) {
      const uint64_t dice = random.below(20);
      if (dice == 0) {
        const std::string name = "n" + std::to_string(random.below(6));
        const Json changed = node(name.c_str(),
                                  random.below(2) == 0 ? "{cpu: '4', memory: 4Gi, pods: '9'}"
                                                       : "{cpu: '8', nvidia.com/gpu: '2'}",
                                  random.below(3) == 0 ? "spec: {unschedulable: true}" : "{}");
        kept.set_node(changed);
        fresh.set_node(changed);
      } else if (dice == 1) {
        const std::string name = "n" + std::to_string(random.below(6));
        kept.remove_node(name);
        fresh.remove_node(name);
      } else if (dice < 6 && !placed.empty()) {
        const std::string gone = placed[random.below(placed.size())];
        EXPECT_EQ(kept.remove_pod(gone), fresh.remove_pod(gone));
        std::erase(placed, gone);
      } else {
        PodText text = templates[random.below(templates.size())];
        text.name += std::to_string(step);
        const WaitingPod waiting = waiting_pod(kept, text);
        const std::string* refused = remembers.known_refusal(waiting);
        const std::string known = refused != nullptr ? *refused : "";
        const Placement one = remembers.place(waiting);
        if (refused != nullptr) {
          ASSERT_EQ(one.node, "") << "seed " << seed << ", step " << step << ": " << known;
          ASSERT_TRUE(one.victims.empty()) << "seed " << seed << ", step " << step;
          ++known_refusals;
        }
        const Placement other = Placer(fresh).place(waiting_pod(fresh, text));
        ASSERT_EQ(one.node, other.node) << "seed " << seed << ", step " << step;
        ASSERT_EQ(one.why, other.why) << "seed " << seed << ", step " << step;
        ASSERT_EQ(one.victims, other.victims) << "seed " << seed << ", step " << step;
        if (!one.node.empty()) placed.push_back(text.name);
      }
    }
  }
  EXPECT_GT(known_refusals, 100U) << "refusals that were known beforehand";
}

struct TurnCase {
  const char* about;
  std::vector<PodText> pods;
  const char* turns;
};

TEST(WaitingQueue, Turns) {
  const PodText leader = {"leader", "{}", "{}", 0, "ring", 2, true};
  const TurnCase cases[] = {
      {"who came first is first", {pod("a", "{}"), pod("b", "{}")}, "a|b|"},
      {"the higher priority before", {pod("a", "{}"), pod("b", "{}", "{}", 3)}, "b|a|"},
      {"a gang has the turn of its first member",
       {gang("a", "{}", 2), pod("b", "{}"), gang("c", "{}", 2)},
       "a c|b|"},
      {"its leader before the others", {gang("a", "{}", 2), leader}, "leader a|"},
      {"a gang of one is none", {gang("a", "{}", 1), gang("b", "{}", 1)}, "a|b|"},
  };
  for (const TurnCase& each : cases) {
    Cluster cluster;
    std::vector<WaitingPod> pods;
    for (const PodText& text : each.pods) {
      pods.push_back(waiting_pod(cluster, text));
      pods.back().arrival = pods.size();
    }
    WaitingQueue queue;
    for (const WaitingPod& one : pods)
      queue.add(one);
    std::string turns;
    std::optional<WaitingQueue::Place> reached;
    while (true) {
      const WaitingQueue::Turn turn = queue.next(reached, passes_nobody, 1);
      if (turn.is_end) break;
      for (const WaitingPod* one : turn.pods)
        turns += (turns.empty() || turns.back() == '|' ? "" : " ") + one->pod.name;
      turns += '|';
    }
    EXPECT_EQ(turns, each.turns) << each.about;
    for (const WaitingPod& one : pods)
      queue.remove(one);
    EXPECT_TRUE(queue.empty()) << each.about;
  }
}

// Of three templates two are passed by: the others have their turns in the same order, nobody is
// left out, and what is passed by at once is bounded.
TEST(WaitingQueue, PassesByWhoWouldBeRefused) {
  Cluster cluster;
  std::vector<WaitingPod> pods;
  for (int i = 0; i < 60; ++i) {
    const std::string name = fmt::format("{}-{}", "abc"[i % 3], i);
    pods.push_back(waiting_pod(cluster, pod(name.c_str(), "{}", "{}", i % 4)));
    pods.back().arrival = static_cast<uint64_t>(i);
  }
  WaitingQueue queue;
  for (const WaitingPod& one : pods)
    queue.add(one);
  std::vector<std::string> expected, turns;
  for (int priority = 3; priority >= 0; --priority) {
    for (int i = 0; i < 60; ++i) {
      if (i % 4 == priority && i % 3 == 1) expected.push_back(fmt::format("b-{}", i));
    }
  }
  std::optional<WaitingQueue::Place> reached;
  size_t passed_by = 0;
  while (true) {
    const WaitingQueue::Turn turn = queue.next(
        reached, [](const WaitingPod& one) { return !one.pod.name.starts_with('b'); }, 2);
    passed_by += turn.passed_by;
    EXPECT_LE(turn.passed_by, 2U);
    if (turn.is_end) break;
    for (const WaitingPod* one : turn.pods)
      turns.push_back(one->pod.name);
  }
  EXPECT_EQ(turns, expected);
  EXPECT_EQ(passed_by, 40U);
}

}  // namespace
}  // namespace yard
