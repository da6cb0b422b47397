// Tables of the Job's policies: what one pod, or one set of indexes, means.

#include <gtest/gtest.h>

#include "controllers/batch/accounting.h"
#include "controllers/batch/backoff.h"
#include "controllers/batch/pod_changes.h"
#include "controllers/batch/pod_failure_policy.h"
#include "controllers/batch/success_policy.h"
#include "controllers/batch/surplus_pods.h"
#include "testing/objects.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const Time kNow = from_unix_seconds(1'700'000'000);

JobFacts job_of(const std::string& spec, const std::string& status = "{}") {
  return job_facts(
      yaml("metadata: {name: j, namespace: ns, uid: u}\nspec: " + spec + "\nstatus: " + status));
}

PodFacts pod_of(const std::string& uid, PodPhase phase, std::optional<int> index = std::nullopt) {
  PodFacts pod;
  pod.uid = pod.name = uid;
  pod.phase = phase;
  pod.index = index;
  pod.finished = pod.created = kNow;
  pod.finalizers = {std::string(kTrackingFinalizer)};
  return pod;
}

TEST(IndexSet, ReadsAndWritesRanges) {
  const struct {
    const char* about;
    const char* given;
    int end;
    const char* text;
    int size;
  } cases[] = {
      {"nothing", "", 9, "", 0},
      {"one", "0", 9, "0", 1},
      {"two are listed", "0,1", 9, "0,1", 2},
      {"three are a range", "0,1,2", 9, "0-2", 3},
      {"runs and single ones", "1,3,4,5,7", 9, "1,3-5,7", 5},
      {"ends are cut", "1,3-50", 6, "1,3-5", 4},
      {"what begins too late is left out", "1,7-9", 5, "1", 1},
      {"corrupt pieces are skipped", "1,x,4-2,,3", 9, "1,3", 2},
  };
  for (const auto& row : cases) {
    const IndexSet set = IndexSet::parse(row.given, row.end);
    EXPECT_EQ(set.text(), row.text) << row.about;
    EXPECT_EQ(set.size(), row.size) << row.about;
  }
  IndexSet set;
  for (const int index : {4, 2, 3, 9, 2})
    set.insert(index);
  EXPECT_EQ(set.text(), "2-4,9");
  EXPECT_TRUE(set.contains(3) && !set.contains(5));
  EXPECT_EQ(set.overlap(IndexSet::parse("0-2,4-9", 10)), 3);
}

TEST(FailurePolicy, TheFirstMatchDecides) {
  const JobFacts job = job_of(
      "{podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}, "
      "{type: Odd, status: 'False'}]},"
      " {action: FailJob, onExitCodes: {containerName: main, operator: In, values: [42]}},"
      " {action: FailIndex, onExitCodes: {operator: NotIn, values: [1, 42]}}]}}");
  using Action = FailureVerdict::Action;
  const struct {
    const char* about;
    std::vector<PodFacts::Exit> exits;
    std::vector<PodFacts::Condition> conditions;
    Action action;
    const char* message;
  } cases[] = {
      {"nothing matches: it counts", {{"main", 1}}, {}, Action::Count, ""},
      {"a disruption is ignored whatever the code",
       {{"main", 42}},
       {{"DisruptionTarget", "True"}},
       Action::Ignore,
       "Pod ns/p has condition DisruptionTarget matching Ignore rule at index 0"},
      {"the status of a condition matters",
       {{"main", 1}},
       {{"DisruptionTarget", "False"}},
       Action::Count,
       ""},
      {"a pattern may ask for False",
       {},
       {{"Odd", "False"}},
       Action::Ignore,
       "Pod ns/p has condition Odd matching Ignore rule at index 0"},
      {"the code of the named container",
       {{"side", 1}, {"main", 42}},
       {},
       Action::FailJob,
       "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 1"},
      {"not of another", {{"side", 42}}, {}, Action::Count, ""},
      {"NotIn",
       {{"main", 3}},
       {},
       Action::FailIndex,
       "Container main for pod ns/p failed with exit code 3 matching FailIndex rule at index 2"},
      {"success matches nothing", {{"main", 0}}, {}, Action::Count, ""},
  };
  for (const auto& row : cases) {
    PodFacts pod = pod_of("p", PodPhase::Failed);
    pod.exits = row.exits;
    pod.conditions = row.conditions;
    EXPECT_EQ(failure_verdict(job, pod), (FailureVerdict{row.action, row.message})) << row.about;
  }
}

TEST(SuccessPolicy, RulesAreMet) {
  const struct {
    const char* about;
    const char* rules;
    const char* succeeded;
    std::optional<size_t> rule;
  } cases[] = {
      {"nothing succeeded yet", "[{succeededCount: 0}]", "", std::nullopt},
      {"all listed", "[{succeededIndexes: '0,2-3'}]", "0,2,3", 0},
      {"one is missing", "[{succeededIndexes: '0,2-3'}]", "0,1,2", std::nullopt},
      {"enough of those listed", "[{succeededIndexes: '0-9', succeededCount: 2}]", "4,7", 0},
      {"others do not help", "[{succeededIndexes: '0-2', succeededCount: 2}]", "2,7", std::nullopt},
      {"any so many", "[{succeededCount: 3}]", "1,5,9", 0},
      {"the first rule that is met", "[{succeededIndexes: '0'}, {succeededCount: 1}]", "5", 1},
  };
  for (const auto& row : cases) {
    const JobFacts job =
        job_of(std::string("{completionMode: Indexed, completions: 10, successPolicy: {rules: ") +
               row.rules + "}}");
    EXPECT_EQ(met_success_rule(job, IndexSet::parse(row.succeeded, 10)), row.rule) << row.about;
  }
}

TEST(Backoff, GrowsWithFailuresInARow) {
  const std::pair<int, int> delays[] = {{0, 0},   {1, 10},  {2, 20},  {3, 40},
                                        {6, 320}, {7, 600}, {8, 600}, {2'000'000'000, 600}};
  for (const auto& [failures, seconds] : delays)
    EXPECT_EQ(remaining_backoff({failures, kNow}, kNow), std::chrono::seconds(seconds)) << failures;
  EXPECT_EQ(remaining_backoff({1, kNow}, kNow + 4s), 6s);
  EXPECT_EQ(remaining_backoff({1, kNow}, kNow + 40s), 0s);
}

TEST(Backoff, ASuccessForgetsWhatFailedBefore) {
  std::vector<PodFacts> pods(3);
  pods[0].finished = kNow;
  pods[1].finished = kNow + 1s;
  pods[2].finished = kNow + 2s;
  EXPECT_EQ(next_backoff({}, {}, {&pods[0], &pods[2]}), (BackoffRecord{2, kNow + 2s}));
  EXPECT_EQ(next_backoff({2, kNow}, {}, {&pods[1]}), (BackoffRecord{3, kNow + 1s}));
  EXPECT_EQ(next_backoff({5, kNow}, {&pods[1]}, {&pods[0], &pods[2]}),
            (BackoffRecord{1, kNow + 2s}));
  EXPECT_EQ(next_backoff({5, kNow}, {&pods[1]}, {}), BackoffRecord{});
}

TEST(SurplusPods, TheCheapestGoFirst) {
  std::vector<PodFacts> pods;
  for (const char* uid :
       {"ready long", "ready", "running", "pending", "unscheduled", "restarted", "old"})
    pods.push_back(pod_of(uid, PodPhase::Running));
  for (PodFacts& pod : pods) {
    pod.is_scheduled = true;
    pod.is_ready = pod.uid.starts_with("ready");
    pod.ready_since = pod.uid == "ready" ? kNow : kNow - 1h;
  }
  pods[3].phase = PodPhase::Pending;
  pods[4].phase = PodPhase::Pending;
  pods[4].is_scheduled = false;
  pods[5].restarts = 3;
  pods[6].created = kNow - 1h;
  PodRefs refs;
  for (const PodFacts& pod : pods)
    refs.push_back(&pod);
  sort_by_loss(refs);
  std::vector<std::string> order;
  for (const PodFacts* pod : refs)
    order.push_back(pod->uid);
  EXPECT_EQ(order, (std::vector<std::string>{"unscheduled", "pending", "restarted", "running",
                                             "old", "ready", "ready long"}));
}

TEST(SurplusPods, OneOfEachIndexStays) {
  const JobFacts job = job_of("{completionMode: Indexed, completions: 3}");
  std::vector<PodFacts> pods = {
      pod_of("a0", PodPhase::Pending, 0), pod_of("b0", PodPhase::Running, 0),
      pod_of("c1", PodPhase::Running, 1), pod_of("far", PodPhase::Running, 7),
      pod_of("none", PodPhase::Running)};
  PodRefs refs;
  for (const PodFacts& pod : pods)
    refs.push_back(&pod);
  std::set<std::string> gone;
  for (const PodFacts* pod : surplus_pods(job, refs, 0))
    gone.insert(pod->uid);
  EXPECT_EQ(gone, (std::set<std::string>{"a0", "far", "none"}));
  EXPECT_EQ(surplus_pods(job, refs, 4).size(), 4u);
}

TEST(PodChanges, HowManyAreWanted) {
  const struct {
    const char* about;
    const char* spec;
    const char* status;
    int active;
    size_t create, remove;
  } cases[] = {
      {"all of a parallelism", "{parallelism: 3, completions: 9}", "{}", 0, 3, 0},
      {"no more than is left to do", "{parallelism: 3, completions: 4}", "{succeeded: 3}", 0, 1, 0},
      {"none when enough run", "{parallelism: 3, completions: 9}", "{}", 3, 0, 0},
      {"surplus goes", "{parallelism: 1, completions: 9}", "{}", 3, 0, 2},
      {"a paused Job", "{parallelism: 0, completions: 9}", "{}", 2, 0, 2},
      {"a suspended one", "{parallelism: 2, completions: 9, suspend: true}", "{}", 2, 0, 2},
      {"a work queue", "{parallelism: 2}", "{}", 1, 1, 0},
      {"a work queue that has succeeded", "{parallelism: 5}", "{succeeded: 1}", 1, 0, 0},
      {"at most five hundred at once", "{parallelism: 5000, completions: 9999}", "{}", 0, 500, 0},
  };
  for (const auto& row : cases) {
    const JobFacts job = job_of(row.spec, row.status);
    std::vector<PodFacts> pods;
    for (int i = 0; i < row.active; ++i)
      pods.push_back(pod_of("p" + std::to_string(i), PodPhase::Running));
    const PodChanges changes = pod_changes(job, job_standing(job, pods), {}, 500, kNow);
    EXPECT_EQ(changes.create.size(), row.create) << row.about;
    EXPECT_EQ(changes.remove.size(), row.remove) << row.about;
  }
}

TEST(PodChanges, OnlyWhatIsDueAsksForAnotherTry) {
  const JobFacts job =
      job_of("{parallelism: 2, completions: 2, completionMode: Indexed, backoffLimitPerIndex: 3}");
  const std::vector<PodFacts> waiting = {pod_of("a", PodPhase::Failed, 0),
                                         pod_of("b", PodPhase::Failed, 1)};
  const PodChanges none = pod_changes(job, job_standing(job, waiting), {}, 1, kNow);
  EXPECT_TRUE(none.create.empty());
  EXPECT_FALSE(none.creates_are_held) << "both are in back-off: nothing to try";
  EXPECT_GT(none.wait, Duration::zero());

  const std::vector<PodFacts> half = {pod_of("a", PodPhase::Failed, 0)};
  const PodChanges other = pod_changes(job, job_standing(job, half), {}, 1, kNow);
  ASSERT_EQ(other.create.size(), 1u) << "index 1 does not wait for the back-off of index 0";
  EXPECT_EQ(other.create[0].index, 1);
  EXPECT_TRUE(pod_changes(job, job_standing(job, half), {}, 0, kNow).creates_are_held);
}

TEST(JobStanding, WhatWasCountedAsLostStaysLost) {
  const JobFacts job =
      job_of("{parallelism: 1, completions: 1}", "{uncountedTerminatedPods: {failed: [a]}}");
  PodFacts pod = pod_of("a", PodPhase::Succeeded);
  pod.being_deleted = true;
  const JobStanding standing = job_standing(job, {pod});
  EXPECT_EQ(standing.succeeded, 0) << "deleted, replaced, and then it ended well after all";
  EXPECT_EQ(standing.failed, 1);
}

TEST(Accounts, EachPodIsNamedThenReleasedThenCounted) {
  const struct {
    const char* about;
    const char* status;
    PodPhase phase;
    bool tracked;
    std::optional<JobEnd> end;
    std::string answer;  // released, named succeeded, named failed | succeeded failed
  } cases[] = {
      {"a new success is named", "{}", PodPhase::Succeeded, true, {}, "0 1 0 | 0 0"},
      {"a named one is released and counted",
       "{uncountedTerminatedPods: {succeeded: [p]}}",
       PodPhase::Succeeded,
       true,
       {},
       "1 0 0 | 1 0"},
      {"a named one without finalizer is counted",
       "{uncountedTerminatedPods: {failed: [p]}, failed: 2}",
       PodPhase::Failed,
       false,
       {},
       "0 0 0 | 0 3"},
      {"one that nobody named and nobody holds was counted before",
       "{failed: 2}",
       PodPhase::Failed,
       false,
       {},
       "0 0 0 | 0 2"},
      {"a named one that is gone is counted",
       "{uncountedTerminatedPods: {failed: [other]}}",
       PodPhase::Running,
       true,
       {},
       "0 0 0 | 0 1"},
      {"what runs stays", "{}", PodPhase::Running, true, {}, "0 0 0 | 0 0"},
      {"what runs when the Job fails is a failure", "{}", PodPhase::Running, true,
       JobEnd{.success = false}, "0 0 1 | 0 0"},
      {"what runs when the Job succeeds waits for the condition", "{}", PodPhase::Running, true,
       JobEnd{.success = true}, "0 0 0 | 0 0"},
      {"and then counts for nothing", "{}", PodPhase::Running, true,
       JobEnd{.success = true, .is_stored = true}, "1 0 0 | 0 0"},
  };
  for (const auto& row : cases) {
    const JobFacts job = job_of("{parallelism: 1}", row.status);
    std::vector<PodFacts> pods = {pod_of("p", row.phase)};
    if (!row.tracked) pods[0].finalizers.clear();
    const Accounts got = accounts(job, pods, job_standing(job, pods), row.end);
    EXPECT_EQ(std::to_string(got.release.size()) + " " +
                  std::to_string(got.uncounted_succeeded.size()) + " " +
                  std::to_string(got.uncounted_failed.size()) + " | " +
                  std::to_string(got.succeeded) + " " + std::to_string(got.failed),
              row.answer)
        << row.about;
  }
}

TEST(JobEnd, TheFirstReasonWins) {
  const struct {
    const char* about;
    const char* spec;
    const char* status;
    int failed_pods;
    const char* reason;
  } cases[] = {
      {"none", "{backoffLimit: 2}", "{failed: 2}", 0, ""},
      {"one failure too many", "{backoffLimit: 2}", "{failed: 2}", 1, "BackoffLimitExceeded"},
      {"the deadline", "{activeDeadlineSeconds: 10}", "{startTime: '2023-11-14T22:13:10Z'}", 0,
       "DeadlineExceeded"},
      {"not before", "{activeDeadlineSeconds: 11}", "{startTime: '2023-11-14T22:13:10Z'}", 0, ""},
      {"not while suspended", "{activeDeadlineSeconds: 1, suspend: true}",
       "{startTime: '2023-11-14T22:13:10Z'}", 0, ""},
      {"an end that was decided stays", "{backoffLimit: 0}",
       "{conditions: [{type: SuccessCriteriaMet, status: 'True', reason: Mine}]}", 3, "Mine"},
      {"too many failed indexes",
       "{completionMode: Indexed, completions: 9, backoffLimitPerIndex: 0, maxFailedIndexes: 1, "
       "backoffLimit: 99}",
       "{failedIndexes: '1,2'}", 0, "MaxFailedIndexesExceeded"},
      {"no index left to try",
       "{completionMode: Indexed, completions: 3, backoffLimitPerIndex: 0, backoffLimit: 99}",
       "{failedIndexes: '1', completedIndexes: '0,2'}", 0, "FailedIndexes"},
  };
  for (const auto& row : cases) {
    const JobFacts job = job_of(row.spec, row.status);
    std::vector<PodFacts> pods;
    for (int i = 0; i < row.failed_pods; ++i)
      pods.push_back(pod_of("p" + std::to_string(i), PodPhase::Failed));
    const auto end = job_end(job, job_standing(job, pods), job.start_time, kNow);
    EXPECT_EQ(end ? end->reason : "", row.reason) << row.about;
  }
}

}  // namespace
}  // namespace yard
