// The policies one by one, each over every kind it holds for (kubeflow-jobs 3.3 – 3.10, R2 – R4).

#include <gtest/gtest.h>

#include "controllers/training/job_conditions.h"
#include "controllers/training/training_end.h"
#include "controllers/training/training_testing.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

struct FateCase {
  std::string_view about, restart, pod;  // what follows the name of the pod
  std::string_view plan;  // `*` is the pod; once it is written down, the next look deletes it
};

// A worker's end under each policy, the same for every kind.
TEST(TrainingPolicies, WhatTheEndOfAPodMeans) {
  const FateCase cases[] = {
      {"Never: a failure is the job's", "Never", "Failed 1", "Failed"},
      {"Never: by a signal too", "Never", "Failed 137", "Failed"},
      {"Never: an eviction too, with its reason", "Never", "Failed evicted", "Failed"},
      {"Never: somebody deletes a running pod", "Never", "Running deleting", "Running"},
      {"Never: which ends as failed on its way out", "Never", "Failed 143 deleting", "Running"},
      {"OnFailure: a pod that failed as a whole starts over", "OnFailure", "Failed 1",
       "Restarting restarts=1"},
      {"OnFailure: an eviction costs nothing", "OnFailure", "Failed evicted", "Restarting"},
      {"OnFailure: a deleted pod is waited for", "OnFailure", "Running deleting", "Running"},
      {"OnFailure: also when it has ended", "OnFailure", "Failed 143 deleting", "Running"},
      {"Always: as OnFailure", "Always", "Failed 1", "Restarting restarts=1"},
      {"Always: an eviction costs nothing", "Always", "Failed evicted", "Restarting"},
      {"Always: a deleted pod is waited for", "Always", "Running deleting", "Running"},
      {"ExitCode: 128 is tried again", "ExitCode", "Failed 128", "Restarting restarts=1"},
      {"ExitCode: 130 is tried again", "ExitCode", "Failed 130", "Restarting restarts=1"},
      {"ExitCode: 127 is for good", "ExitCode", "Failed 127", "Failed"},
      {"ExitCode: 1 is for good", "ExitCode", "Failed 1", "Failed"},
      {"ExitCode: 0, so something beside it failed", "ExitCode", "Failed 0", "Failed"},
      {"ExitCode: no code at all is tried again", "ExitCode", "Failed", "Restarting restarts=1"},
      {"ExitCode: an eviction costs nothing", "ExitCode", "Failed evicted", "Restarting"},
      {"ExitCode: a deleted pod is waited for", "ExitCode", "Running deleting", "Running"},
  };
  for (const JobShape& shape : kJobShapes) {
    for (const FateCase& row : cases) {
      SCOPED_TRACE(fmt::format("{}: {}", shape.about(), row.about));
      const std::string running = shape.pod(0) + " Running", third = shape.pod(2) + " Running";
      const std::string ended = fmt::format("{} {}", shape.pod(1), row.pod);
      std::vector<std::string_view> pods{running, ended, third};
      const TrainingWorld world = training_world(shape.tree(row.restart), pods);
      const TrainingPlan planned = plan_training_job(world);
      EXPECT_EQ(short_plan(world, planned), row.plan);
      if (row.plan.starts_with("Restarting")) {
        // Written down first, then carried out, and only once.
        const Json next = planned_tree(world, planned);
        const TrainingWorld later = training_world(next, pods);
        const int64_t restarts = int_at(next, {"status", "restarts"});
        const std::string count = restarts == 0 ? "" : fmt::format(" restarts={}", restarts);
        EXPECT_EQ(short_plan(later, plan_training_job(later)),
                  fmt::format("-{} Restarting{}", shape.pod(1), count));
        pods.erase(pods.begin() + 1);
        const TrainingWorld gone = training_world(next, pods);
        EXPECT_EQ(short_plan(gone, plan_training_job(gone)),
                  fmt::format("+{} Running{}", shape.pod(1), count));
      }
    }
  }
}

struct EndCase {
  std::string_view about, kind;
  std::vector<TypeDraft> types;
  std::string_view more;
  std::vector<std::string_view> pods;
  std::string_view states;
  std::string_view message;  // of the last
};

TEST(TrainingPolicies, WhenAJobRunsAndWhenItHasSucceeded) {
  const EndCase cases[] = {
      {"PyTorch: the master runs",
       "PyTorchJob",
       {{"Master"}, {"Worker"}},
       "",
       {"master-0 Running", "worker-0 Pending"},
       "Created Running",
       "PyTorchJob j is running."},
      {"PyTorch: a worker alone is not the job",
       "PyTorchJob",
       {{"Master"}, {"Worker"}},
       "",
       {"master-0 Pending", "worker-0 Running"},
       "Created",
       "PyTorchJob j is created."},
      {"PyTorch: the master's success is the job's",
       "PyTorchJob",
       {{"Master"}, {"Worker"}},
       "",
       {"master-0 Succeeded 0", "worker-0 Running"},
       "Created Succeeded",
       "PyTorchJob j is successfully completed."},
      {"PyTorch: also when a worker fails in the same moment",
       "PyTorchJob",
       {{"Master"}, {"Worker", 1, "Never"}},
       "",
       {"master-0 Succeeded 0", "worker-0 Failed 1"},
       "Created Succeeded",
       "PyTorchJob j is successfully completed."},
      {"PyTorch without a master: all workers",
       "PyTorchJob",
       {{"Worker", 2}},
       "",
       {"worker-0 Succeeded 0", "worker-1 Running"},
       "Created Running",
       "PyTorchJob default/j is running."},
      {"PyTorch without a master: all workers, done",
       "PyTorchJob",
       {{"Worker", 2}},
       "",
       {"worker-0 Succeeded 0", "worker-1 Succeeded 0"},
       "Created Succeeded",
       "PyTorchJob default/j successfully completed."},
      {"elastic PyTorch: one worker is enough",
       "PyTorchJob",
       {{"Worker", 2}},
       "spec: {elasticPolicy: {}}",
       {"worker-0 Running", "worker-1 Succeeded 0"},
       "Created Succeeded",
       "PyTorchJob default/j successfully completed."},
      {"elastic PyTorch: also when another fails in the same moment",
       "PyTorchJob",
       {{"Worker", 2, "Never"}},
       "spec: {elasticPolicy: {}}",
       {"worker-0 Failed 1", "worker-1 Succeeded 0"},
       "Created Succeeded",
       "PyTorchJob default/j successfully completed."},
      {"TensorFlow: the chief",
       "TFJob",
       {{"Chief"}, {"Worker", 2}, {"PS"}},
       "",
       {"chief-0 Succeeded 0", "worker-0 Running", "worker-1 Running", "ps-0 Running"},
       "Created Succeeded",
       "TFJob default/j successfully completed."},
      {"TensorFlow: the chief, whatever a worker does at that moment",
       "TFJob",
       {{"Chief", 1, "Never"}, {"Worker", 2, "Never"}},
       "",
       {"chief-0 Succeeded 0", "worker-0 Failed 1", "worker-1 Running"},
       "Created Succeeded",
       "TFJob default/j successfully completed."},
      {"TensorFlow: worker 0 where there is no chief",
       "TFJob",
       {{"Worker", 2}, {"PS"}},
       "",
       {"worker-0 Succeeded 0", "worker-1 Running", "ps-0 Running"},
       "Created Succeeded",
       "TFJob default/j successfully completed."},
      {"TensorFlow: not another worker",
       "TFJob",
       {{"Worker", 2}},
       "",
       {"worker-0 Running", "worker-1 Succeeded 0"},
       "Created Running",
       "TFJob default/j is running."},
      {"TensorFlow: AllWorkers means all",
       "TFJob",
       {{"Worker", 2}},
       "spec: {successPolicy: AllWorkers}",
       {"worker-0 Succeeded 0", "worker-1 Running"},
       "Created Running",
       "TFJob default/j is running."},
      {"TensorFlow: dynamic workers may fail",
       "TFJob",
       {{"Worker", 2, "Never"}, {"PS"}},
       "spec: {enableDynamicWorker: true}",
       {"worker-0 Running", "worker-1 Failed 1", "ps-0 Running"},
       "Created Running",
       "TFJob default/j is running."},
      {"TensorFlow: a server that fails is the end",
       "TFJob",
       {{"Worker", 1}, {"PS", 1, "Never"}},
       "",
       {"worker-0 Running", "ps-0 Failed 1"},
       "Created Failed",
       "TFJob default/j has failed because 1 PS replica(s) failed.; first failure: pod j-ps-0 "
       "container tensorflow exit 1 (Error) on node n1"},
      {"XGBoost: the master",
       "XGBoostJob",
       {{"Master"}, {"Worker", 2}},
       "",
       {"master-0 Succeeded 0", "worker-0 Running", "worker-1 Running"},
       "Created Succeeded",
       "XGBoostJob j is successfully completed."},
      {"XGBoost: a failed worker under Never",
       "XGBoostJob",
       {{"Master"}, {"Worker", 2, "Never"}},
       "",
       {"master-0 Running", "worker-0 Failed 9", "worker-1 Failed 9"},
       "Created Failed",
       "XGBoostJob j is failed because 2 Worker replica(s) failed.; first failure: pod j-worker-0 "
       "container xgboost exit 9 (Error) on node n1"},
      {"Paddle: the workers",
       "PaddleJob",
       {{"Worker", 2}},
       "",
       {"worker-0 Succeeded 0", "worker-1 Succeeded 0"},
       "Created Succeeded",
       "PaddleJob default/j successfully completed."},
      {"Paddle: the masters",
       "PaddleJob",
       {{"Master", 2}, {"Worker", 1}},
       "",
       {"master-0 Succeeded 0", "master-1 Running", "worker-0 Running"},
       "Created Running",
       "PaddleJob j is running."},
      {"JAX: the workers",
       "JAXJob",
       {{"Worker", 2}},
       "",
       {"worker-0 Succeeded 0", "worker-1 Succeeded 0"},
       "Created Succeeded",
       "JAXJob default/j successfully completed."},
      {"MPI: the launcher",
       "MPIJob",
       {{"Launcher"}, {"Worker", 1}},
       "",
       {"launcher Succeeded 0", "worker-0 Running"},
       "Created Succeeded",
       "MPIJob j is successfully completed."},
      {"MXNet: the scheduler",
       "MXJob",
       {{"Scheduler"}, {"Server"}, {"Worker"}},
       "",
       {"scheduler-0 Succeeded 0", "server-0 Running", "worker-0 Running"},
       "Created Succeeded",
       "MXJob j is successfully completed."},
      {"MXNet: a worker of its own",
       "MXJob",
       {{"Worker"}},
       "",
       {"worker-0 Succeeded 0"},
       "Created Succeeded",
       "MXJob j is successfully completed."},
      {"MXNet: failures in small letters",
       "MXJob",
       {{"Scheduler"}, {"Worker", 1, "Never"}},
       "",
       {"scheduler-0 Running", "worker-0 Failed 1"},
       "Created Failed",
       "mxjob j is failed because 1 Worker replica(s) failed.; first failure: pod j-worker-0 "
       "container mxnet exit 1 (Error) on node n1"},
      {"a permanent exit code has words of its own",
       "JAXJob",
       {{"Worker", 2, "ExitCode"}},
       "",
       {"worker-0 Running", "worker-1 Failed 3"},
       "Created Failed",
       "job \"j\" is failing because \"Worker\" replica(s) failed.; first failure: pod j-worker-1 "
       "container jax exit 3 (Error) on node n1"},
      {"no replicas, no success",
       "JAXJob",
       {{"Worker", 0}},
       "",
       {},
       "Created",
       "JAXJob j is created."},
      {"a sidecar that lives on keeps the job from its end",
       "JAXJob",
       {{"Worker", 1}},
       "",
       {"worker-0 Running 0 sidecar"},
       "Created Running",
       "JAXJob default/j is running."},
      {"unless the main container is asked alone",
       "JAXJob",
       {{"Worker", 1}},
       "metadata: {annotations: {trainyard.dev/main-container-decides: 'true'}}",
       {"worker-0 Running 0 sidecar"},
       "Created Succeeded",
       "JAXJob default/j successfully completed."},
  };
  for (const EndCase& row : cases) {
    SCOPED_TRACE(row.about);
    const TrainingWorld world =
        training_world(training_tree(row.kind, row.types, row.more), row.pods);
    const Json tree = planned_tree(world, plan_training_job(world));
    EXPECT_EQ(states_of(tree), row.states);
    const JsonArray& conditions = list_at(tree, {"status", "conditions"});
    const Json& last = conditions.at(conditions.size() - 1);
    EXPECT_EQ(text_at(last, {"message"}), row.message);
    EXPECT_EQ(text_at(last, {"reason"}), fmt::format("{}{}", row.kind, text_at(last, {"type"})));
    const bool is_over = row.states.ends_with("Succeeded") || row.states.ends_with("Failed");
    EXPECT_EQ(find_path(tree, {"status", "completionTime"}) != nullptr, is_over);
  }
}

struct BackoffCase {
  std::string_view about;
  int limit, restarts;  // of the status
  std::vector<std::string_view> pods;
  std::string_view plan;
};

TEST(TrainingPolicies, BackoffLimitCountsRestartsInPlaceAndOurs) {
  const BackoffCase cases[] = {
      {"0 allows none in place",
       0,
       0,
       {"worker-0 Running restarts=1", "worker-1 Running"},
       "Failed"},
      {"0 is fine without restarts", 0, 0, {"worker-0 Running", "worker-1 Running"}, "Running"},
      {"3 is reached by 3 in place, over all pods",
       3,
       0,
       {"worker-0 Running restarts=1", "worker-1 Running restarts=2"},
       "Failed"},
      {"and not by 2", 3, 0, {"worker-0 Running restarts=2", "worker-1 Running"}, "Running"},
      {"pods that do not run count no more",
       3,
       0,
       {"worker-0 Pending restarts=7", "worker-1 Running"},
       "Running"},
      {"0 allows no pod to be replaced", 0, 0, {"worker-0 Running", "worker-1 Failed 1"}, "Failed"},
      {"2 allows the second",
       2,
       1,
       {"worker-0 Running", "worker-1 Failed 1"},
       "Restarting restarts=2"},
      {"and not the third", 2, 2, {"worker-0 Running", "worker-1 Failed 1"}, "Failed restarts=2"},
      {"a disruption is never too much",
       0,
       0,
       {"worker-0 Running", "worker-1 Failed evicted"},
       "Restarting"},
      {"both sorts add up",
       3,
       2,
       {"worker-0 Running restarts=1", "worker-1 Failed 1"},
       "Failed restarts=2"},
  };
  for (const std::string_view kind : {"JAXJob", "PaddleJob"}) {
    for (const BackoffCase& row : cases) {
      SCOPED_TRACE(fmt::format("{}: {}", kind, row.about));
      const TrainingWorld world = training_world(
          training_tree(kind, {{"Worker", 2, "OnFailure"}},
                        fmt::format("{{spec: {{runPolicy: {{backoffLimit: {}}}}}, status: "
                                    "{{restarts: {}}}}}",
                                    row.limit, row.restarts)),
          row.pods);
      EXPECT_EQ(short_plan(world, plan_training_job(world)), row.plan);
    }
  }
}

TEST(TrainingPolicies, RestartsWaitLongerEachTime) {
  const std::pair<int, Duration> rows[] = {{1, 0s},  {2, 10s},  {3, 20s},  {4, 40s},
                                           {5, 80s}, {6, 160s}, {7, 5min}, {1000, 5min}};
  for (const auto& [restarts, delay] : rows)
    EXPECT_EQ(restart_delay(restarts), delay) << restarts;
  const TrainingWorld world =
      training_world(training_tree("JAXJob", {{"Worker", 2}}, "status: {restarts: 1}"),
                     {"worker-0 Running", "worker-1 Failed 1"});
  const TrainingPlan planned = plan_training_job(world);
  const Json next = planned_tree(world, planned);
  EXPECT_EQ(text_at(next, {"status", "restartAfter"}), "2023-11-14T22:13:30Z");
  EXPECT_EQ(planned.plan.events.at(0).message,
            "job j is restarting because Worker replica(s) failed.; first failure: pod j-worker-1 "
            "container jax exit 1 (Error) on node n1; restart 2 follows in 10s");
  TrainingWorld early = training_world(next, {"worker-0 Running"}, kTestNow + 4s);
  EXPECT_EQ(short_plan(early, plan_training_job(early)), "Restarting restarts=2");
  EXPECT_EQ(plan_training_job(early).plan.requeue_after, Duration(6s));
  TrainingWorld due = training_world(next, {"worker-0 Running"}, kTestNow + 10s);
  EXPECT_EQ(short_plan(due, plan_training_job(due)), "+worker-1 Running restarts=2");
}

struct StateCase {
  std::string_view about;
  std::vector<JobState> states;
  std::string_view list;
};

TEST(TrainingPolicies, ConditionsKeepTheirOrder) {
  const JobState created{"Created", true, "C", ""}, running{"Running", true, "R", ""},
      held{"Suspended", true, "S", ""}, stopped{"Running", false, "S", ""},
      resumed{"Suspended", false, "Resumed", ""}, again{"Restarting", true, "A", ""},
      done{"Succeeded", true, "D", ""}, failed{"Failed", true, "F", ""};
  const StateCase cases[] = {
      {"a job that goes well", {created, running, done}, "Created Running=False Succeeded"},
      {"one that is quick", {created, done}, "Created Succeeded"},
      {"restarting takes running's place", {created, running, again}, "Created Restarting"},
      {"and gives it back", {created, running, again, running}, "Created Running"},
      {"an end leaves no restart behind", {created, again, failed}, "Created Failed"},
      {"suspended while it ran",
       {created, running, stopped, held},
       "Created Running=False Suspended"},
      {"and running again",
       {created, running, stopped, held, resumed, running},
       "Created Suspended=False Running"},
      {"the first end stays", {created, done, failed}, "Created Succeeded"},
      {"whichever it is", {created, failed, done, running}, "Created Failed"},
  };
  for (const StateCase& row : cases) {
    SCOPED_TRACE(row.about);
    JsonArray conditions;
    for (const JobState& state : row.states)
      set_state(conditions, state, kTestNow);
    EXPECT_EQ(states_of(JsonObject{{"status", JsonObject{{"conditions", conditions}}}}), row.list);
  }
  JsonArray conditions;
  EXPECT_TRUE(set_state(conditions, running, kTestNow));
  EXPECT_FALSE(set_state(conditions, {"Running", true, "R", "other words"}, kTestNow + 1s));
  EXPECT_TRUE(set_state(conditions, {"Running", true, "other reason", ""}, kTestNow + 1s));
  EXPECT_EQ(text_at(conditions[0], {"lastTransitionTime"}), rfc3339(kTestNow));
  EXPECT_EQ(text_at(conditions[0], {"lastUpdateTime"}), rfc3339(kTestNow + 1s));
}

}  // namespace
}  // namespace yard
