#include "cli/why.h"

#include <gtest/gtest.h>

#include "cli/fake_connection.h"
#include "cli/follow.h"
#include "cli/logs.h"
#include "cli/run.h"
#include "cli/wait.h"
#include "cli/workload.h"
#include "json/yaml.h"

namespace yard {
namespace {

Json yaml(std::string_view text) {
  auto parsed = parse_yaml(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed && !parsed->empty() ? parsed->front().parsed.value : Json();
}

// `given` is the world in YAML; a Pod asked about is among the pods.
WhyWorld world_of(std::string_view given) {
  const Json tree = yaml(given);
  WhyWorld world;
  if (const Json* object = find(tree, "object")) world.object = *object;
  const auto take = [&](const char* key, std::vector<Json>& out) {
    if (const Json* list = find(tree, key); list != nullptr && list->is_array())
      out.assign(list->get_array().begin(), list->get_array().end());
  };
  take("pods", world.pods);
  take("events", world.events);
  take("nodes", world.nodes);
  take("claims", world.claims);
  take("classes", world.storage_classes);
  if (text_at(world.object, {"kind"}) == "Pod") world.pods.push_back(world.object);
  world.last_lines["p/c"] = "one\ntwo\n";
  return world;
}

std::string pod(std::string_view status, std::string_view spec = "nodeName: one") {
  return "{kind: Pod, metadata: {name: p}, spec: {" + std::string(spec) + "}, status: {" +
         std::string(status) + "}}";
}

std::string unschedulable(std::string_view message) {
  return "object: " + pod("phase: Pending, conditions: [{type: PodScheduled, status: 'False', "
                          "reason: Unschedulable, message: '" +
                              std::string(message) + "'}]",
                          "containers: []");
}

std::string ended(std::string_view terminated, std::string_view more = "") {
  return "object: " + pod("phase: Failed, containerStatuses: [{name: c, restartCount: 0, state: "
                          "{terminated: {" +
                              std::string(terminated) + "}}}]",
                          "nodeName: one, containers: [{name: c" + std::string(more) + "}]");
}

std::string job(std::string_view status, std::string_view spec = "") {
  return "object: {kind: Job, metadata: {name: j}, spec: {" + std::string(spec) + "}, status: {" +
         std::string(status) + "}}";
}

TEST(Why, OneSentenceAndWhatMendsIt) {
  struct Case {
    const char* about;
    std::string given;
    const char *sentence, *command;
  };
  const Case cases[] = {
      {"more CPU than there is",
       unschedulable("0/1 nodes are available: 1 Insufficient cpu. (cpu: 8 asked, the node has 2: "
                     "ask for less, or `trainyard restart --capacity cpu=8`)"),
       "pod p fits no node: cpu: 8 asked, the node has 2: ask for less, or `trainyard restart "
       "--capacity cpu=8`",
       "trainyard restart --capacity cpu=8"},
      {"memory that others have",
       unschedulable("0/1 nodes are available: 1 Insufficient memory. (memory: 3Gi asked, 1Gi of "
                     "4Gi free)"),
       "pod p fits no node: memory: 3Gi asked, 1Gi of 4Gi free", "trainyard get pods -A"},
      {"a label no node has",
       unschedulable("0/1 nodes are available (`kubectl label node n a=b` adds what is asked for)"),
       "pod p fits no node: `kubectl label node n a=b` adds what is asked for",
       "kubectl label node n a=b"},
      {"another scheduler's words", unschedulable("0/3 nodes are available"),
       "pod p fits no node: 0/3 nodes are available", "trainyard get pods -A"},
      {"a storage class that is not here",
       "object: " + pod("phase: Pending", "volumes: [{persistentVolumeClaim: {claimName: data}}]") +
           "\nclaims: [{metadata: {name: data}, spec: {storageClassName: gp2, resources: "
           "{requests: {storage: 5Gi}}}, status: {phase: Pending}}]\nclasses: [{metadata: {name: "
           "local}}]",
       "pod p waits for the volume claim \"data\" (5Gi): it wants storageClassName \"gp2\", which "
       "is not here (there is local)",
       "take storageClassName out of the claim or make it local, then: trainyard delete pvc data "
       "&& trainyard apply -f CLAIM.yaml"},
      {"a claim that does not exist",
       "object: " + pod("phase: Pending", "volumes: [{persistentVolumeClaim: {claimName: data}}]"),
       "pod p waits for the volume claim \"data\", which does not exist",
       "trainyard apply -f CLAIM.yaml"},
      {"no node", "object: " + pod("phase: Pending", "containers: []"),
       "pod p waits for a node, and there are 0 nodes", "trainyard info"},
      {"gates",
       "object: " + pod("phase: Pending, conditions: [{type: PodScheduled, status: 'False', "
                        "reason: SchedulingGated}]",
                        "schedulingGates: [{name: a}, {name: b}]"),
       "pod p is held by 2 scheduling gates: a, b", "whoever set a gate takes it away"},
      {"a refused image",
       "object: " + pod("phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: "
                        "ErrImageNeverPull, message: m}}}]"),
       "container c of pod p has no image to run (ErrImageNeverPull): m",
       "map the image under images.map in config.yaml, or set imagePullPolicy to IfNotPresent"},
      {"a registry's refusal brings its mend",
       "object: " + pod("phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: "
                        "ImagePullBackOff, message: 'r.io answers 401: no; to mend it, log in'}}}]"),
       "container c of pod p has no image to run (ImagePullBackOff): r.io answers 401: no", "log in"},
      {"a crash loop",
       "object: " + pod("phase: Running, containerStatuses: [{name: c, restartCount: 4, state: "
                        "{waiting: {reason: CrashLoopBackOff, message: 'back-off 40s restarting "
                        "failed container=c'}}, lastState: {terminated: {exitCode: 1, reason: "
                        "Error}}}]"),
       "container c of pod p ended with exit code 1 (an error of the program's own), 4 restarts so "
       "far, and is tried again after a back-off 40s",
       "trainyard logs pod/p"},
      {"out of memory",
       ended("exitCode: 137, reason: OOMKilled", ", resources: {limits: {memory: 1Gi}}"),
       "container c of pod p was killed for using more memory than its limit of 1Gi",
       "raise resources.limits.memory, or use a smaller batch"},
      {"killed, but not for memory", ended("exitCode: 137, reason: Error"),
       "container c of pod p ended with exit code 137 (killed, SIGKILL: it did not end in its "
       "grace, or something outside ended it)",
       "trainyard logs pod/p"},
      {"a command that is not there",
       ended("exitCode: 128, reason: StartError, message: 'exec: \"pyton\": executable file not "
             "found in $PATH'"),
       "container c of pod p could not be started (exit code 128): exec: \"pyton\": executable "
       "file not found in $PATH",
       "correct command and args in the YAML, or map the image to an environment that has the "
       "program (images.map in config.yaml)"},
      {"a shell that finds no command", ended("exitCode: 127, reason: Error"),
       "container c of pod p ended with exit code 127 (the command was not found)",
       "correct command and args in the YAML, or map the image to an environment that has the "
       "program (images.map in config.yaml)"},
      {"a config that names what is not there",
       "object: " + pod("phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: "
                        "CreateContainerConfigError, message: 'secret \"s\" not found'}}}]"),
       "container c of pod p cannot be started (CreateContainerConfigError): secret \"s\" not "
       "found",
       "trainyard describe pod/p"},
      {"an init container at work",
       "object: " + pod("phase: Pending, initContainerStatuses: [{name: i, state: {running: {}}}]"),
       "pod p waits for its init container i to end", "trainyard logs -f pod/p -c i"},
      {"a probe that fails",
       "object: " +
           pod("phase: Running, containerStatuses: [{name: c, ready: false, state: "
               "{running: {}}}]") +
           "\nevents: [{reason: Unhealthy, involvedObject: {name: p}, message: 'Readiness probe "
           "failed: 503'}]",
       "container c of pod p runs but is not ready: Readiness probe failed: 503",
       "trainyard logs pod/p"},
      {"a volume that cannot be made",
       "object: " + pod("phase: Pending") +
           "\nevents: [{reason: FailedMount, involvedObject: {name: p}, message: 'no such "
           "folder'}]",
       "pod p waits for a volume: no such folder", "trainyard describe pod/p"},
      {"a deletion that is held",
       "object: {kind: Job, metadata: {name: j, deletionTimestamp: '2026-01-01T00:00:00Z', "
       "finalizers: [a/b]}}",
       "job j is being deleted and held by 1 finalizer: a/b",
       "whoever set them takes them off when done; by force: kubectl patch job j --type=merge -p "
       "'{\"metadata\":{\"finalizers\":null}}'"},
      {"too many failures",
       job("failed: 3, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]",
           "backoffLimit: 2"),
       "job j failed: 3 pods failed and its backoffLimit is 2", "trainyard logs job/j"},
      {"too long",
       job("conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]",
           "activeDeadlineSeconds: 5"),
       "job j failed: it ran longer than its activeDeadlineSeconds of 5",
       "raise activeDeadlineSeconds"},
      {"suspended", job("conditions: [{type: Suspended, status: 'True'}]"),
       "job j is suspended: it has 0 pods until it is resumed",
       "kubectl patch job j --type=merge -p '{\"spec\":{\"suspend\":false}}'"},
      {"a quota",
       job("") + "\nevents: [{reason: FailedCreate, involvedObject: {name: j}, message: 'Error "
                 "creating: pods \"j-1\" is forbidden: exceeded quota: q, requested: pods=1, used: "
                 "pods=2, limited: pods=2'}]",
       "pods of job j wait for room in the quota q, requested: pods=1, used: pods=2, limited: "
       "pods=2",
       "free some, or raise it: kubectl edit quota q"},
      {"all is well", job("active: 1") + "\npods: [" + pod("phase: Running") + "]",
       "job j is running: 1 running, 0 pending, 0 ended", ""},
      {"it is done", job("conditions: [{type: Complete, status: 'True'}]"), "job j succeeded", ""},
  };
  for (const Case& each : cases) {
    const std::vector<Finding> found = findings_of(world_of(each.given));
    ASSERT_FALSE(found.empty()) << each.about;
    EXPECT_EQ(found.front().sentence, each.sentence) << each.about;
    EXPECT_EQ(found.front().command, each.command) << each.about;
  }
}

TEST(Why, LastLinesStandBesideAnEnd) {
  const auto found = findings_of(world_of(ended("exitCode: 1, reason: Error")));
  EXPECT_EQ(findings_text(found, false),
            "container c of pod p ended with exit code 1 (an error of the program's own)\n"
            "    | one\n    | two\n  mend: trainyard logs pod/p\n");
}

TEST(Why, EqualTroubleOfManyPodsIsSaidOnce) {
  const auto trouble = [](const char* name) {
    return std::string("{kind: Pod, metadata: {name: ") + name +
           "}, spec: {}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "
           "'False', message: full}]}}";
  };
  const auto found = findings_of(world_of(job("") + "\npods: [" + trouble("j-0") + ", " +
                                          trouble("j-1") + ", " + trouble("j-2") + "]"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sentence, "pod j-0 fits no node: full (and 2 more pods like it)");
}

TEST(Workload, HowAnObjectFares) {
  using State = Standing::State;
  struct Case {
    const char* object;
    State state;
  };
  const Case cases[] = {
      {"{status: {phase: Running}}", State::Running},
      {"{status: {phase: Succeeded}}", State::Succeeded},
      {"{status: {conditions: [{type: Running, status: 'False'}, {type: Succeeded, status: "
       "'True'}]}}",
       State::Succeeded},
      {"{status: {conditions: [{type: SuccessCriteriaMet, status: 'True'}], active: 1}}",
       State::Running},
      {"{status: {conditions: [{type: FailureTarget, status: 'True'}]}}", State::Waiting},
      {"{status: {conditions: [{type: Failed, status: 'True'}]}}", State::Failed},
      {"{spec: {suspend: true}}", State::Suspended},
      {"{spec: {runPolicy: {suspend: true}}}", State::Suspended},
      {"{}", State::Waiting},
  };
  for (const Case& each : cases)
    EXPECT_EQ(standing_of(yaml(each.object)).state, each.state) << each.object;
}

TEST(Workload, WhatPodsAreCalled) {
  struct Case {
    const char *pod, *rank;
  };
  const Case cases[] = {
      {"{metadata: {name: t-0-x, annotations: {batch.kubernetes.io/job-completion-index: '0'}}}",
       "0"},
      {"{metadata: {name: t-w, labels: {training.kubeflow.org/replica-type: Worker, "
       "training.kubeflow.org/replica-index: '1'}}}",
       "worker-1"},
      {"{metadata: {name: t-x7k2p}}", "x7k2p"},
      {"{metadata: {name: other}}", "other"},
      {"{metadata: {name: t}}", "t"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(rank_of(yaml(each.pod), "t"), each.rank) << each.pod;
  std::vector<Json> pods;
  for (const char* index : {"10", "9", "1"})
    pods.push_back(yaml(std::string("{metadata: {annotations: "
                                    "{batch.kubernetes.io/job-completion-index: '") +
                        index + "'}}}"));
  sort_by_rank(pods, "t");
  EXPECT_EQ(rank_of(pods[0], "t") + rank_of(pods[1], "t") + rank_of(pods[2], "t"), "1910");
}

TEST(Workload, WhatIsFollowedAndAnnotated) {
  const Json trained = yaml(
      "{kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: "
      "[{}]}}}, Worker: {template: {metadata: {annotations: {a: b}}, spec: {containers: "
      "[{}]}}}}}}");
  EXPECT_TRUE(runs_to_an_end(trained));
  EXPECT_FALSE(runs_to_an_end(yaml("{kind: CronJob, spec: {x: {spec: {containers: []}}}}")));
  EXPECT_FALSE(runs_to_an_end(yaml("{kind: ConfigMap, data: {containers: x}}")));
  const Json marked = with_annotation(trained, "k", "v");
  for (const char* type : {"Master", "Worker"}) {
    EXPECT_EQ(text_at(marked, {"spec", "pytorchReplicaSpecs", type, "template", "metadata",
                               "annotations", "k"}),
              "v");
  }
  EXPECT_EQ(text_at(with_annotation(yaml("{kind: Pod, spec: {containers: []}}"), "k", "v"),
                    {"metadata", "annotations", "k"}),
            "v");
}

TEST(Logs, MergedByTime) {
  const std::vector<LogText> logs{
      {"0", "2026-01-01T00:00:01.000000000Z a\n2026-01-01T00:00:03.000000000Z c\n"},
      {"worker", "2026-01-01T00:00:02.000000000Z b\n2026-01-01T00:00:02.500000000Z \n"}};
  EXPECT_EQ(merged_logs(logs, {true, false, false}),
            "[0]      a\n[worker] b\n[worker] \n[0]      c\n");
  EXPECT_EQ(merged_logs({logs[0]}, {false, false, false}), "a\nc\n");
  EXPECT_EQ(merged_logs({logs[0]}, {false, true, false}),
            "2026-01-01T00:00:01.000000000Z a\n2026-01-01T00:00:03.000000000Z c\n");
}

TEST(Follow, Lines) {
  EXPECT_EQ(prefixed_line({"0", 3, -1}, "loss 1"), "[0]   loss 1");
  EXPECT_EQ(prefixed_line({"한", 2, -1}, "x"), "[한] x");
  EXPECT_EQ(prefixed_line({"0", 1, 0}, "x"), "\033[36m[0]\033[0m x");
  EXPECT_EQ(prefixed_line({"0", 1, -1}, " 10%\r 50%\r100%\r"), "[0] 100%");
  EXPECT_EQ(elapsed_text(std::chrono::seconds(65)), "1m05s");
  EXPECT_EQ(elapsed_text(std::chrono::seconds(7322)), "2h02m");
  EXPECT_EQ(shortened("가나다", 5), "가나");
  EXPECT_EQ(shortened("abc", 5), "abc");
}

TEST(Wait, Goals) {
  struct Case {
    const char *goal, *object;
    bool reached;
  };
  const char* const done =
      "{status: {phase: Running, conditions: [{type: Complete, status: "
      "'True'}, {type: Ready, status: 'False'}]}}";
  const Case cases[] = {
      {"condition=Complete", done, true}, {"condition=complete", done, true},
      {"condition=Ready", done, false},   {"condition=Ready=false", done, true},
      {"phase=running", done, true},      {"finished", done, true},
      {"condition=Failed", done, false},  {"delete", done, false},
  };
  for (const Case& each : cases) {
    const auto goal = parse_wait_goal(each.goal);
    ASSERT_TRUE(goal.has_value()) << each.goal;
    EXPECT_EQ(is_reached(*goal, yaml(each.object)), each.reached) << each.goal;
  }
  EXPECT_FALSE(parse_wait_goal("condition=").has_value());
  EXPECT_FALSE(parse_wait_goal("sometime").has_value());
}

}  // namespace
}  // namespace yard
