// The controller on the real API server: what users see of a job's life.

#include "controllers/training/training_controller.h"

#include <gtest/gtest.h>

#include "sim/training_yard.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

std::string pytorch(const std::string& restart = "OnFailure", const std::string& policy = "{}") {
  return training_spec("PyTorchJob", {{"Master", 1, restart}, {"Worker", 2, restart}}, policy);
}

TEST(TrainingController, FromCreatedToSucceeded) {
  TrainingYard yard;
  const Json job = yard.tree_of("PyTorchJob", "j", pytorch());
  ASSERT_EQ(yard.create_training(job).status, 201);
  EXPECT_EQ(yard.pods_text(), "j-master-0 Pending, j-worker-0 Pending, j-worker-1 Pending");
  EXPECT_EQ(yard.states("PyTorchJob"), "Created");
  EXPECT_EQ(to_text(*find(yard.training_job_named("PyTorchJob"), "spec")),
            to_text(*find(changed(job, "spec: {runPolicy: {suspend: false}}"), "spec")))
      << "defaults are not written back";
  EXPECT_EQ(yard.client->list(kReplicaServiceResource, "default").size(), 3u);
  yard.start_all();
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running");
  yard.end("j-master-0", 0);
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running=False Succeeded");
  EXPECT_EQ(
      yard.events("PyTorchJobSucceeded"),
      std::vector<std::string>{"PyTorchJobSucceeded: PyTorchJob j is successfully completed."});
  yard.settle(29s);
  EXPECT_EQ(yard.pods_text(), "j-master-0 Succeeded, j-worker-0 Running, j-worker-1 Running");
  yard.settle(2s);
  yard.strike_deadlines();
  EXPECT_EQ(yard.pods_text(), "j-master-0 Succeeded, j-worker-0 Failed, j-worker-1 Failed")
      << "stopped, and there to be read";
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running=False Succeeded") << "an end stays";
  const Json status = *find(yard.training_job_named("PyTorchJob"), "status");
  EXPECT_EQ(int_at(status, {"replicaStatuses", "Worker", "succeeded"}), 2);
  EXPECT_NE(yard.training->metrics().find(
                R"(jobs_successful_total{job_namespace="default",framework="pytorch"} 1)"),
            std::string::npos);
  for (const char* line : {"created_pods_total{job_namespace=\"default\"} 3\n",
                           "succeeded_service_creation_total{job_namespace=\"default\"} 3\n",
                           "created_pod_groups_total 0\n"})
    EXPECT_NE(yard.training->metrics().find(line), std::string::npos) << line;
  EXPECT_TRUE(yard.training->is_idle());
}

TEST(TrainingController, ARestartCountsOnceWhateverCrashes) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch("ExitCode"))).status, 201);
  yard.start_all();
  yard.end("j-worker-0", 137);
  EXPECT_EQ(int_at(yard.training_job_named("PyTorchJob"), {"status", "restarts"}), 1);
  EXPECT_NE(yard.training->metrics().find("failed_pods_total{job_namespace=\"default\"} 1\n"),
            std::string::npos);
  yard.crash_and_start_all();
  yard.settle();
  yard.reap();
  EXPECT_EQ(yard.pods_text(), "j-master-0 Running, j-worker-0 Pending, j-worker-1 Running");
  EXPECT_EQ(int_at(yard.training_job_named("PyTorchJob"), {"status", "restarts"}), 1);
  EXPECT_EQ(find_path(yard.training_job_named("PyTorchJob"), {"status", "restartingPods"}),
            nullptr);
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running");
  EXPECT_EQ(yard.events("PyTorchJobRestarting").size(), 1u);
}

TEST(TrainingController, AfterARestartOfOursNothingIsToldAgain) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch())).status, 201);
  yard.start_all();
  yard.end("j-worker-1", 0);
  const size_t told = yard.events().size();
  yard.crash_and_start_all();
  yard.settle(1s);
  EXPECT_EQ(yard.events().size(), told);
  EXPECT_EQ(yard.training->metrics().find("restarted_total{"), std::string::npos);
}

TEST(TrainingController, BackOffEndsInFailedWithTheReason) {
  TrainingYard yard;
  ASSERT_EQ(
      yard.create_training(yard.tree_of("JAXJob", "j",
                                        training_spec("JAXJob", {{"Worker", 2, "ExitCode"}},
                                                      "{backoffLimit: 2, cleanPodPolicy: None}")))
          .status,
      201);
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_TRUE(yard.api.loop.run_until(
        [&] {
          return text_at(yard.pod("j-worker-1"), {"status", "phase"}) == "Pending";
        },
        1min));
    yard.start_all();
    yard.end("j-worker-1", 139);
    yard.reap();
  }
  const Json job = yard.training_job_named("JAXJob");
  EXPECT_EQ(yard.states("JAXJob"), "Created Running=False Failed");
  EXPECT_EQ(int_at(job, {"status", "restarts"}), 2);
  const JsonArray& conditions = list_at(job, {"status", "conditions"});
  EXPECT_EQ(
      text_at(conditions.at(2), {"message"}),
      "Job j has failed because it has reached the specified backoff limit; first failure: pod "
      "j-worker-1 container jax exit 139 (Error) on node n1");
  yard.strike_deadlines();
  EXPECT_EQ(yard.pods_text(), "j-worker-0 Failed, j-worker-1 Failed") << "their logs can be read";
}

TEST(TrainingController, TheDeadlineStrikesAlsoOverARestart) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j",
                                              pytorch("OnFailure", "{activeDeadlineSeconds: 30}")))
                .status,
            201);
  yard.start_all();
  yard.settle(10s);
  yard.crash_and_start_all();
  yard.settle(15s);
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running");
  yard.settle(6s);
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running=False Failed");
}

TEST(TrainingController, AJobExpires) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("TFJob", "j",
                                              training_spec("TFJob", {{"Worker", 1, "ExitCode"}},
                                                            "{ttlSecondsAfterFinished: 10}")))
                .status,
            201);
  yard.start_all();
  yard.end("j-worker-0", 1);
  EXPECT_EQ(yard.states("TFJob"), "Created Running=False Failed");
  yard.settle(8s);
  EXPECT_FALSE(yard.training_job_named("TFJob").is_null());
  yard.settle(3s);
  EXPECT_TRUE(yard.training_job_named("TFJob").is_null());
  EXPECT_EQ(yard.events("SuccessfulDeleteJob"),
            std::vector<std::string>{"SuccessfulDeleteJob: Deleted job: j"});
}

TEST(TrainingController, DeletedPodsComeAgainWhateverThePolicy) {
  for (const char* restart : {"Never", "OnFailure", "Always", "ExitCode"}) {
    SCOPED_TRACE(restart);
    TrainingYard yard;
    ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch(restart))).status, 201);
    yard.start_all();
    yard.delete_pod("j-worker-1");
    EXPECT_EQ(yard.pods_text(), "j-master-0 Running, j-worker-0 Running, j-worker-1 Running-");
    yard.reap();
    EXPECT_EQ(yard.pods_text(), "j-master-0 Running, j-worker-0 Running, j-worker-1 Pending");
    EXPECT_EQ(yard.states("PyTorchJob"), "Created Running");
    EXPECT_EQ(int_at(yard.training_job_named("PyTorchJob"), {"status", "restarts"}), 0);
  }
}

TEST(TrainingController, SuspendedByKueueAndStartedByIt) {
  TrainingYard yard;
  ASSERT_EQ(
      yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch("OnFailure", "{suspend: true}")))
          .status,
      201);
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Suspended");
  EXPECT_EQ(yard.pods_text(), "");
  EXPECT_EQ(
      yard.change_training("PyTorchJob", "j",
                           "spec: {runPolicy: {suspend: false}, pytorchReplicaSpecs: {Worker: "
                           "{template: {spec: {nodeSelector: {a: b}}}}}}")
          .status,
      200);
  yard.start_all();
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Suspended=False Running");
  EXPECT_EQ(text_at(yard.pod("j-worker-0"), {"spec", "nodeSelector", "a"}), "b");
  yard.change_training("PyTorchJob", "j", "spec: {runPolicy: {suspend: true}}");
  yard.reap();
  EXPECT_EQ(yard.pods_text(), "");
  EXPECT_TRUE(yard.client->list(kReplicaServiceResource, "default").empty());
  EXPECT_EQ(yard.states("PyTorchJob"), "Created Running=False Suspended");
  EXPECT_EQ(yard.events("PyTorchJobSuspended").size(), 1u);
}

TEST(TrainingController, ScalesByItsSubresource) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch())).status, 201);
  const std::string scale = TrainingYard::path_of("PyTorchJob") + "/j/scale";
  EXPECT_EQ(yard.api.patch(scale, R"({"spec":{"replicas":3}})").status, 200);
  yard.settle();
  EXPECT_EQ(yard.active().size(), 4u);
  EXPECT_EQ(yard.api.patch(scale, R"({"spec":{"replicas":1}})").status, 200);
  yard.settle();
  yard.reap();
  EXPECT_EQ(yard.pods_text(), "j-master-0 Pending, j-worker-0 Pending");
  EXPECT_EQ(yard.client->list(kReplicaServiceResource, "default").size(), 2u);
}

TEST(TrainingController, SomebodyElsesPodIsInTheWay) {
  TrainingYard yard;
  ASSERT_EQ(
      yard.api
          .call(
              "POST", "/api/v1/namespaces/default/pods",
              R"({"metadata":{"name":"j-worker-0"},"spec":{"containers":[{"name":"a","image":"i"}]}})")
          .status,
      201);
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch())).status, 201);
  yard.settle(1s);
  EXPECT_EQ(yard.states("PyTorchJob"), "Created") << "the status does not wait for it";
  EXPECT_FALSE(yard.events("FailedCreatePod").empty());
  yard.api.call("DELETE", "/api/v1/namespaces/default/pods/j-worker-0",
                R"({"gracePeriodSeconds":0})");
  yard.settle(2min);
  EXPECT_EQ(yard.pods_text(), "j-master-0 Pending, j-worker-0 Pending, j-worker-1 Pending");
}

// R16: its Service is there and ours, but no longer says whose replica it serves.
TEST(TrainingController, WhatIsThereAlreadyHoldsNobodyUp) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch())).status, 201);
  const std::string path = "/api/v1/namespaces/default/services/j-worker-0";
  ASSERT_EQ(yard.api.patch(path, R"({"metadata":{"labels":null}})").status, 200);
  for (const char* lost : {"j-worker-0", "j-worker-1"}) {
    yard.api.call("DELETE", std::string("/api/v1/namespaces/default/pods/") + lost,
                  R"({"gracePeriodSeconds":0})");
    yard.settle(100ms);
    EXPECT_EQ(yard.pods_text(), "j-master-0 Pending, j-worker-0 Pending, j-worker-1 Pending")
        << "without the pause that follows an error";
  }
  EXPECT_NE(yard.training->metrics().find("failed_service_creation_total{"), std::string::npos);
  EXPECT_TRUE(yard.events("FailedCreateService").empty());
}

// R16: what is there already, and ours, is no trouble: nobody is told of it, and nothing waits.
TEST(TrainingController, NothingIsMadeTwiceWhileCommitsAreSlow) {
  TrainingYard yard(7, {.longest_commit = 300ms});
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch())).status, 201);
  for (int looks = 0; looks < 20; ++looks) {
    yard.change_training("PyTorchJob", "j",
                         fmt::format("metadata: {{labels: {{look: '{}'}}}}", looks));
    yard.api.loop.advance(40ms);
  }
  yard.settle(2s);
  EXPECT_EQ(yard.pods_text(), "j-master-0 Pending, j-worker-0 Pending, j-worker-1 Pending");
  EXPECT_EQ(yard.events("SuccessfulCreatePod").size(), 3u);
  EXPECT_TRUE(yard.events("FailedCreatePod").empty());
}

TEST(TrainingController, ALeaderThatEndsWhileItsWorkersWaitForRoom) {
  for (const int code : {0, 3, 137}) {
    SCOPED_TRACE(code);
    TrainingYard yard;
    ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch("ExitCode"))).status,
              201);
    yard.start("j-master-0");  // the workers have no node yet
    yard.settle();
    yard.end("j-master-0", code);
    if (code == 137) {
      yard.reap();
      yard.settle(1s);
      EXPECT_EQ(yard.states("PyTorchJob"), "Created Restarting");
      EXPECT_EQ(int_at(yard.training_job_named("PyTorchJob"), {"status", "restarts"}), 1);
      EXPECT_EQ(yard.active().size(), 3u) << "it comes again, and the others still wait";
      continue;
    }
    EXPECT_TRUE(yard.states("PyTorchJob").ends_with(code == 0 ? "Succeeded" : "Failed"));
    yard.settle(31s);
    yard.strike_deadlines();
    yard.reap();
    EXPECT_EQ(yard.pods_text(), code == 0 ? "j-master-0 Succeeded" : "j-master-0 Failed")
        << "what never ran has no log to keep";
  }
}

TEST(TrainingController, GangRestartByConfiguration) {
  TrainingYard yard;
  TrainingSettings settings;
  settings.gang_restart = true;
  yard.training = std::make_unique<TrainingController>(yard.api.loop, *yard.client, settings);
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "j", pytorch("ExitCode"))).status, 201);
  ASSERT_EQ(yard.create_training(yard.tree_of("PyTorchJob", "k", pytorch("ExitCode"),
                                              "annotations: {trainyard.dev/gang-restart: 'false'}"))
                .status,
            201);
  yard.start_all();
  yard.end("j-worker-0", 137);
  yard.end("k-worker-0", 137);
  yard.reap();
  yard.settle(1s);
  EXPECT_EQ(yard.pods_text(),
            "j-master-0 Pending, j-worker-0 Pending, j-worker-1 Pending, k-master-0 Running, "
            "k-worker-0 Pending, k-worker-1 Running")
      << "a job may say no for itself";
}

TEST(TrainingController, AThousandReplicasOverTheApi) {
  TrainingYard yard;
  ASSERT_EQ(yard.create_training(yard.tree_of("JAXJob", "j",
                                              training_spec("JAXJob", {{"Worker", 1000, "Never"}})))
                .status,
            201);
  ASSERT_TRUE(yard.api.loop.run_until([&] { return yard.active().size() == 1000; }, 10s));
}

TEST(TrainingController, TFJobsOf2019AreV1) {
  TrainingYard yard;
  Json old = yard.tree_of("TFJob", "j", training_spec("TFJob", {{"Master"}, {"PS"}, {"Worker"}}));
  old.get_object()["apiVersion"] = "kubeflow.org/v1beta1";
  old.get_object()["spec"].get_object()["cleanPodPolicy"] = "All";
  const std::string path = "/apis/kubeflow.org/v1beta1/namespaces/default/tfjobs";
  const Answer made = yard.api.call("POST", path, to_text(old));
  ASSERT_EQ(made.status, 201) << made.text;
  yard.settle();
  EXPECT_EQ(text_at(made.json, {"apiVersion"}), "kubeflow.org/v1beta1");
  EXPECT_EQ(text_at(yard.training_job_named("TFJob"), {"apiVersion"}), "kubeflow.org/v1");
  EXPECT_EQ(text_at(yard.api.call("GET", path + "/j").json, {"apiVersion"}),
            "kubeflow.org/v1beta1");
  yard.start_all();
  yard.end("j-master-0", 0);
  yard.reap();
  EXPECT_EQ(yard.states("TFJob"), "Created Running=False Succeeded");
  EXPECT_EQ(yard.pods_text(), "") << "the clean-up policy was found in its old place";
}

TEST(TrainingController, BothMpiJobsLieInOneStorage) {
  TrainingYard yard;
  Json job =
      yard.tree_of("MPIJob", "j",
                   training_spec("MPIJob", {{"Launcher", 1, "OnFailure"}, {"Worker", 2, "Never"}}));
  job.get_object()["apiVersion"] = "kubeflow.org/v2beta1";
  const std::string path = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs";
  const Answer made = yard.api.call("POST", path, to_text(job));
  ASSERT_EQ(made.status, 201) << made.text;
  yard.settle();
  const Json stored = yard.training_job_named("MPIJob");
  EXPECT_EQ(text_at(stored, {"metadata", "annotations", kWrittenAs}), "v2beta1");
  for (const char* line :
       {"mpi_operator_jobs_created_total 1\n", "mpi_operator_jobs_failed_total 0\n",
        "mpi_operator_job_info{launcher=\"j-launcher\",namespace=\"default\"} 1"})
    EXPECT_NE(yard.training->metrics().find(line), std::string::npos) << line;
  EXPECT_EQ(yard.pods_text(), "j-launcher Pending, j-worker-0 Pending, j-worker-1 Pending");
  EXPECT_NE(yard.client->get({"v1", "ConfigMap"}, "default", "j-config"), nullptr);
  EXPECT_NE(yard.client->get(kReplicaServiceResource, "default", "j"), nullptr);
  yard.start_all();
  const ObjectPtr config = yard.client->get({"v1", "ConfigMap"}, "default", "j-config");
  EXPECT_NE(text_at(config->tree(), {"data", "discover_hosts.sh"}).find("j-worker-1"),
            std::string_view::npos);
}

}  // namespace
}  // namespace yard
