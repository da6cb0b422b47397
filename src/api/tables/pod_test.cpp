#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/table.h"
#include "api/tables.h"
#include "testing/objects.h"

namespace yard {
namespace {

struct Case {
  const char* about;
  const char* pod;    // spec and status; metadata is added
  const char* cells;  // READY|STATUS|RESTARTS
};

// The three cells that need thought, at 2024-01-01T00:10:00Z.
std::string three_cells(const Json& pod) {
  std::string text;
  append_rendered_cells(text, pod_cells(pod), *parse_rfc3339("2024-01-01T00:10:00Z"));
  Json row = parse_json(text)->value;
  return fmt::format("{}|{}|{}", std::string_view(row.at(1).as_string()),
                     std::string_view(row.at(2).as_string()),
                     std::string_view(row.at(3).as_string()));
}

const Case kCases[] = {
    {"just created, unscheduled", R"(
spec: {containers: [{name: c}]}
status: {phase: Pending})",
     "0/1|Pending|0"},
    {"bound, pulling or mounting", R"(
spec: {containers: [{name: c}]}
status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]})",
     "0/1|ContainerCreating|0"},
    {"two init containers, the first running", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}, {name: b}]}
status:
  phase: Pending
  initContainerStatuses: [{name: a, state: {running: {}}}, {name: b, state: {waiting: {reason: PodInitializing}}}]
  containerStatuses: [{name: c, state: {waiting: {reason: PodInitializing}}}])",
     "0/1|Init:0/2|0"},
    {"two init containers, the second about to start", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}, {name: b}]}
status:
  phase: Pending
  initContainerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {waiting: {reason: PodInitializing}}}])",
     "0/1|Init:1/2|0"},
    {"init done, app being created", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}]}
status:
  phase: Pending
  initContainerStatuses: [{name: a, state: {terminated: {exitCode: 0, reason: Completed}}}]
  containerStatuses: [{name: c, state: {waiting: {reason: PodInitializing}}}])",
     "0/1|PodInitializing|0"},
    {"an init container that failed says why", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}]}
status: {phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 1, reason: Error}}}]})",
     "0/1|Init:Error|0"},
    {"an init container that failed without a reason shows its exit code", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}]}
status: {phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 7}}}]})",
     "0/1|Init:ExitCode:7|0"},
    {"an init container ended by a signal shows the signal", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}]}
status: {phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 137, signal: 9}}}]})",
     "0/1|Init:Signal:9|0"},
    {"an init container in a crash loop counts its restarts", R"(
spec: {containers: [{name: c}], initContainers: [{name: a}]}
status:
  phase: Pending
  initContainerStatuses:
  - {name: a, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, finishedAt: "2024-01-01T00:09:30Z"}}})",
     "0/1|Init:CrashLoopBackOff|2 (30s ago)"},
    {"running and ready", R"(
spec: {containers: [{name: c}]}
status: {phase: Running, containerStatuses: [{name: c, ready: true, state: {running: {}}}]})",
     "1/1|Running|0"},
    {"a sidecar counts among the containers", R"(
spec: {containers: [{name: c}], initContainers: [{name: s, restartPolicy: Always}]}
status:
  phase: Running
  initContainerStatuses: [{name: s, started: true, ready: true, restartCount: 1, state: {running: {}}}]
  containerStatuses: [{name: c, ready: true, state: {running: {}}}])",
     "2/2|Running|1"},
    {"a sidecar that has not started holds the pod back", R"(
spec: {containers: [{name: c}], initContainers: [{name: s, restartPolicy: Always}]}
status: {phase: Pending, initContainerStatuses: [{name: s, started: false, state: {running: {}}}]})",
     "0/2|Init:0/1|0"},
    {"exited 0, never restarted", R"(
spec: {containers: [{name: c}]}
status: {phase: Succeeded, containerStatuses: [{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}]})",
     "0/1|Completed|0"},
    {"exited 1, never restarted", R"(
spec: {containers: [{name: c}]}
status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 1, reason: Error}}}]})",
     "0/1|Error|0"},
    {"killed for memory", R"(
spec: {containers: [{name: c}]}
status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]})",
     "0/1|OOMKilled|0"},
    {"an exit without a reason shows the code", R"(
spec: {containers: [{name: c}]}
status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]})",
     "0/1|ExitCode:3|0"},
    {"crash loop", R"(
spec: {containers: [{name: c}]}
status:
  phase: Running
  containerStatuses:
  - {name: c, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, finishedAt: "2024-01-01T00:09:48Z"}}})",
     "0/1|CrashLoopBackOff|3 (12s ago)"},
    {"evicted", R"(
spec: {containers: [{name: c}]}
status: {phase: Failed, reason: Evicted})",
     "0/1|Evicted|0"},
    {"past the pod's deadline", R"(
spec: {containers: [{name: c}]}
status: {phase: Failed, reason: DeadlineExceeded})",
     "0/1|DeadlineExceeded|0"},
    {"a container's own reason wins over the pod's", R"(
spec: {containers: [{name: c}]}
status: {phase: Failed, reason: DeadlineExceeded, containerStatuses: [{name: c, state: {terminated: {exitCode: 137, reason: Error}}}]})",
     "0/1|Error|0"},
    {"the earliest container that is not running has the last word", R"(
spec: {containers: [{name: a}, {name: b}]}
status:
  phase: Running
  containerStatuses:
  - {name: a, state: {terminated: {exitCode: 1, reason: Error}}}
  - {name: b, state: {waiting: {reason: CrashLoopBackOff}}})",
     "0/2|Error|0"},
    {"one container done, another running, pod ready", R"(
spec: {containers: [{name: a}, {name: b}]}
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
  containerStatuses:
  - {name: a, state: {terminated: {exitCode: 0, reason: Completed}}}
  - {name: b, ready: true, state: {running: {}}})",
     "1/2|Running|0"},
    {"one container done, another running, pod not ready", R"(
spec: {containers: [{name: a}, {name: b}]}
status:
  phase: Running
  containerStatuses:
  - {name: a, state: {terminated: {exitCode: 0, reason: Completed}}}
  - {name: b, ready: true, state: {running: {}}})",
     "1/2|NotReady|0"},
    {"held back by a scheduling gate", R"(
spec: {containers: [{name: c}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]})",
     "0/1|SchedulingGated|0"},
    {"being deleted while running", R"(
metadata: {deletionTimestamp: "2024-01-01T00:09:00Z"}
spec: {containers: [{name: c}]}
status: {phase: Running, containerStatuses: [{name: c, ready: true, state: {running: {}}}]})",
     "1/1|Terminating|0"},
    {"being deleted after the end keeps its end", R"(
metadata: {deletionTimestamp: "2024-01-01T00:09:00Z"}
spec: {containers: [{name: c}]}
status: {phase: Succeeded, containerStatuses: [{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}]})",
     "0/1|Completed|0"},
    {"being deleted on a lost node", R"(
metadata: {deletionTimestamp: "2024-01-01T00:09:00Z"}
spec: {containers: [{name: c}]}
status: {phase: Running, reason: NodeLost})",
     "0/1|Unknown|0"},
    {"a pod with nothing in it still has a row", "{}", "0/0||0"},
    {"members of the wrong type are as good as absent", R"(
spec: {containers: x, initContainers: 3}
status: {phase: 1, conditions: {}, containerStatuses: [1, null], initContainerStatuses: [[], x]})",
     "0/0|Init:0/0|0"},
};

TEST(PodTable, ShowsEachSituation) {
  for (const Case& c : kCases)
    EXPECT_EQ(three_cells(yaml(c.pod)), c.cells) << c.about;
}

TEST(PodTable, WideCellsSayNoneWhereThereIsNothing) {
  std::string text;
  append_rendered_cells(text, pod_cells(yaml("metadata: {name: p}")), Time{});
  EXPECT_EQ(text, R"(["p","0/0","","0","<unknown>","<none>","<none>","<none>","<none>"])");
}

TEST(PodTable, WideCellsShowAddressNodeAndGates) {
  Json pod = yaml(R"(
metadata: {name: p, creationTimestamp: "2024-01-01T00:00:00Z"}
spec: {nodeName: n1, readinessGates: [{conditionType: a}, {conditionType: b}]}
status: {podIPs: [{ip: 10.1.2.3}], nominatedNodeName: n2, conditions: [{type: a, status: "True"}]})");
  std::string text;
  append_rendered_cells(text, pod_cells(pod), *parse_rfc3339("2024-01-01T00:10:00Z"));
  EXPECT_EQ(text, R"(["p","0/0","","0","10m","10.1.2.3","n1","n2","1/2"])");
}

}  // namespace
}  // namespace yard
