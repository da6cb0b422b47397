#include "node/plan_pod.h"

#include <set>

#include <gtest/gtest.h>

#include "api/tree.h"
#include "node/plan_pod_testing.h"
#include "testing/objects.h"

namespace yard {
namespace {

ContainerRun running(const char* container, int run, int started_ago) {
  ContainerRun out;
  out.container = container;
  out.run = run;
  out.pid = 7;
  out.started = ago(started_ago);
  return out;
}

ContainerRun ended(const char* container, int run, int code, int ended_ago = 0) {
  ContainerRun out = running(container, run, ended_ago + 1);
  out.exit = ContainerExit{code, false, false, ago(ended_ago), ""};
  return out;
}

constexpr const char* kInit = "spec: {initContainers: [{name: a, image: i}, {name: b, image: i}]}";
constexpr const char* kSidecar =
    "spec: {initContainers: [{name: s, image: i, restartPolicy: Always}]}";
constexpr const char* kNever = "spec: {restartPolicy: Never}";
constexpr const char* kOnFailure = "spec: {restartPolicy: OnFailure}";

constexpr const char* kDebugger = "spec: {ephemeralContainers: [{name: d, image: i}]}";

struct Case {
  const char* about;
  std::vector<const char*> changes;
  std::vector<ContainerRun> runs;
  enum { NoRecord, Alive, Dead } record = Alive;
  const char* plan;
  std::set<std::string> told = {};
};

const Case kCases[] = {
    {"a bound pod gets its shim", {}, {}, Case::NoRecord, "start pod, status Pending"},
    {"with its shim up its containers start", {}, {}, Case::Alive, "start c 0, status Pending"},
    {"a running container makes it Running",
     {},
     {running("c", 0, 1)},
     Case::Alive,
     "status Running"},
    {"under Always an exit restarts at once",
     {},
     {ended("c", 0, 0)},
     Case::Alive,
     "start c 1, status Running"},
    {"the second exit waits",
     {},
     {ended("c", 0, 1, 20), ended("c", 1, 1, 5)},
     Case::Alive,
     "status Running"},
    {"and starts again after ten seconds",
     {},
     {ended("c", 0, 1, 30), ended("c", 1, 1, 10)},
     Case::Alive,
     "start c 2, status Running"},
    {"under OnFailure success ends the shim",
     {kOnFailure},
     {ended("c", 0, 0)},
     Case::Alive,
     "stop, status Running"},
    {"and then the pod has succeeded",
     {kOnFailure},
     {ended("c", 0, 0)},
     Case::Dead,
     "status Succeeded"},
    {"under OnFailure a failure restarts",
     {kOnFailure},
     {ended("c", 0, 3)},
     Case::Alive,
     "start c 1, status Running"},
    {"under Never a failure fails the pod",
     {kNever},
     {ended("c", 0, 3)},
     Case::Dead,
     "status Failed"},
    {"under Never one of two that runs keeps it Running",
     {kNever, "spec: {containers: [{name: c, image: i}, {name: d, image: i}]}"},
     {ended("c", 0, 1), running("d", 0, 5)},
     Case::Alive,
     "status Running"},
    {"a debugger starts beside containers that run, once",
     {kDebugger},
     {running("c", 0, 5)},
     Case::Alive,
     "start d 0, status Running"},
    {"and not before them", {kDebugger}, {}, Case::Alive, "start c 0, status Pending"},
    {"its end changes nothing, whatever the policy",
     {kDebugger},
     {running("c", 0, 5), ended("d", 0, 7)},
     Case::Alive,
     "status Running"},
    {"what it does keeps no pod from its end",
     {kNever, kDebugger},
     {ended("c", 0, 0), running("d", 0, 5)},
     Case::Alive,
     "signal d 15, status Running",
     {}},
    {"the first init container goes alone", {kInit}, {}, Case::Alive, "start a 0, status Pending"},
    {"the second follows success",
     {kInit},
     {ended("a", 0, 0)},
     Case::Alive,
     "start b 0, status Pending"},
    {"containers wait for init containers",
     {kInit},
     {ended("a", 0, 0), running("b", 0, 1)},
     Case::Alive,
     "status Pending"},
    {"and start after the last",
     {kInit},
     {ended("a", 0, 0), ended("b", 0, 0)},
     Case::Alive,
     "start c 0, status Pending"},
    {"under Never a failed init container ends the pod",
     {kInit, kNever},
     {ended("a", 0, 1)},
     Case::Alive,
     "stop, status Pending"},
    {"which then has failed", {kInit, kNever}, {ended("a", 0, 1)}, Case::Dead, "status Failed"},
    {"under Always a failed init container is tried again",
     {kInit},
     {ended("a", 0, 1)},
     Case::Alive,
     "start a 1, status Pending"},
    {"a sidecar that runs lets the others start",
     {kSidecar},
     {running("s", 0, 1)},
     Case::Alive,
     "start c 0, status Pending"},
    {"a sidecar is ended after the work",
     {kSidecar, kNever},
     {running("s", 0, 9), ended("c", 0, 0)},
     Case::Alive,
     "signal s 15, status Running"},
    {"a deletion sends SIGTERM",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}"},
     {running("c", 0, 60)},
     Case::Alive,
     "signal c 15, status Running"},
    {"and SIGTERM only once",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}"},
     {running("c", 0, 60)},
     Case::Alive,
     "status Running",
     {"c"}},
    {"not yet SIGKILL in the second its timestamp lost",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:20Z', deletionGracePeriodSeconds: 30}"},
     {running("c", 0, 60)},
     Case::Alive,
     "status Running",
     {"c"}},
    {"and SIGKILL when its grace is over",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:19Z', deletionGracePeriodSeconds: 30}"},
     {running("c", 0, 60)},
     Case::Alive,
     "signal c 9, status Running",
     {"c"}},
    {"a deleted pod restarts nothing",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}"},
     {ended("c", 0, 1)},
     Case::Alive,
     "stop, status Running"},
    {"a deleted pod ends in a terminal phase",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}"},
     {ended("c", 0, 143)},
     Case::Dead,
     "status Failed"},
    {"a pod deleted before it ran has failed",
     {"metadata: {deletionTimestamp: '2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}"},
     {},
     Case::NoRecord,
     "status Failed"},
    {"a finished pod leaves nothing here",
     {"status: {phase: Succeeded}"},
     {ended("c", 0, 0)},
     Case::Dead,
     "remove"},
    {"a finished pod that is being deleted goes",
     {"status: {phase: Succeeded}", "metadata: {deletionTimestamp: '2023-11-14T22:13:50Z'}"},
     {},
     Case::NoRecord,
     "delete"},
    {"the deadline ends it",
     {"spec: {activeDeadlineSeconds: 10}", "status: {startTime: '2023-11-14T22:13:10Z'}"},
     {running("c", 0, 10)},
     Case::Alive,
     "signal c 15, status Running"},
    {"after the deadline it has failed, whatever it said",
     {kNever, "spec: {activeDeadlineSeconds: 10}", "status: {startTime: '2023-11-14T22:13:10Z'}"},
     {ended("c", 0, 0)},
     Case::Dead,
     "status Failed"},
    {"a lost shim under Always is started again",
     {},
     {ended("c", 0, 137)},
     Case::Dead,
     "start pod, status Running"},
    {"a lost shim under Never fails the pod",
     {kNever},
     {ended("c", 0, 137)},
     Case::Dead,
     "status Failed"},
};

TEST(PlanPod, Table) {
  for (const Case& each : kCases) {
    PodWorld world;
    world.pod = yaml(kPlannedPod);
    for (const char* change : each.changes)
      world.pod = changed(std::move(world.pod), change);
    PodRecord record;
    record.alive = each.record == Case::Alive;
    record.runs = each.runs;
    world.record = each.record == Case::NoRecord ? nullptr : &record;
    world.now = kPlanNow;
    for (const std::string& container : each.told) {
      world.memory[container].told_to_end = true;
      world.memory[container].end_began = ago(1);
    }
    EXPECT_EQ(to_text(plan_pod(world)), each.plan) << each.about;
  }
}

PodPlan plan_of(const std::vector<ContainerRun>& runs, const char* change = "{}",
                bool shim_alive = true, PodWorld world = {}) {
  world.pod = changed(yaml(kPlannedPod), change);
  PodRecord record;
  record.alive = shim_alive;
  record.runs = runs;
  world.record = &record;
  world.now = kPlanNow;
  world.pod_ip = "127.64.0.1";
  world.host_ip = "127.0.0.1";
  return plan_pod(world);
}

TEST(PlanPod, ACrashLoopSaysHowLongItWaits) {
  const PodPlan plan = plan_of({ended("c", 0, 1, 20), ended("c", 1, 1, 5)});
  const Json& status = list_at(*plan.status, {"containerStatuses"})[0];
  EXPECT_EQ(text_at(status, {"state", "waiting", "reason"}), "CrashLoopBackOff");
  EXPECT_EQ(text_at(status, {"state", "waiting", "message"}),
            "back-off 10s restarting failed container=c pod=p_ns(u)");
  EXPECT_EQ(int_at(status, {"lastState", "terminated", "exitCode"}), 1);
  EXPECT_EQ(int_at(status, {"restartCount"}), 1);
  EXPECT_EQ(plan.look_again, ago(5) + std::chrono::seconds(10));
  EXPECT_EQ(plan.events.back().reason, "BackOff");
}

TEST(PlanPod, AStatusThatTheNextOvertakesMayWait) {
  struct Row {
    const char* about;
    std::vector<ContainerRun> runs;
    const char* plan;
    bool may_wait;
  };
  const Row rows[] = {
      {"only its shim is left", {ended("c", 0, 0)}, "stop, status Running", true},
      {"it runs", {running("c", 0, 3)}, "status Running", false},
      {"it begins", {}, "start c 0, status Pending", true},
  };
  for (const Row& row : rows) {
    const PodPlan plan =
        plan_of(row.runs, "{spec: {restartPolicy: Never}, status: {phase: Pending}}");
    EXPECT_EQ(to_text(plan), row.plan) << row.about;
    EXPECT_EQ(plan.status_may_wait, row.may_wait) << row.about;
  }
}

TEST(PlanPod, AStatusIsPutTogetherOnlyWhereItCanBeWritten) {
  struct Row {
    const char* about;
    std::vector<ContainerRun> runs;
    bool writing, can_wait;
    const char* plan;
    bool has_events;
  };
  const Row rows[] = {
      {"only its shim is left, and its end may be awaited",
       {ended("c", 0, 0)},
       false,
       true,
       "stop",
       false},
      {"it was awaited long enough",
       {ended("c", 0, 0)},
       false,
       false,
       "stop, status Running",
       true},
      {"it begins", {}, false, true, "start c 0", false},
      {"it runs: nothing follows soon", {running("c", 0, 3)}, false, true, "status Running", true},
      {"another is being stored", {running("c", 0, 3)}, true, true, "", false},
      {"deeds do not wait for that", {}, true, false, "start c 0", false},
  };
  for (const Row& row : rows) {
    PodWorld world;
    world.writing = row.writing;
    world.can_wait = row.can_wait;
    const PodPlan plan =
        plan_of(row.runs, "{spec: {restartPolicy: Never}, status: {phase: Pending}}", true, world);
    EXPECT_EQ(to_text(plan), row.plan) << row.about;
    EXPECT_EQ(!plan.events.empty(), row.has_events) << row.about;
  }
}

TEST(PlanPod, WhatOnlyTellsNeedsNoSecondLook) {
  struct Row {
    const char* about;
    std::vector<ContainerRun> runs;
    const char* change;
    bool only_tells;
  };
  const Row rows[] = {
      {"it runs", {running("c", 0, 3)}, "{}", true},
      {"it begins", {}, "{}", false},
      {"it has ended", {ended("c", 0, 0)}, "{spec: {restartPolicy: Never}}", false},
      {"it waits to be started again", {ended("c", 0, 1, 20), ended("c", 1, 1, 5)}, "{}", false},
      {"its deadline counts from this status",
       {running("c", 0, 3)},
       "{spec: {activeDeadlineSeconds: 60}}",
       false},
      {"it is asked how it is",
       {running("c", 0, 3)},
       "{spec: {containers: [{name: c, livenessProbe: {exec: {command: [a]}}}]}}",
       false},
      {"it is to go",
       {running("c", 0, 3)},
       "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}",
       false},
  };
  for (const Row& row : rows) {
    PodWorld world;
    world.pod = changed(yaml(kPlannedPod), row.change);
    EXPECT_EQ(only_tells(world, plan_of(row.runs, row.change)), row.only_tells) << row.about;
  }
  PodWorld starting;
  starting.pod = yaml(kPlannedPod);
  starting.requested["d"] = 0;
  EXPECT_FALSE(only_tells(starting, plan_of({running("c", 0, 3)}))) << "another is on its way";
}

TEST(PlanPod, AStatusThatStandsIsNotWrittenAgain) {
  const PodPlan first = plan_of({running("c", 0, 3)});
  PodWorld world;
  Json pod = yaml(kPlannedPod);
  pod.as_object()["status"] = *first.status;
  world.pod = std::move(pod);
  PodRecord record;
  record.alive = true;
  record.runs = {running("c", 0, 3)};
  world.record = &record;
  world.now = kPlanNow + std::chrono::seconds(9);
  world.pod_ip = "127.64.0.1";
  world.host_ip = "127.0.0.1";
  const PodPlan second = plan_pod(world);
  EXPECT_EQ(to_text(second), "");
  EXPECT_TRUE(second.events.empty());
}

TEST(PlanPod, ARunThatEndedBetweenTwoLooksIsAnnouncedAllTheSame) {
  const PodPlan plan = plan_of({ended("c", 0, 0)}, "spec: {restartPolicy: Never}");
  std::vector<std::string> reasons;
  for (const PodEvent& event : plan.events)
    reasons.push_back(event.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"Pulled", "Created", "Started"}));
  EXPECT_EQ(plan.events[0].field_path, "spec.containers{c}");
}

TEST(PlanPod, WhatWaitedForAFailedInitContainerGoesOnWaiting) {
  const PodPlan plan =
      plan_of({ended("a", 0, 1)},
              "spec: {restartPolicy: Never, initContainers: [{name: a, image: i}]}", false);
  EXPECT_EQ(text_at(*plan.status, {"phase"}), "Failed");
  EXPECT_EQ(
      text_at(list_at(*plan.status, {"containerStatuses"})[0], {"state", "waiting", "reason"}),
      "PodInitializing");
}

TEST(PlanPod, OutOfMemoryIsNamedWhateverTheCode) {
  ContainerRun run = ended("c", 0, 0);
  run.exit->out_of_memory = true;
  const PodPlan plan = plan_of({run}, "spec: {restartPolicy: Never}");
  EXPECT_EQ(
      text_at(list_at(*plan.status, {"containerStatuses"})[0], {"state", "terminated", "reason"}),
      "OOMKilled");
}

}  // namespace
}  // namespace yard
