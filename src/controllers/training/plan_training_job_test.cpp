// A job's life apart from its restarts: making pods, scaling, limits, suspension, clean-up, expiry,
// gang restarts, and the gaps of kubeflow-jobs 9.4.

#include "controllers/training/plan_training_job.h"

#include <gtest/gtest.h>

#include "controllers/training/training_testing.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

struct LifeCase {
  std::string_view about;
  std::string more;  // merged into a PyTorchJob of one master and two workers
  std::vector<std::string_view> pods;
  Duration later;  // after kTestNow
  std::string_view plan;
  std::optional<Duration> again = std::nullopt;
};

constexpr std::string_view kRunning =
    "status: {startTime: '2023-11-14T22:13:20Z', conditions: [{type: Created, status: 'True', "
    "reason: PyTorchJobCreated}, {type: Running, status: 'True', reason: PyTorchJobRunning}]}";

std::string finished(std::string_view condition, std::string_view policy,
                     std::string_view message = "") {
  return fmt::format(
      "{{spec: {{runPolicy: {{cleanPodPolicy: {}}}}}, status: {{startTime: '2023-11-14T22:13:20Z', "
      "completionTime: '2023-11-14T22:13:20Z', conditions: [{{type: {}, status: 'True', message: "
      "'{}'}}]}}}}",
      policy, condition, message);
}

void check_lives(std::span<const LifeCase> cases) {
  for (const LifeCase& row : cases) {
    SCOPED_TRACE(row.about);
    const TrainingWorld world =
        training_world(training_tree("PyTorchJob", {{"Master"}, {"Worker", 2}}, row.more), row.pods,
                       kTestNow + row.later);
    const TrainingPlan planned = plan_training_job(world);
    EXPECT_EQ(short_plan(world, planned), row.plan);
    EXPECT_EQ(planned.plan.requeue_after, row.again);
  }
}

TEST(PlanTrainingJob, MakesWhatIsMissingAndRemovesWhatIsTooMuch) {
  const LifeCase cases[] = {
      {"a new job gets all its pods", "", {}, 0s, "+master-0 +worker-0 +worker-1 Created"},
      {"what is there stays",
       "",
       {"master-0 Pending", "worker-1 Pending"},
       0s,
       "+worker-0 Created"},
      {"more workers",
       "spec: {pytorchReplicaSpecs: {Worker: {replicas: 4}}}",
       {"master-0 Running", "worker-0 Running", "worker-1 Running"},
       0s,
       "+worker-2 +worker-3 Running"},
      {"fewer workers: the highest go",
       "spec: {pytorchReplicaSpecs: {Worker: {replicas: 1}}}",
       {"master-0 Running", "worker-0 Running", "worker-1 Running", "worker-2 Running"},
       0s,
       "-worker-2 -worker-1 Running"},
      {"no workers: none is made",
       "spec: {pytorchReplicaSpecs: {Worker: {replicas: 0}}}",
       {"master-0 Running"},
       0s,
       "Running"},
      {"a gap below a surplus index is no reason to make one",
       "spec: {pytorchReplicaSpecs: {Worker: {replicas: 1}}}",
       {"master-0 Running", "worker-0 Running", "worker-5 Running"},
       0s,
       "-worker-5 Running"},
      {"a pod on its way out keeps its name",
       "",
       {"master-0 Running", "worker-0 Running", "worker-1 Running deleting"},
       0s,
       "Running"},
      {"a replica that succeeded is not run again",
       "status: {completedIndexes: {Worker: '1'}}",
       {"master-0 Running", "worker-0 Running"},
       0s,
       "Running"},
      {"a type the job has no more",
       "spec: {pytorchReplicaSpecs: {Worker: null}}",
       {"master-0 Running", "worker-0 Running"},
       0s,
       "-worker-0 Running"},
      {"a job that others look after",
       "spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}",
       {},
       0s,
       ""},
      {"nobody is not us", "spec: {runPolicy: {managedBy: ''}}", {}, 0s, ""},
      {"but we are",
       "spec: {runPolicy: {managedBy: kubeflow.org/training-operator}}",
       {},
       0s,
       "+master-0 +worker-0 +worker-1 Created"},
      {"a job on its way out", "metadata: {deletionTimestamp: '2023-11-14T22:13:20Z'}", {}, 0s, ""},
      {"types in other letters are known",
       "spec: {pytorchReplicaSpecs: {Worker: null, WORKER: "
       "{replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}",
       {},
       0s,
       "+master-0 +worker-0 Created"},
      {"a template without containers crashes nobody",
       "spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: null}}}, Worker: "
       "{template: "
       "null}}}",
       {},
       0s,
       "+master-0 +worker-0 +worker-1 Created"},
  };
  check_lives(cases);
}

TEST(PlanTrainingJob, TheDeadlineIsATimer) {
  const std::string limits =
      fmt::format("{{spec: {{runPolicy: {{activeDeadlineSeconds: 60}}}}, {}}}", kRunning);
  const std::vector<std::string_view> pods{"master-0 Running", "worker-0 Running",
                                           "worker-1 Running"};
  const LifeCase cases[] = {
      {"it is waited for", limits, pods, 10s, "Running", 50s},
      {"and strikes without another event", limits, pods, 60s, "Failed"},
      {"also after a laptop's sleep", limits, pods, 1000h, "Failed"},
      {"pending counts too", limits, {"master-0 Pending"}, 61s, "Failed"},
      {"a deadline beyond all calendars is none",
       "{spec: {runPolicy: {activeDeadlineSeconds: 9223372036854775807}}, status: {startTime: "
       "'2023-11-14T22:13:20Z'}}",
       pods, 10s, "Running", 100 * 366 * 24h - 10s},
  };
  check_lives(cases);
  const TrainingWorld world = training_world(
      training_tree("PyTorchJob", {{"Master"}, {"Worker", 2}}, limits), pods, kTestNow + 60s);
  const TrainingPlan planned = plan_training_job(world);
  ASSERT_EQ(planned.plan.events.size(), 1u);
  EXPECT_EQ(planned.plan.events[0].reason, "PyTorchJobFailed");
  EXPECT_EQ(planned.plan.events[0].type, EventNote::Type::Normal);
  EXPECT_EQ(planned.plan.events[0].message,
            "Job j has failed because it was active longer than specified deadline");
}

TEST(PlanTrainingJob, CleansUpAsThePolicySays) {
  const std::vector<std::string_view> pods{"master-0 Succeeded 0", "worker-0 Running",
                                           "worker-1 Pending unstarted"};
  const std::string limit =
      "Job j has failed because it has reached the specified backoff limit; first failure: …";
  const LifeCase cases[] = {
      {"All: every pod", finished("Succeeded", "All"), pods, 0s,
       "-master-0 -worker-0 -worker-1 Succeeded"},
      {"Running: what runs or would", finished("Succeeded", "Running"), pods, 0s,
       "-worker-0 -worker-1 Succeeded"},
      {"Running: also a pod that failed for the moment",
       finished("Succeeded", "Running"),
       {"master-0 Succeeded 0", "worker-0 Failed 1", "worker-1 Succeeded 0"},
       0s,
       "-worker-0 Succeeded"},
      {"None: nothing", finished("Succeeded", "None"), pods, 100h, "Succeeded"},
      {"None, after a limit: what runs is stopped and stays to be read",
       finished("Failed", "None", limit), pods, 0s, "-worker-1 !worker-0 Failed"},
      {"All, after a limit", finished("Failed", "All", limit), pods, 0s,
       "-master-0 -worker-0 -worker-1 Failed"},
      {"unset: half a minute", finished("Succeeded", "null"), pods, 29s, "Succeeded", 1s},
      {"unset: then what still runs is stopped", finished("Succeeded", "null"), pods, 30s,
       "-worker-1 !worker-0 Succeeded"},
      {"unset: once",
       finished("Succeeded", "null"),
       {"master-0 Succeeded 0", "worker-0 Running deadline=1"},
       31s,
       "Succeeded"},
      {"unset: a longer deadline of the user's is cut",
       finished("Succeeded", "null"),
       {"master-0 Succeeded 0", "worker-0 Running deadline=3600"},
       31s,
       "!worker-0 Succeeded"},
      {"unset, after a limit: at once", finished("Failed", "null", limit), pods, 0s,
       "-worker-1 !worker-0 Failed"},
      {"nothing is made again", finished("Failed", "None"), {}, 0s, "Failed"},
      {"a pod that goes already is let go",
       finished("Succeeded", "All"),
       {"master-0 Running deleting"},
       0s,
       "Succeeded"},
  };
  check_lives(cases);
}

TEST(PlanTrainingJob, ExpiresByTimer) {
  const auto expiring = [](std::string_view condition, int ttl) {
    return fmt::format(
        "{{spec: {{runPolicy: {{cleanPodPolicy: None, ttlSecondsAfterFinished: {}}}}}, status: "
        "{{completionTime: '2023-11-14T22:13:20Z', conditions: [{{type: {}, status: 'True'}}]}}}}",
        ttl, condition);
  };
  const std::string ok = expiring("Succeeded", 100), bad = expiring("Failed", 100),
                    now = expiring("Succeeded", 0);
  const LifeCase cases[] = {
      {"not yet", ok, {}, 40s, "Succeeded", 60s},
      {"now", ok, {}, 100s, "-job Succeeded"},
      {"failed ones too", bad, {}, 100s, "-job Failed"},
      {"at once", now, {}, 0s, "-job Succeeded"},
      {"a finished job that lacks its time gets one, and expires from then",
       "{spec: {runPolicy: {cleanPodPolicy: None, ttlSecondsAfterFinished: 10}}, status: "
       "{conditions: "
       "[{type: Failed, status: 'True'}]}}",
       {},
       0s,
       "Failed",
       10s},
      {"as directly under spec, where it was once",
       "{spec: {ttlSecondsAfterFinished: 5, "
       "cleanPodPolicy: None}, status: {completionTime: '2023-11-14T22:13:20Z', conditions: "
       "[{type: "
       "Succeeded, status: 'True'}]}}",
       {},
       5s,
       "-job Succeeded"},
  };
  check_lives(cases);
}

TEST(PlanTrainingJob, SuspendAndResume) {
  const Json tree = training_tree("PyTorchJob", {{"Master"}, {"Worker", 1}},
                                  "spec: {runPolicy: {suspend: true, activeDeadlineSeconds: 60}}");
  TrainingWorld world = training_world(tree);
  TrainingPlan planned = plan_training_job(world);
  Json next = planned_tree(world, planned);
  EXPECT_EQ(states_of(next), "Created Suspended");
  EXPECT_EQ(find_path(next, {"status", "startTime"}), nullptr);
  EXPECT_TRUE(planned.plan.writes.empty());
  EXPECT_EQ(planned.plan.events.size(), 1u);
  world = training_world(next, {}, kTestNow + 100s);
  EXPECT_TRUE(plan_training_job(world).plan.is_nothing()) << "no deadline, and nothing said twice";

  next = changed(next, "spec: {runPolicy: {suspend: false}}");
  world = training_world(next, {}, kTestNow + 100s);
  planned = plan_training_job(world);
  next = planned_tree(world, planned);
  EXPECT_EQ(states_of(next), "Created Suspended=False");
  EXPECT_EQ(text_at(next, {"status", "startTime"}), rfc3339(kTestNow + 100s));
  EXPECT_EQ(planned.plan.events.at(0).reason, "PyTorchJobResumed");
  world = training_world(next, {"master-0 Running", "worker-0 Succeeded 0"}, kTestNow + 100s);
  next = planned_tree(world, plan_training_job(world));
  EXPECT_EQ(states_of(next), "Created Suspended=False Running");

  next = changed(next, "spec: {runPolicy: {suspend: true}}");
  world = training_world(next, {"master-0 Running", "worker-0 Succeeded 0"}, kTestNow + 110s);
  planned = plan_training_job(world);
  EXPECT_EQ(short_plan(world, planned), "-master-0 -worker-0 Suspended");
  next = planned_tree(world, planned);
  EXPECT_EQ(states_of(next), "Created Running=False Suspended");
  EXPECT_EQ(text_at(next, {"status", "startTime"}), rfc3339(kTestNow + 100s)) << "kept";
  EXPECT_EQ(find_path(next, {"status", "replicaStatuses", "Master", "active"}), nullptr);
  EXPECT_EQ(find_path(next, {"status", "completedIndexes"}), nullptr) << "the work starts anew";
  const JsonArray& conditions = list_at(next, {"status", "conditions"});
  EXPECT_EQ(text_at(conditions.at(1), {"reason"}), "PyTorchJobSuspended");
  EXPECT_EQ(text_at(conditions.at(2), {"message"}), "PyTorchJob j is suspended.");
}

TEST(PlanTrainingJob, AFinishedJobIsNotSuspended) {
  const TrainingWorld world = training_world(
      training_tree("PyTorchJob", {{"Master"}},
                    "{spec: {runPolicy: {suspend: true, cleanPodPolicy: None}}, status: "
                    "{completionTime: '2023-11-14T22:13:20Z', conditions: [{type: Created, status: "
                    "'True'}, {type: Succeeded, status: 'True'}]}}"),
      {"master-0 Succeeded 0"});
  EXPECT_TRUE(plan_training_job(world).plan.is_nothing());
}

constexpr std::string_view kGang = "metadata: {annotations: {trainyard.dev/gang-restart: 'true'}}";

TEST(PlanTrainingJob, AGangStartsOverTogether) {
  Json tree = training_tree("JAXJob", {{"Worker", 3}}, kGang);
  TrainingWorld world = training_world(tree);
  const Json pod = plan_training_job(world).plan.writes.back().object;
  EXPECT_EQ(text_at(pod, {"metadata", "labels", kGenerationLabel}), "0");
  EXPECT_EQ(text_at(pod, {"spec", "restartPolicy"}), "Never") << "a rank alone is not restarted";

  const std::vector<std::string_view> failing{"worker-0 Failed 1 gen=0", "worker-1 Failed 1 gen=0",
                                              "worker-2 Running gen=0"};
  world = training_world(tree, failing);
  TrainingPlan planned = plan_training_job(world);
  EXPECT_EQ(short_plan(world, planned), "Restarting restarts=1") << "one incident counts once";
  tree = planned_tree(world, planned);
  EXPECT_EQ(int_at(tree, {"status", "restartGeneration"}), 1);
  world = training_world(tree, failing);
  EXPECT_EQ(short_plan(world, plan_training_job(world)),
            "-worker-2 -worker-1 -worker-0 Restarting restarts=1");
  world = training_world(tree, {"worker-2 Running gen=0 deleting"});
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "Restarting restarts=1")
      << "attempts never mix";
  world = training_world(tree);
  planned = plan_training_job(world);
  EXPECT_EQ(short_plan(world, planned), "+worker-0 +worker-1 +worker-2 Restarting restarts=1");
  EXPECT_EQ(text_at(planned.plan.writes.back().object, {"metadata", "labels", kGenerationLabel}),
            "1");
  world = training_world(tree, {"worker-0 Running gen=1", "worker-1 Running gen=1 deleting",
                                "worker-2 Running gen=1"});
  planned = plan_training_job(world);
  EXPECT_EQ(short_plan(world, planned), "Restarting restarts=1") << "a lost rank costs nothing";
  EXPECT_EQ(int_at(planned_tree(world, planned), {"status", "restartGeneration"}), 2);
  world = training_world(changed(tree, "status: {completedIndexes: {Worker: '1'}}"),
                         {"worker-0 Failed 9 gen=1", "worker-1 Succeeded 0 gen=1"});
  EXPECT_EQ(
      find_path(planned_tree(world, plan_training_job(world)), {"status", "completedIndexes"}),
      nullptr)
      << "who was done does it again with the others";
}

struct GangCase {
  std::string_view about, more;
  std::vector<std::string_view> pods;  // `unbound` ones have no node
  std::string_view size;               // what new pods are told, or those that wait
};

TEST(PlanTrainingJob, PodsSayHowManyStartAtOnce) {
  const GangCase cases[] = {
      {"all", "", {}, "3"},
      {"as many as the job asks for",
       "spec: {runPolicy: {schedulingPolicy: {minAvailable: 2}}}",
       {},
       "2"},
      {"more than there are: it waits",
       "spec: {runPolicy: {schedulingPolicy: {minAvailable: 10}}}",
       {},
       "10"},
      {"one that comes again is not kept by one that is done",
       "",
       {"worker-0 Succeeded 0", "worker-1 Running"},
       "2"},
      {"nor by one that is about to go",
       "",
       {"worker-0 Running deleting", "worker-1 Running"},
       "2"},
      {"those that wait are told when it changes",
       "spec: {jaxReplicaSpecs: {Worker: {replicas: 2}}}",
       {"worker-0 Pending node=", "worker-1 Pending node="},
       "2"},
  };
  for (const GangCase& row : cases) {
    SCOPED_TRACE(row.about);
    const TrainingWorld world =
        training_world(training_tree("JAXJob", {{"Worker", 3}}, row.more), row.pods);
    const TrainingPlan planned = plan_training_job(world);
    size_t told = 0;
    for (const ClientWrite& write : planned.plan.writes) {
      if (write.resource != kPodResource) continue;
      EXPECT_EQ(text_at(write.object, {"metadata", "annotations", kGangSize}), row.size);
      ++told;
    }
    EXPECT_GT(told, 0u);
  }
}

TEST(PlanTrainingJob, APodOnALostNodeIsLetGo) {
  const Json tree = training_tree("JAXJob", {{"Worker", 2}});
  TrainingWorld world = training_world(
      tree, {"worker-0 Running", "worker-1 Running deleting node=n2"}, kTestNow + 10s);
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "Running") << "its node is well";
  world.lost_nodes = {"n2"};
  EXPECT_EQ(plan_training_job(world).plan.requeue_after, Duration(50s));
  world.now = kTestNow + 60s;
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "xworker-1 Running");
  world.settings.frees_lost_pods = false;
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "Running") << "unless nobody wants that";
}

// R2: a disruption costs a restart only where it is configured to.
TEST(PlanTrainingJob, DisruptionsCountWhenTheyAreToldTo) {
  for (const char* lost : {"worker-1 Failed evicted", "worker-1 Running evicted deleting"}) {
    SCOPED_TRACE(lost);
    const Json tree = training_tree("JAXJob", {{"Worker", 2, "OnFailure"}},
                                    "spec: {runPolicy: {backoffLimit: 1}}");
    TrainingWorld world = training_world(tree, {"worker-0 Running", lost});
    EXPECT_EQ(int_at(planned_tree(world, plan_training_job(world)), {"status", "restarts"}), 0);
    world.settings.counts_disruptions = true;
    const Json next = planned_tree(world, plan_training_job(world));
    EXPECT_EQ(int_at(next, {"status", "restarts"}), 1);
    TrainingWorld again = training_world(next, {"worker-0 Running", lost});
    again.settings.counts_disruptions = true;
    EXPECT_EQ(int_at(planned_tree(again, plan_training_job(again)), {"status", "restarts"}), 1)
        << "once";
    TrainingWorld second = training_world(next, {"worker-0 Running evicted deleting"});
    second.settings.counts_disruptions = true;
    EXPECT_EQ(states_of(planned_tree(second, plan_training_job(second))).find("Failed") !=
                  std::string::npos,
              true)
        << "and the limit holds";
  }
}

TEST(PlanTrainingJob, CountsWhatIsThere) {
  const TrainingWorld world =
      training_world(training_tree("PyTorchJob", {{"Master"}, {"Worker", 4}}),
                     {"master-0 Running", "worker-0 Running", "worker-1 Succeeded 0",
                      "worker-2 Failed 1", "worker-3 Running deleting"});
  const Json tree = planned_tree(world, plan_training_job(world));
  EXPECT_EQ(to_text(*find_path(tree, {"status", "replicaStatuses"})),
            R"({"Master":{"active":1,"selector":"training.kubeflow.org/job-name=j,)"
            R"(training.kubeflow.org/operator-name=pytorchjob-controller,)"
            R"(training.kubeflow.org/replica-type=master"},"Worker":{"active":1,"succeeded":1,)"
            R"("failed":1,"selector":"training.kubeflow.org/job-name=j,)"
            R"(training.kubeflow.org/operator-name=pytorchjob-controller,)"
            R"(training.kubeflow.org/replica-type=worker"}})");
}

TEST(PlanTrainingJob, WhatRanAtASuccessBelongsToIt) {
  const std::string_view done =
      "{spec: {runPolicy: {cleanPodPolicy: None}}, status: {completionTime: "
      "'2023-11-14T22:13:20Z', "
      "replicaStatuses: {PS: {active: 2}, Worker: {succeeded: 1}}, conditions: [{type: Created, "
      "status: 'True'}, {type: Succeeded, status: 'True'}]}}";
  TrainingWorld world = training_world(training_tree("TFJob", {{"Worker"}, {"PS", 2}}, done),
                                       {"ps-0 Running", "ps-1 Running"});
  const Json tree = planned_tree(world, plan_training_job(world));
  EXPECT_EQ(to_text(*find_path(tree, {"status", "replicaStatuses"})),
            R"({"PS":{"succeeded":2},"Worker":{"succeeded":1}})");
  world = training_world(tree, {"ps-0 Running", "ps-1 Running"});
  EXPECT_TRUE(plan_training_job(world).plan.is_nothing()) << "once";
}

TEST(PlanTrainingJob, NothingChangesNothingIsWritten) {
  const Json tree = training_tree("PyTorchJob", {{"Master"}, {"Worker", 2}});
  const std::vector<std::string_view> pods{"master-0 Running", "worker-0 Running",
                                           "worker-1 Running"};
  TrainingWorld world = training_world(tree, pods);
  world = training_world(planned_tree(world, plan_training_job(world)), pods, kTestNow + 5s);
  EXPECT_TRUE(plan_training_job(world).plan.is_nothing());
}

TEST(PlanTrainingJob, SaysOnceWhatIsWrong) {
  TrainingWorld world = training_world(training_tree(
      "PyTorchJob", {{"Master"}},
      "spec: {pytorchReplicaSpecs: {Master: {template: {spec: {restartPolicy: Never}}}}}"));
  TrainingPlan planned = plan_training_job(world);
  ASSERT_EQ(planned.remarks.size(), 1u);
  EXPECT_EQ(planned.remarks[0].note.reason, "SetPodTemplateRestartPolicy");
  EXPECT_EQ(text_at(planned.plan.writes.back().object, {"spec", "restartPolicy"}), "OnFailure");
  const Json waiting = changed(pod_tree(world.job, "master-0 Pending"),
                               "status: {containerStatuses: [{name: pytorch, state: {waiting: "
                               "{reason: ErrImagePull, message: "
                               "no such image}}}]}");
  world.pods = {replica_pod(world.job, waiting, 1)};
  planned = plan_training_job(world);
  ASSERT_EQ(planned.remarks.size(), 1u);
  EXPECT_EQ(planned.remarks[0].note.reason, "ErrImagePull");
  EXPECT_EQ(planned.remarks[0].note.message,
            "Error pod j-master-0 container pytorch waiting message: no such image");
  const Json unscheduled = changed(
      pod_tree(world.job, "master-0 Pending"),
      "status: {containerStatuses: null, conditions: [{type: PodScheduled, status: 'False', "
      "reason: Unschedulable, message: no node}]}");
  world.pods = {replica_pod(world.job, unscheduled, 1)};
  EXPECT_EQ(plan_training_job(world).remarks.at(0).note.message,
            "Error pod j-master-0 condition message: no node");
  world.pods = {replica_pod(world.job, pod_tree(world.job, "master-0 Running 3"), 1)};
  planned = plan_training_job(world);
  EXPECT_EQ(planned.remarks.at(0).note.message, "Pod: default.j-master-0 exited with code 3");
  EXPECT_EQ(planned.remarks.at(1).note.message,
            "Error pod j-master-0 container pytorch exitCode: 3 terminated message: ");
}

// A thousand replicas are made in a few passes of bounded size; the bound on time is generous, for
// a busy machine.
TEST(PlanTrainingJob, AThousandReplicasAreNoTrouble) {
  for (const std::string_view kind : {"PyTorchJob", "TFJob", "XGBoostJob", "JAXJob"}) {
    SCOPED_TRACE(kind);
    std::vector<TypeDraft> types{{"Worker", 1000}};
    if (kind != "JAXJob") types.push_back({"Master", 1});
    TrainingWorld world = training_world(training_tree(kind, types));
    size_t passes = 0, made = 0;
    for (; passes < 50 && made < static_cast<size_t>(world.job.total()); ++passes) {
      const TrainingPlan planned = plan_training_job(world);
      EXPECT_LE(planned.plan.writes.size(), 2 * world.settings.most_creates);
      for (const ClientWrite& write : planned.plan.writes) {
        if (write.resource != kPodResource) continue;
        ++made;
        world.pods.push_back(replica_pod(world.job, write.object, 1));
        world.services.push_back(write.name);
      }
    }
    EXPECT_LE(passes, 21u);
    const TrainingPlan planned = plan_training_job(world);
    EXPECT_TRUE(planned.plan.writes.empty());
  }
}

}  // namespace
}  // namespace yard
