#include "controllers/batch/job_controller.h"

#include <gtest/gtest.h>

#include "sim/job_yard.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

// Spec lines and the template most tests use.
std::string spec(const std::string& lines, const std::string& restart = "Never") {
  return lines + "  template: {spec: {restartPolicy: " + restart +
         ", containers: [{name: main, image: i}]}}\n";
}

TEST(JobController, OnePodToCompletion) {
  JobYard yard;
  yard.create(spec(""));
  ASSERT_EQ(yard.pods().size(), 1u);
  const Json pod = yard.pods()[0];
  const std::string name(name_of(pod));
  EXPECT_EQ(name.substr(0, 2), "j-");
  EXPECT_EQ(text_at(pod, {"metadata", "generateName"}), "j-");
  EXPECT_EQ(text_of(list_at(pod, {"metadata", "finalizers"}).at(0)), kTrackingFinalizer);
  EXPECT_EQ(text_at(pod, {"metadata", "labels", "job-name"}), "j");
  const Json& owner = list_at(pod, {"metadata", "ownerReferences"}).at(0);
  EXPECT_EQ(text_at(owner, {"name"}), "j");
  EXPECT_TRUE(bool_at(owner, {"controller"}) && bool_at(owner, {"blockOwnerDeletion"}));
  EXPECT_EQ(int_at(yard.status(), {"active"}), 1);
  EXPECT_FALSE(text_at(yard.status(), {"startTime"}).empty());

  yard.run(name);
  EXPECT_EQ(int_at(yard.status(), {"ready"}), 1);
  yard.finish(name, 0);
  const Json status = yard.status();
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet Complete");
  EXPECT_EQ(int_at(status, {"succeeded"}), 1);
  EXPECT_EQ(find(status, "active"), nullptr);
  EXPECT_EQ(to_text(*find(status, "uncountedTerminatedPods")), "{}");
  EXPECT_EQ(int_at(status, {"ready"}, -1), 0);
  EXPECT_EQ(int_at(status, {"terminating"}, -1), 0);
  EXPECT_EQ(text_at(status, {"completionTime"}),
            text_at(list_at(status, {"conditions"}).at(1), {"lastTransitionTime"}));
  EXPECT_EQ(text_at(list_at(status, {"conditions"}).at(1), {"reason"}), "CompletionsReached");
  EXPECT_TRUE(list_at(yard.pods()[0], {"metadata", "finalizers"}).empty());
  EXPECT_EQ(yard.events(), (std::vector<std::string>{"SuccessfulCreate: Created pod: " + name,
                                                     "Completed: Job completed"}));
  EXPECT_TRUE(yard.jobs->is_idle());
}

TEST(JobController, ParallelismBoundsWhatRuns) {
  JobYard yard;
  yard.create(spec("  completions: 5\n  parallelism: 2\n"));
  for (int ended = 0; ended < 5; ++ended) {
    ASSERT_EQ(yard.active().size(), std::min<size_t>(2, 5 - ended));
    yard.finish(yard.active()[0], 0);
  }
  EXPECT_EQ(int_at(yard.status(), {"succeeded"}), 5);
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet Complete");
  EXPECT_EQ(yard.pods().size(), 5u);
}

TEST(JobController, AWorkQueueEndsWithItsLastPod) {
  JobYard yard;
  yard.create(spec("  parallelism: 3\n"));
  ASSERT_EQ(yard.active().size(), 3u);
  yard.finish(yard.active()[0], 0);
  EXPECT_EQ(yard.active().size(), 2u) << "after a success nothing begins";
  yard.finish(yard.active()[0], 1);
  EXPECT_EQ(yard.conditions(), "");
  yard.finish(yard.active()[0], 0);
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet Complete");
  EXPECT_EQ(int_at(yard.status(), {"succeeded"}), 2);
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 1);
}

TEST(JobController, RetriesWaitLongerEachTimeUntilTheLimit) {
  JobYard yard;
  yard.create(spec("  backoffLimit: 2\n"));
  const Time start = yard.api.loop.now();
  std::vector<int64_t> made_after;
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_TRUE(yard.api.loop.run_until([&] { return !yard.active().empty(); }, 1min));
    made_after.push_back(
        std::chrono::round<std::chrono::seconds>(yard.api.loop.now() - start).count());
    yard.finish(yard.active()[0], 1);
  }
  yard.settle(2min);
  EXPECT_EQ(made_after, (std::vector<int64_t>{0, 10, 30}));
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 3);
  EXPECT_EQ(yard.pods("Failed").size(), 3u) << "their logs stay readable";
  EXPECT_EQ(find(yard.status(), "completionTime"), nullptr);
  EXPECT_EQ(yard.events("BackoffLimitExceeded"),
            std::vector<std::string>{
                "BackoffLimitExceeded: Job has reached the specified backoff limit"});
}

TEST(JobController, BackOffGoesOnAfterARestart) {
  JobYard yard;
  yard.create(spec(""));
  yard.finish(yard.active()[0], 1);
  yard.settle(9s);
  yard.crash_and_start();
  yard.settle(500ms);
  EXPECT_TRUE(yard.active().empty());
  yard.settle(1s);
  EXPECT_EQ(yard.active().size(), 1u);
}

TEST(JobController, RestartsInPlaceCount) {
  JobYard yard;
  yard.create(spec("  backoffLimit: 2\n", "OnFailure"));
  const std::string pod = yard.active()[0];
  yard.run(pod);
  yard.restart(pod, 1);
  EXPECT_EQ(yard.conditions(), "");
  yard.restart(pod, 2);
  EXPECT_EQ(yard.conditions(), "FailureTarget") << "Failed waits until the pod is gone";
  EXPECT_EQ(int_at(yard.status(), {"terminating"}), 1);
  yard.reap();
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 1);
  EXPECT_TRUE(yard.pods().empty());
}

TEST(JobController, TheDeadlineStrikesByTimer) {
  JobYard yard;
  yard.create(spec("  activeDeadlineSeconds: 30\n"));
  yard.run(yard.active()[0]);
  yard.settle(25s);
  EXPECT_EQ(yard.conditions(), "");
  yard.settle(6s);
  yard.reap();
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
  EXPECT_EQ(
      yard.events("DeadlineExceeded"),
      std::vector<std::string>{"DeadlineExceeded: Job was active longer than specified deadline"});
}

TEST(JobController, TheDeadlineIsOnTheWallWhateverTheClockDoes) {
  JobYard yard;
  yard.create(spec("  activeDeadlineSeconds: 100\n"));
  yard.run(yard.active()[0]);
  yard.settle(10s);
  yard.api.loop.jump_clock(-30s);
  yard.settle(60s);
  EXPECT_EQ(yard.conditions(), "") << "set back: it strikes no sooner";
  yard.api.loop.jump_clock(std::chrono::hours(8));
  yard.settle(1s);
  yard.reap();
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed") << "a laptop that slept";
}

TEST(JobController, SuspendStopsAndResumeStartsAgain) {
  JobYard yard;
  yard.create(spec("  suspend: true\n  activeDeadlineSeconds: 100\n"));
  EXPECT_TRUE(yard.pods().empty());
  EXPECT_EQ(yard.conditions(), "Suspended");
  EXPECT_EQ(find(yard.status(), "startTime"), nullptr);
  yard.change_job("spec: {suspend: false}");
  ASSERT_EQ(yard.active().size(), 1u);
  EXPECT_EQ(text_at(list_at(yard.job(), {"status", "conditions"}).at(0), {"status"}), "False");
  yard.run(yard.active()[0]);
  yard.change_job("spec: {suspend: true}");
  EXPECT_TRUE(yard.active().empty());
  yard.reap();
  EXPECT_TRUE(yard.pods().empty());
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 0) << "suspending is no failure";
  yard.settle(200s);
  yard.change_job("spec: {suspend: false}");
  EXPECT_EQ(yard.active().size(), 1u) << "suspended time is not in the deadline";
  EXPECT_EQ(yard.events("Suspended").size() + yard.events("Resumed").size(), 2u);
}

TEST(JobController, ASmallerParallelismRemovesUncounted) {
  JobYard yard;
  yard.create(spec("  completions: 10\n  parallelism: 4\n"));
  yard.run(yard.active()[0]);
  yard.change_job("spec: {parallelism: 1}");
  ASSERT_EQ(yard.active().size(), 1u);
  EXPECT_EQ(yard.pods("Running").size(), 1u) << "what runs is dearest";
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 0);
}

TEST(JobController, DeletedPodsCountAndAreReplaced) {
  JobYard yard;
  yard.create(spec(""));
  yard.run(yard.active()[0]);
  yard.delete_pod(yard.active()[0]);
  yard.settle(11s);
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 1);
  EXPECT_EQ(yard.active().size(), 1u);
  yard.reap();
  EXPECT_EQ(yard.pods().size(), 1u);
}

TEST(JobController, PodReplacementFailedWaitsForTheEnd) {
  JobYard yard;
  yard.create(spec("  podReplacementPolicy: Failed\n"));
  yard.run(yard.active()[0]);
  yard.delete_pod(yard.active()[0]);
  yard.settle(60s);
  EXPECT_TRUE(yard.active().empty());
  EXPECT_EQ(int_at(yard.status(), {"terminating"}), 1);
  yard.reap();
  yard.settle(11s);
  EXPECT_EQ(yard.active().size(), 1u);
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 1);
}

TEST(JobController, AJobOfAnotherControllerIsLeftAlone) {
  JobYard yard;
  yard.create(spec("  managedBy: example.com/other\n"));
  yard.settle(10s);
  EXPECT_TRUE(yard.pods().empty());
  EXPECT_EQ(to_text(yard.status()), "{}");
}

TEST(JobController, PodsOfADeletedJobLoseTheFinalizer) {
  JobYard yard;
  yard.create(spec(""));
  const std::string pod = yard.active()[0];
  yard.api.call("DELETE", JobYard::kJobs + std::string("/j"),
                R"({"propagationPolicy":"Background"})");
  yard.settle();
  EXPECT_TRUE(list_at(yard.pods()[0], {"metadata", "finalizers"}).empty());
}

TEST(JobController, ErrorsOfCreatingAreToldAndTriedAgain) {
  JobYard yard;
  yard.create(
      "  suspend: true\n  parallelism: 3\n  completions: 3\n"
      "  template: {spec: {restartPolicy: Never, containers: [{name: main, image: i, resources: "
      "{requests: {memory: 1Mi}}}]}}\n");
  const Answer quota = yard.api.call(
      "POST", "/api/v1/namespaces/default/limitranges",
      R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","min":{"memory":"1Gi"}}]}})");
  ASSERT_EQ(quota.status, 201) << quota.text;
  yard.change_job("spec: {suspend: false}");
  EXPECT_TRUE(yard.pods().empty());
  EXPECT_FALSE(text_at(yard.status(), {"startTime"}).empty())
      << "the status does not wait for pods";
  EXPECT_EQ(int_at(yard.status(), {"active"}), 0);
  ASSERT_FALSE(yard.events("FailedCreate").empty());
  yard.api.call("DELETE", "/api/v1/namespaces/default/limitranges/l");
  yard.settle(2min);
  EXPECT_EQ(yard.active().size(), 3u);
}

TEST(JobController, AfterACreateThatWentWellTheNextWaitIsShortAgain) {
  JobYard yard;
  yard.create(
      "  suspend: true\n"
      "  template: {spec: {restartPolicy: Never, containers: [{name: main, image: i, resources: "
      "{requests: {memory: 1Mi}}}]}}\n");
  const auto forbid = [&] {
    yard.api.call(
        "POST", "/api/v1/namespaces/default/limitranges",
        R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","min":{"memory":"1Gi"}}]}})");
  };
  const auto allow = [&] { yard.api.call("DELETE", "/api/v1/namespaces/default/limitranges/l"); };
  forbid();
  yard.change_job("spec: {suspend: false}");
  yard.settle(1min);
  allow();
  yard.settle(1s);
  EXPECT_TRUE(yard.active().empty()) << "after many failures the wait is long";
  yard.settle(2min);
  ASSERT_EQ(yard.active().size(), 1u);
  yard.change_job("spec: {suspend: true}");
  yard.settle();
  forbid();
  yard.change_job("spec: {suspend: false}");
  ASSERT_TRUE(yard.active().empty());
  allow();
  yard.settle(2s);
  EXPECT_EQ(yard.active().size(), 1u);
}

TEST(JobController, IndexedPodsKnowTheirIndex) {
  JobYard yard;
  yard.create(spec("  completionMode: Indexed\n  completions: 4\n  parallelism: 2\n"));
  const std::string first = yard.pod_of_index(0), second = yard.pod_of_index(1);
  ASSERT_FALSE(first.empty() || second.empty());
  EXPECT_EQ(first.substr(0, 4), "j-0-");
  Json pod = yard.pods()[0];
  EXPECT_EQ(text_at(pod, {"metadata", "labels", kIndexKey}), "0");
  EXPECT_EQ(text_at(pod, {"spec", "hostname"}), "j-0");
  const Json& variable = list_at(list_at(pod, {"spec", "containers"}).at(0), {"env"}).at(0);
  EXPECT_EQ(text_at(variable, {"name"}), "JOB_COMPLETION_INDEX");
  EXPECT_EQ(text_at(variable, {"valueFrom", "fieldRef", "fieldPath"}),
            "metadata.labels['batch.kubernetes.io/job-completion-index']");
  yard.finish(second, 0);
  EXPECT_EQ(text_at(yard.status(), {"completedIndexes"}), "1");
  ASSERT_FALSE(yard.pod_of_index(2).empty());
  yard.finish(first, 1);
  yard.settle(11s);
  EXPECT_FALSE(yard.pod_of_index(0).empty()) << "a failed index is tried again";
  yard.finish(yard.pod_of_index(0), 0);
  yard.finish(yard.pod_of_index(2), 0);
  yard.finish(yard.pod_of_index(3), 0);
  EXPECT_EQ(text_at(yard.status(), {"completedIndexes"}), "0-3");
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet Complete");
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 1);
}

TEST(JobController, EachIndexHasItsOwnLimit) {
  JobYard yard;
  yard.create(
      spec("  completionMode: Indexed\n  completions: 4\n  parallelism: 2\n  backoffLimitPerIndex: "
           "1\n"));
  for (int round = 0; round < 20 && yard.conditions().empty(); ++round) {
    for (int index = 0; index < 4; ++index) {
      const std::string pod = yard.pod_of_index(index);
      if (!pod.empty()) yard.finish(pod, index % 2);
    }
    yard.settle(15s);
  }
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
  const Json status = yard.status();
  EXPECT_EQ(text_at(status, {"failedIndexes"}), "1,3");
  EXPECT_EQ(text_at(status, {"completedIndexes"}), "0,2");
  EXPECT_EQ(int_at(status, {"failed"}), 4);
  EXPECT_EQ(int_at(status, {"succeeded"}), 2);
  EXPECT_EQ(yard.events("FailedIndexes"),
            std::vector<std::string>{"FailedIndexes: Job has failed indexes"});
}

TEST(JobController, MaxFailedIndexesEndsTheRest) {
  JobYard yard;
  yard.create(
      spec("  completionMode: Indexed\n  completions: 4\n  parallelism: 4\n  backoffLimitPerIndex: "
           "0\n  maxFailedIndexes: 1\n"));
  yard.finish(yard.pod_of_index(0), 1);
  EXPECT_EQ(yard.conditions(), "");
  yard.finish(yard.pod_of_index(1), 1);
  yard.reap();
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
  EXPECT_EQ(yard.events("MaxFailedIndexesExceeded").size(), 1u);
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 4);
}

TEST(JobController, FailurePolicyDecides) {
  const std::string policy =
      "  backoffLimit: 0\n  podFailurePolicy:\n    rules:\n"
      "    - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}\n"
      "    - {action: FailJob, onExitCodes: {operator: In, values: [42]}}\n";
  JobYard yard;
  yard.create(spec("  completions: 2\n  parallelism: 2\n" + policy));
  yard.finish(yard.active()[0], 1,
              R"("conditions":[{"type":"DisruptionTarget","status":"True"}],)");
  yard.settle(11s);
  EXPECT_EQ(yard.active().size(), 2u);
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 0);
  const std::string bad = yard.active()[0];
  yard.finish(bad, 42);
  yard.reap();
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
  EXPECT_EQ(yard.events("PodFailurePolicy"),
            std::vector<std::string>{"PodFailurePolicy: Container main for pod default/" + bad +
                                     " failed with exit code 42 matching FailJob rule at index 1"});
}

TEST(JobController, AFailureThatThePolicyIgnoresByItsCodeCountsForNothing) {
  JobYard yard;
  yard.create(spec(
      "  backoffLimit: 0\n  podFailurePolicy:\n    rules:\n"
      "    - {action: Ignore, onExitCodes: {containerName: main, operator: In, values: [1]}}\n"));
  yard.finish(yard.active()[0], 1);
  yard.settle(11s);
  ASSERT_EQ(yard.active().size(), 1u);
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 0);
  yard.finish(yard.active()[0], 0);
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet Complete");
}

TEST(JobController, APodSaysHowOftenItsIndexHasFailed) {
  JobYard yard;
  yard.create(
      spec("  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  backoffLimitPerIndex: "
           "2\n"));
  const auto said = [&](int index) {
    const std::string name = yard.pod_of_index(index);
    for (const Json& pod : yard.pods()) {
      if (name_of(pod) == name)
        return std::string(text_at(
            pod, {"metadata", "annotations", "batch.kubernetes.io/job-index-failure-count"}));
    }
    return std::string("no pod");
  };
  EXPECT_EQ(said(0) + said(1), "00");
  yard.finish(yard.pod_of_index(0), 1);
  yard.settle(15s);
  EXPECT_EQ(said(0) + said(1), "10");
  yard.finish(yard.pod_of_index(0), 1);
  yard.settle(30s);
  EXPECT_EQ(said(0) + said(1), "20");
}

TEST(JobController, FailIndexGivesUpOneIndex) {
  JobYard yard;
  yard.create(
      spec("  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  backoffLimitPerIndex: "
           "6\n  podFailurePolicy:\n    rules:\n"
           "    - {action: FailIndex, onExitCodes: {operator: In, values: [7]}}\n"));
  yard.finish(yard.pod_of_index(0), 7);
  EXPECT_EQ(text_at(yard.status(), {"failedIndexes"}), "0");
  yard.settle(1min);
  EXPECT_EQ(yard.pod_of_index(0), "");
  yard.finish(yard.pod_of_index(1), 0);
  EXPECT_EQ(yard.conditions(), "FailureTarget Failed");
}

TEST(JobController, TheLeaderCanDecideSuccess) {
  JobYard yard;
  yard.create(
      spec("  completionMode: Indexed\n  completions: 3\n  parallelism: 3\n  successPolicy: "
           "{rules: [{succeededIndexes: '0'}]}\n"));
  yard.run(yard.pod_of_index(1));
  yard.finish(yard.pod_of_index(0), 0);
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet");
  yard.reap();
  EXPECT_EQ(yard.conditions(), "SuccessCriteriaMet Complete");
  EXPECT_EQ(text_at(list_at(yard.job(), {"status", "conditions"}).at(1), {"message"}),
            "Matched rules at index 0");
  EXPECT_EQ(int_at(yard.status(), {"failed"}), 0);
  EXPECT_EQ(int_at(yard.status(), {"succeeded"}), 1);
}

TEST(JobController, AnElasticJobGrowsAndShrinks) {
  JobYard yard;
  yard.create(spec("  completionMode: Indexed\n  completions: 3\n  parallelism: 3\n"));
  yard.finish(yard.pod_of_index(2), 0);
  EXPECT_EQ(text_at(yard.status(), {"completedIndexes"}), "2");
  yard.change_job("spec: {completions: 2, parallelism: 2}");
  EXPECT_EQ(int_at(yard.status(), {"succeeded"}), 0);
  yard.change_job("spec: {completions: 4, parallelism: 4}");
  EXPECT_FALSE(yard.pod_of_index(2).empty() || yard.pod_of_index(3).empty());
}

TEST(JobController, AdoptsAndReleasesByLabels) {
  JobYard yard;
  yard.create(spec("  parallelism: 2\n"));
  const std::string pod = yard.active()[0];
  const Answer orphaned =
      yard.api.patch(JobYard::pod_path(pod, ""), R"({"metadata":{"ownerReferences":null}})");
  ASSERT_EQ(orphaned.status, 200);
  yard.settle();
  for (const Json& tree : yard.pods()) {
    if (name_of(tree) != pod) continue;
    EXPECT_EQ(list_at(tree, {"metadata", "ownerReferences"}).size(), 1u);
  }
  yard.api.patch(JobYard::pod_path(pod, ""), R"({"metadata":{"labels":null}})");
  yard.settle();
  for (const Json& tree : yard.pods()) {
    if (name_of(tree) != pod) continue;
    EXPECT_TRUE(list_at(tree, {"metadata", "ownerReferences"}).empty());
    EXPECT_TRUE(list_at(tree, {"metadata", "finalizers"}).empty());
  }
  EXPECT_EQ(yard.active().size(), 3u) << "the one let go is replaced";
}

}  // namespace
}  // namespace yard
