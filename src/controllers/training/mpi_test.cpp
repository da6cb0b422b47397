#include <gtest/gtest.h>

#include "controllers/training/mpi_files.h"
#include "controllers/training/training_testing.h"

namespace yard {
namespace {

const Json* extra_named(const std::vector<Json>& extras, std::string_view kind) {
  for (const Json& extra : extras)
    if (text_at(extra, {"kind"}) == kind) return &extra;
  return nullptr;
}

TEST(Mpi, WritesTheFilesMpirunReads) {
  const TrainingWorld world =
      training_world(training_tree("MPIJob", {{"Launcher"}, {"Worker", 2}},
                                   "spec: {slotsPerWorker: 2, mainContainer: main}"),
                     {"worker-1 Running", "worker-0 Running", "launcher Pending"});
  const auto extras = kMpi.extra_objects(world.job, {}, world.pods);
  const Json* config = extra_named(extras, "ConfigMap");
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(text_at(*config, {"data", "hostfile"}), "j-worker-0 slots=2\nj-worker-1 slots=2\n");
  EXPECT_EQ(text_at(*config, {"data", "discover_hosts.sh"}),
            "#!/bin/sh\necho j-worker-0:2\necho j-worker-1:2");
  EXPECT_EQ(text_at(*config, {"data", "kubexec.sh"}),
            "#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME} "
            "--container main -- /bin/sh -c \"$*\"");
  const Json* role = extra_named(extras, "Role");
  ASSERT_NE(role, nullptr);
  EXPECT_EQ(to_text(*find(list_at(*role, {"rules"}).at(1), "resourceNames")),
            R"(["j-worker-0","j-worker-1"])");
  const Json worker = PodMaker(world.job, *world.job.group("Worker"), "", {}, 3).make(0);
  EXPECT_EQ(to_text(*find(list_at(worker, {"spec", "containers"}).at(0), "command")),
            R"(["sleep"])");
}

TEST(Mpi, ALauncherWithAGpuTakesRanksItself) {
  const std::string_view limits[] = {"nvidia.com/gpu", "amd.com/gpu", "my-gpu-thing"};
  for (const std::string_view limit : limits) {
    const TrainingWorld world = training_world(training_tree(
        "MPIJob", {{"Launcher"}, {"Worker", 1}},
        fmt::format(
            "spec: {{mpiReplicaSpecs: {{Launcher: {{template: {{spec: {{containers: [{{name: "
            "mpi, image: i, resources: {{limits: {{{}: 1}}}}}}]}}}}}}}}}}",
            limit)));
    const auto extras = kMpi.extra_objects(world.job, {}, world.pods);
    EXPECT_EQ(text_at(*extra_named(extras, "ConfigMap"), {"data", "hostfile"}),
              "j-launcher slots=1\nj-worker-0 slots=1\n");
    EXPECT_EQ(text_at(*extra_named(extras, "ConfigMap"), {"data", "discover_hosts.sh"}),
              "#!/bin/sh\necho j-launcher:1\n");
  }
}

TEST(Mpi, ALauncherOfV2Beta1MayWaitForItsWorkers) {
  const std::string_view more =
      "{metadata: {annotations: {trainyard.dev/written-as: v2beta1}}, spec: "
      "{launcherCreationPolicy: WaitForWorkersReady}}";
  const Json tree = training_tree("MPIJob", {{"Launcher", 1, ""}, {"Worker", 2, ""}}, more);
  TrainingWorld world = training_world(tree);
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "+worker-0 +worker-1 Created");
  world = training_world(tree, {"worker-0 Running", "worker-1 Pending"});
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "Created");
  world = training_world(tree, {"worker-0 Running", "worker-1 Running"});
  EXPECT_EQ(short_plan(world, plan_training_job(world)), "+launcher Created");
  const auto extras = kMpiSsh.extra_objects(world.job, {}, world.pods);
  EXPECT_EQ(text_at(*extra_named(extras, "ConfigMap"), {"data", "hostfile"}),
            "j-worker-0.j.default.svc slots=1\nj-worker-1.j.default.svc slots=1\n");
  EXPECT_EQ(text_at(*extra_named(extras, "ConfigMap"), {"data", "discover_hosts.sh"}),
            "#!/bin/sh\necho j-worker-0.j.default.svc\necho j-worker-1.j.default.svc\n");
}

// A worker's end is the job's: then nobody needs its launcher, but its log.
TEST(Mpi, ALauncherOfV2Beta1IsStoppedAndStaysToBeRead) {
  for (const char* policy : {"All", "Running"}) {
    SCOPED_TRACE(policy);
    const Json tree = training_tree(
        "MPIJob", {{"Launcher"}, {"Worker", 2}},
        fmt::format("{{metadata: {{annotations: {{trainyard.dev/written-as: v2beta1}}}}, spec: "
                    "{{runPolicy: {{cleanPodPolicy: {}}}}}, status: {{completionTime: "
                    "'2023-11-14T22:13:20Z', conditions: [{{type: Failed, status: 'True'}}]}}}}",
                    policy));
    TrainingWorld world = training_world(tree, {"launcher Running", "worker-0 Running"});
    EXPECT_EQ(short_plan(world, plan_training_job(world)), "-worker-0 !launcher Failed");
    world = training_world(tree, {"launcher Running deadline=1"});
    EXPECT_EQ(short_plan(world, plan_training_job(world)), "Failed") << "once";
    world = training_world(tree, {"launcher Pending unstarted"});
    EXPECT_EQ(short_plan(world, plan_training_job(world)), "-launcher Failed");
  }
}

TrainingSettings with_program() {
  TrainingSettings out;
  out.exec_program = "/usr/bin/trainyard";
  return out;
}
std::string names_in(const Json& pod, const char* list) {
  std::string out;
  for (const Json& each : list_at(pod, {"spec", list}))
    out += (out.empty() ? "" : " ") + std::string(text_at(each, {"name"}));
  return out;
}
std::string variable_in(const Json& pod, std::string_view name) {
  for (const Json& each : list_at(list_at(pod, {"spec", "containers"}).at(0), {"env"}))
    if (text_at(each, {"name"}) == name) return std::string(text_at(each, {"value"}));
  return "-";
}
std::string command_in(const Json& pod) {
  const Json& container = list_at(pod, {"spec", "containers"}).at(0);
  std::string out;
  for (const char* key : {"command", "args"})
    for (const Json& word : list_at(container, {key}))
      out += (out.empty() ? "" : " ") + std::string(text_of(word));
  return out;
}

TEST(Mpi, TheLaunchersKubectlIsThisMachinesOrBroughtAlong) {
  const TrainingWorld world =
      training_world(training_tree("MPIJob", {{"Launcher"}, {"Worker", 1}}));
  const auto launcher_with = [&](const TrainingSettings& settings) {
    return PodMaker(world.job, *world.job.group("Launcher"), "", settings, 2).make(0);
  };
  const Json elsewhere = launcher_with({});
  EXPECT_EQ(names_in(elsewhere, "initContainers"), "kubectl-delivery");
  EXPECT_EQ(names_in(elsewhere, "volumes"), "mpi-job-config mpi-job-kubectl");
  const Json here = launcher_with(with_program());
  EXPECT_EQ(names_in(here, "initContainers"), "");
  EXPECT_EQ(text_at(list_at(here, {"spec", "volumes"}).at(1), {"hostPath", "path"}),
            "/usr/bin/trainyard");
}

TEST(Mpi, V2Beta1SpeaksSshOnlyWhereItMust) {
  struct Row {
    const char* about;
    const char* implementation;
    const char* worker;  // of its container
    const char* agent;   // variable of the launcher
    const char* here;    // the worker's command where we have a program for exec
    const char* elsewhere;
  };
  const Row rows[] = {
      {"a worker without a program waits", "OpenMPI", "{}", "OMPI_MCA_plm_rsh_agent", "sleep 365d",
       "/usr/sbin/sshd -De"},
      {"nobody calls its sshd", "Intel", "{command: [/usr/sbin/sshd], args: [-De, -f, conf]}",
       "I_MPI_HYDRA_BOOTSTRAP_EXEC", "sleep 365d", "/usr/sbin/sshd -De -f conf"},
      {"another program is left alone", "MPICH", "{command: [serve]}", "HYDRA_LAUNCHER_EXEC",
       "serve", "serve"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.about);
    Json tree = training_tree(
        "MPIJob", {{"Launcher"}, {"Worker", 1}},
        fmt::format("{{metadata: {{annotations: {{trainyard.dev/written-as: v2beta1}}}}, spec: "
                    "{{mpiImplementation: {}, mpiReplicaSpecs: {{Worker: {{template: {{spec: "
                    "{{containers: [{}]}}}}}}}}}}}}",
                    row.implementation, row.worker));
    const TrainingWorld world = training_world(tree);
    const TrainingSettings here = with_program();
    const auto made = [&](const char* type, const TrainingSettings& settings) {
      return PodMaker(world.job, *world.job.group(type), "", settings, 2).make(0);
    };
    EXPECT_EQ(command_in(made("Worker", here)), row.here);
    EXPECT_EQ(command_in(made("Worker", {})), row.elsewhere);
    EXPECT_EQ(variable_in(made("Launcher", here), row.agent), "/etc/mpi/kubexec.sh");
    EXPECT_EQ(variable_in(made("Launcher", {}), row.agent), "-");
    EXPECT_EQ(text_at(made("Launcher", here), {"spec", "serviceAccountName"}), "j-launcher");
    EXPECT_NE(extra_named(kMpiSsh.extra_objects(world.job, here, {}), "Role"), nullptr);
    EXPECT_EQ(extra_named(kMpiSsh.extra_objects(world.job, {}, {}), "Role"), nullptr);
  }
}

}  // namespace
}  // namespace yard
