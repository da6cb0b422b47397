// What probes, hooks and ends do to a pod's containers.

#include <functional>

#include <gtest/gtest.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/plan_pod.h"
#include "node/plan_pod_testing.h"
#include "testing/objects.h"

namespace yard {
namespace {

// A pod whose only container has run for 60 s.
struct World : PodWorld {
  PodRecord kept;
  World() {
    pod = yaml(kPlannedPod);
    now = kPlanNow;
    pod_ip = "10.0.0.1";
    host_ip = "127.0.0.1";
    kept.alive = true;
    run("c", 0);
    record = &kept;
  }
  void run(const char* container, int number) {
    ContainerRun one;
    one.container = container;
    one.run = number;
    one.started = ago(60);
    kept.runs.push_back(std::move(one));
    memory[container].run = number;
  }
  void has(const char* members) {
    pod = changed(std::move(pod),
                  std::string("spec: {containers: [{name: c, image: i, ") + members + "}]}");
  }
  ProbeState& probe(ProbeKind kind) { return memory["c"].probes[static_cast<size_t>(kind)]; }
};

constexpr const char* kReadiness = "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 10}";
constexpr const char* kLiveness =
    "livenessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 5, terminationGracePeriodSeconds: "
    "7}";
constexpr const char* kStartup =
    "startupProbe: {tcpSocket: {port: 80}}, livenessProbe: {tcpSocket: {port: 80}}, "
    "readinessProbe: {tcpSocket: {port: 80}}";
constexpr const char* kHooks =
    "lifecycle: {postStart: {exec: {command: [a]}}, preStop: {exec: {command: [b]}}}";
constexpr const char* kDeleted =
    "metadata: {deletionTimestamp: '2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}";

struct Case {
  const char* about;
  std::function<void(World&)> change;
  const char* plan;
  const char* health = nullptr;  // "started ready" of c; null: not asked
  const char* event = nullptr;   // the last one's message
};

const Case kCases[] = {
    {"without probes what runs is ready", [](World&) {}, "status Running", "true true"},
    {"a readiness probe is asked at once, and until it answers the container is not ready",
     [](World& w) { w.has(kReadiness); }, "probe c readiness, status Running", "true false"},
    {"one question at a time",
     [](World& w) {
       w.has(kReadiness);
       w.probe(ProbeKind::Readiness).under_way = true;
     },
     "status Running", "true false"},
    {"a good answer makes it ready until the next question is due",
     [](World& w) {
       w.has(kReadiness);
       w.probe(ProbeKind::Readiness).healthy = true;
       w.probe(ProbeKind::Readiness).next = kPlanNow + std::chrono::seconds(4);
     },
     "status Running", "true true"},
    {"a server that has forgotten believes the stored status of the same run",
     [](World& w) {
       w.has(kReadiness);
       w.pod = changed(std::move(w.pod),
                       "status: {containerStatuses: [{name: c, containerID: 'trainyard://u/c/0', "
                       "ready: true, started: true, state: {running: {}}}]}");
     },
     "probe c readiness, status Running", "true true"},
    {"but not that of an earlier run",
     [](World& w) {
       w.has(kReadiness);
       w.kept.runs[0].run = w.memory["c"].run = 1;
       w.pod = changed(std::move(w.pod),
                       "status: {containerStatuses: [{name: c, containerID: 'trainyard://u/c/0', "
                       "ready: true, started: true, state: {running: {}}}]}");
     },
     "probe c readiness, status Running", "true false"},
    {"the first question waits for its delay",
     [](World& w) {
       w.has(kLiveness);
       w.kept.runs[0].started = ago(3);
     },
     "status Running", "true true"},
    {"a clock set back holds no probe up",
     [](World& w) {
       w.has(kLiveness);
       w.probe(ProbeKind::Liveness).next = kPlanNow + std::chrono::hours(1);
     },
     "probe c liveness, status Running", "true true"},
    {"a startup probe comes before the others", [](World& w) { w.has(kStartup); },
     "probe c startup, status Running", "false false"},
    {"and lets them begin",
     [](World& w) {
       w.has(kStartup);
       w.probe(ProbeKind::Startup).healthy = true;
     },
     "probe c liveness, probe c readiness, status Running", "true false"},
    {"a failed liveness probe ends the container",
     [](World& w) {
       w.has(kLiveness);
       w.probe(ProbeKind::Liveness).healthy = false;
     },
     "signal c 15, status Running", "true true",
     "Container c failed liveness probe, will be restarted"},
    {"under Never nothing is said of a restart",
     [](World& w) {
       w.pod = changed(std::move(w.pod), "spec: {restartPolicy: Never}");
       w.has(kStartup);
       w.probe(ProbeKind::Startup).healthy = false;
     },
     "signal c 15, status Running", "false false", "Container c failed startup probe"},
    {"it has the probe's grace",
     [](World& w) {
       w.has(kLiveness);
       w.probe(ProbeKind::Liveness).healthy = false;
       w.memory["c"].end_began = ago(8);
       w.memory["c"].told_to_end = true;
     },
     "signal c 9, status Running"},
    {"a deletion stops liveness probes, not readiness probes",
     [](World& w) {
       w.has((std::string(kLiveness) + ", " + kReadiness).c_str());
       w.pod = changed(std::move(w.pod), kDeleted);
     },
     "probe c readiness, signal c 15, status Running"},
    {"a postStart hook holds the container back", [](World& w) { w.has(kHooks); },
     "postStart c, status Pending", "false false"},
    {"and is run once",
     [](World& w) {
       w.has(kHooks);
       w.memory["c"].post_start.stage = HookState::Stage::UnderWay;
     },
     "status Pending", "false false"},
    {"after it the container runs",
     [](World& w) {
       w.has(kHooks);
       w.memory["c"].post_start.stage = HookState::Stage::Done;
     },
     "status Running", "true true"},
    {"a hook that a stored status shows as over is not run again",
     [](World& w) {
       w.has(kHooks);
       w.pod = changed(std::move(w.pod),
                       "status: {containerStatuses: [{name: c, containerID: 'trainyard://u/c/0', "
                       "state: {running: {}}}]}");
     },
     "status Running", "true true"},
    {"a failed postStart hook ends the container, by way of preStop",
     [](World& w) {
       w.has(kHooks);
       w.memory["c"].post_start.stage = HookState::Stage::Failed;
     },
     "preStop c, status Running", "false false", "FailedPostStartHook"},
    {"a deletion begins with preStop",
     [](World& w) {
       w.has("lifecycle: {preStop: {sleep: {seconds: 5}}}");
       w.pod = changed(std::move(w.pod), kDeleted);
     },
     "preStop c, status Running", nullptr, "Started container c"},
    {"its signal waits for the hook",
     [](World& w) {
       w.has("lifecycle: {preStop: {sleep: {seconds: 5}}}");
       w.pod = changed(std::move(w.pod), kDeleted);
       w.memory["c"].end_began = ago(1);
       w.memory["c"].pre_stop.stage = HookState::Stage::UnderWay;
     },
     "status Running"},
    {"and follows it, whatever it said",
     [](World& w) {
       w.has("lifecycle: {preStop: {sleep: {seconds: 5}}, stopSignal: SIGUSR1}");
       w.pod = changed(std::move(w.pod), kDeleted);
       w.memory["c"].end_began = ago(1);
       w.memory["c"].pre_stop = {HookState::Stage::Failed, kPlanNow};
     },
     "signal c 10, status Running"},
    {"a hook that took all the grace leaves two seconds",
     [](World& w) {
       w.has("lifecycle: {preStop: {sleep: {seconds: 5}}}");
       w.pod = changed(std::move(w.pod),
                       "metadata: {deletionTimestamp: '2023-11-14T22:13:00Z', "
                       "deletionGracePeriodSeconds: 5}");
       w.memory["c"].end_began = ago(5);
       w.memory["c"].pre_stop = {HookState::Stage::Done, ago(1)};
     },
     "signal c 15, status Running"},
    {"and then it is killed",
     [](World& w) {
       w.has("lifecycle: {preStop: {sleep: {seconds: 5}}}");
       w.pod = changed(std::move(w.pod),
                       "metadata: {deletionTimestamp: '2023-11-14T22:13:00Z', "
                       "deletionGracePeriodSeconds: 5}");
       w.memory["c"].end_began = ago(7);
       w.memory["c"].told_to_end = true;
       w.memory["c"].pre_stop = {HookState::Stage::Done, ago(2)};
     },
     "signal c 9, status Running"},
    {"without grace there is no hook",
     [](World& w) {
       w.has("lifecycle: {preStop: {sleep: {seconds: 5}}}");
       w.pod = changed(std::move(w.pod),
                       "metadata: {deletionTimestamp: '2023-11-14T22:13:00Z', "
                       "deletionGracePeriodSeconds: 0}");
     },
     "signal c 9, status Running"},
    {"a clock set back does not lengthen an end",
     [](World& w) {
       w.pod = changed(std::move(w.pod),
                       "metadata: {deletionTimestamp: '2023-11-14T23:13:50Z', "
                       "deletionGracePeriodSeconds: 30}");
       w.memory["c"].end_began = kPlanNow + std::chrono::hours(1);
       w.memory["c"].told_to_end = true;
     },
     "signal c 9, status Running"},
    {"an evicted pod is ended within a second",
     [](World& w) {
       w.eviction = Eviction{"Usage of EmptyDir", ago(2)};
     },
     "signal c 9, status Running"},
    {"a node that shuts down gives the grace, ten seconds at most",
     [](World& w) { w.node_ends = ago(1); }, "signal c 15, status Running"},
    {"and no more",
     [](World& w) {
       w.node_ends = ago(10);
       w.memory["c"].told_to_end = true;
       w.memory["c"].end_began = ago(10);
     },
     "signal c 9, status Running"},
    {"nothing begins on a node that shuts down",
     [](World& w) {
       w.record = nullptr;
       w.node_ends = kPlanNow;
     },
     "status Pending"},
};

TEST(PlanPodHealth, Table) {
  for (const Case& each : kCases) {
    World world;
    each.change(world);
    const PodPlan plan = plan_pod(world);
    EXPECT_EQ(to_text(plan), each.plan) << each.about;
    ASSERT_TRUE(plan.status) << each.about;
    const Json& status = list_at(*plan.status, {"containerStatuses"})[0];
    if (each.health != nullptr) {
      EXPECT_EQ(std::string(bool_at(status, {"started"}) ? "true" : "false") +
                    (bool_at(status, {"ready"}) ? " true" : " false"),
                each.health)
          << each.about;
    }
    if (each.event != nullptr) {
      bool told = false;
      for (const PodEvent& event : plan.events)
        told = told || event.message == each.event;
      EXPECT_TRUE(told) << each.about << ": no event says " << each.event;
    }
  }
}

// How pods end with their machine, or for using too much of it.
struct EndCase {
  const char* about;
  std::function<void(World&)> change;
  const char* phase;
  const char* reason;
  const char* disruption;  // the condition's status
};

ContainerExit exited(int code, bool lost = false) {
  return ContainerExit{code, false, lost, ago(1), ""};
}

const EndCase kEnds[] = {
    {"evicted for its disk",
     [](World& w) {
       w.eviction = Eviction{"Too much. ", ago(2)};
     },
     "Failed", "Evicted", ""},
    {"ended by a shutdown",
     [](World& w) {
       w.node_ends = ago(2);
       w.memory["c"].end_began = ago(2);
     },
     "Failed", "Terminated", "True"},
    {"ended by `down` without a server", [](World& w) { w.kept.node_end = NodeEnd::Shutdown; },
     "Failed", "Terminated", "True"},
    {"lost in a reboot",
     [](World& w) {
       w.kept.node_end = NodeEnd::Reboot;
       w.kept.runs[0].exit = exited(137, true);
     },
     "Failed", "NodeLost", "True"},
    {"done before the reboot",
     [](World& w) {
       w.kept.node_end = NodeEnd::Reboot;
       w.pod = changed(std::move(w.pod), "spec: {restartPolicy: Never}");
       w.kept.runs[0].exit = exited(0);
     },
     "Succeeded", "", ""},
    {"done before the shutdown",
     [](World& w) {
       w.node_ends = ago(1);
       w.pod = changed(std::move(w.pod), "spec: {restartPolicy: Never}");
       w.kept.runs[0].exit = exited(0);
     },
     "Succeeded", "", ""},
};

TEST(PlanPodHealth, HowAPodEndsWithItsMachine) {
  for (const EndCase& each : kEnds) {
    World world;
    world.kept.alive = false;
    world.kept.runs[0].exit = exited(143);
    each.change(world);
    const PodPlan plan = plan_pod(world);
    ASSERT_TRUE(plan.status) << each.about;
    EXPECT_EQ(text_at(*plan.status, {"phase"}), each.phase) << each.about;
    EXPECT_EQ(text_at(*plan.status, {"reason"}), each.reason) << each.about;
    const Json ended = JsonObject{{"status", *plan.status}};
    EXPECT_EQ(condition_status(ended, "DisruptionTarget"), each.disruption) << each.about;
  }
}

TEST(PlanPodHealth, ASidecarLetsTheOthersStartOnceItHasStarted) {
  World world;
  world.pod = changed(std::move(world.pod),
                      "spec: {initContainers: [{name: s, image: i, restartPolicy: Always, "
                      "startupProbe: {tcpSocket: {port: 1}}}]}");
  world.kept.runs.clear();
  world.run("s", 0);
  EXPECT_EQ(to_text(plan_pod(world)), "probe s startup, status Pending");
  world.memory["s"].probes[0].healthy = true;
  EXPECT_EQ(to_text(plan_pod(world)), "start c 0, status Pending");
}

TEST(PlanPodHealth, APostStartHookHoldsUpTheNextContainer) {
  World world;
  world.pod = changed(std::move(world.pod),
                      "spec: {containers: [{name: c, image: i, lifecycle: {postStart: {exec: "
                      "{command: [x]}}}}, {name: d, image: i}]}");
  EXPECT_EQ(to_text(plan_pod(world)), "postStart c, status Pending");
  world.memory["c"].post_start.stage = HookState::Stage::Done;
  EXPECT_EQ(to_text(plan_pod(world)), "start d 0, status Pending");
}

TEST(PlanPodHealth, ReadinessGatesAreAskedToo) {
  World world;
  world.pod = changed(std::move(world.pod), "spec: {readinessGates: [{conditionType: x.dev/go}]}");
  Json status = *plan_pod(world).status;
  Json shown = JsonObject{{"status", status}};
  EXPECT_EQ(condition_status(shown, "ContainersReady"), "True");
  EXPECT_EQ(condition_status(shown, "Ready"), "False");
  Json pod = *world.pod;
  status.as_object()["conditions"].as_array().push_back(
      JsonObject{{"type", "x.dev/go"}, {"status", "True"}});
  pod.as_object()["status"] = std::move(status);
  world.pod = std::move(pod);
  shown = JsonObject{{"status", *plan_pod(world).status}};
  EXPECT_EQ(condition_status(shown, "Ready"), "True");
}

}  // namespace
}  // namespace yard
