// What the processes of each framework are told, to the byte (kubeflow-jobs 4).

#include <gtest/gtest.h>

#include "controllers/training/training_testing.h"

namespace yard {
namespace {

// `A=1 B=2` of a container of the pod the job makes for a replica.
std::string environment_of(const TrainingJob& job, std::string_view type, int index,
                           size_t container = 0) {
  const Framework& framework = framework_of(*job.kind);
  const std::string shared = framework.shared != nullptr ? framework.shared(job) : "";
  const ReplicaGroup* group = job.group(type);
  if (group == nullptr) return "no such type";
  const Json pod = PodMaker(job, *group, shared, {}, 3).make(index);
  std::string out;
  for (const Json& variable :
       list_at(list_at(pod, {"spec", "containers"}).at(container), {"env"})) {
    out += out.empty() ? "" : " ";
    out += text_at(variable, {"name"});
    const Json* from = find(variable, "valueFrom");
    out += from != nullptr ? fmt::format("<-{}", text_at(*from, {"fieldRef", "fieldPath"}))
                           : fmt::format("={}", text_at(variable, {"value"}));
  }
  return out;
}

struct EnvironmentCase {
  std::string_view about, kind;
  std::vector<TypeDraft> types;
  std::string_view more;
  std::string_view type;
  int index;
  std::string_view environment;
};

TEST(Frameworks, TellTheirProcessesWhoTheyAre) {
  const EnvironmentCase cases[] = {
      {"a PyTorch worker counts ranks behind the master",
       "PyTorchJob",
       {{"Master"}, {"Worker"}},
       "spec: {nprocPerNode: '2'}",
       "Worker",
       0,
       "PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456 MASTER_ADDR=j-master-0 "
       "PET_MASTER_ADDR=j-master-0 WORLD_SIZE=4 RANK=1 PET_NODE_RANK=1 PET_NPROC_PER_NODE=2 "
       "PET_NNODES=2"},
      {"the master knows itself by the same name",
       "PyTorchJob",
       {{"Master"}, {"Worker", 3}},
       "",
       "Master",
       0,
       "PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456 MASTER_ADDR=j-master-0 "
       "PET_MASTER_ADDR=j-master-0 WORLD_SIZE=4 RANK=0 PET_NODE_RANK=0 PET_NPROC_PER_NODE=auto "
       "PET_NNODES=4"},
      {"without a master there is no address",
       "PyTorchJob",
       {{"Worker", 2}},
       "",
       "Worker",
       1,
       "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_NNODES=2"},
      {"elastic workers meet at worker 0",
       "PyTorchJob",
       {{"Worker", 2}},
       "spec: {elasticPolicy: {minReplicas: 1, maxReplicas: 3, rdzvBackend: c10d, maxRestarts: "
       "100, "
       "rdzvId: id, rdzvConf: [{key: a, value: b}, {key: c, value: d}], standalone: true}}",
       "Worker",
       0,
       "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_ENDPOINT=j-worker-0:23456 "
       "PET_RDZV_BACKEND=c10d PET_NNODES=1:3 PET_MAX_RESTARTS=100 PET_RDZV_ID=id "
       "PET_RDZV_CONF=a=b,c=d PET_STANDALONE="},
      {"an elastic policy without bounds has the workers there are, and an empty list is no list",
       "PyTorchJob",
       {{"Worker", 5}},
       "spec: {elasticPolicy: {rdzvConf: []}}",
       "Worker",
       0,
       "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_ENDPOINT=j-worker-0:23456 "
       "PET_RDZV_BACKEND=c10d PET_NNODES=5:5"},
      {"the deprecated count of processes replaces the default",
       "PyTorchJob",
       {{"Worker", 1}},
       "spec: {elasticPolicy: {maxReplicas: 4, nProcPerNode: 8, rdzvHost: etcd, rdzvPort: 2379, "
       "rdzvBackend: etcd-v2}}",
       "Worker",
       0,
       "PYTHONUNBUFFERED=1 PET_RDZV_ENDPOINT=etcd:2379 PET_RDZV_BACKEND=etcd-v2 PET_NNODES=4:4 "
       "PET_NPROC_PER_NODE=8"},
      {"TensorFlow has the whole cluster in one variable",
       "TFJob",
       {{"PS"}, {"Worker", 2}, {"Evaluator"}},
       "",
       "Worker",
       1,
       R"(TF_CONFIG={"cluster":{"evaluator":["j-evaluator-0.default.svc:2222"],"ps":["j-ps-0.default.svc:2222"],"worker":["j-worker-0.default.svc:2222","j-worker-1.default.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"})"},
      {"a chief is chief, and a type without replicas an empty list",
       "TFJob",
       {{"Chief"}, {"PS", 0}, {"Worker", 1}},
       "",
       "Chief",
       0,
       R"(TF_CONFIG={"cluster":{"chief":["j-chief-0.default.svc:2222"],"ps":[],"worker":["j-worker-0.default.svc:2222"]},"task":{"type":"chief","index":0},"environment":"cloud"})"},
      {"a single TensorFlow process is no cluster", "TFJob", {{"Worker", 1}}, "", "Worker", 0, ""},
      {"a dynamic worker knows itself and the servers",
       "TFJob",
       {{"PS"}, {"Worker", 2}},
       "spec: {enableDynamicWorker: true}",
       "Worker",
       1,
       R"(TF_CONFIG={"cluster":{"worker":{"1":"j-worker-1.default.svc:2222"},"ps":["j-ps-0.default.svc:2222"]},"task":{"type":"worker","index":1}})"},
      {"without servers that is null",
       "TFJob",
       {{"Worker", 2}},
       "spec: {enableDynamicWorker: true}",
       "Worker",
       0,
       R"(TF_CONFIG={"cluster":{"worker":{"0":"j-worker-0.default.svc:2222"},"ps":null},"task":{"type":"worker","index":0}})"},
      {"a dynamic job's server knows the servers",
       "TFJob",
       {{"PS"}, {"Worker", 2}},
       "spec: {enableDynamicWorker: true}",
       "PS",
       0,
       R"(TF_CONFIG={"cluster":{"worker":{},"ps":["j-ps-0.default.svc:2222"]},"task":{"type":"ps","index":0}})"},
      {"and its chief nothing",
       "TFJob",
       {{"PS"}, {"Chief"}, {"Worker", 2}},
       "spec: {enableDynamicWorker: true}",
       "Chief",
       0,
       R"(TF_CONFIG={"cluster":{"worker":{},"ps":[]},"task":{"type":"chief","index":0}})"},
      {"XGBoost workers rank behind the master",
       "XGBoostJob",
       {{"Master"}, {"Worker", 2}},
       "",
       "Worker",
       1,
       "MASTER_PORT=9999 MASTER_ADDR=j-master-0 WORLD_SIZE=3 RANK=2 PYTHONUNBUFFERED=1 "
       "WORKER_PORT=9999 WORKER_ADDRS=j-worker-0,j-worker-1"},
      {"a master alone has no workers",
       "XGBoostJob",
       {{"Master"}},
       "",
       "Master",
       0,
       "MASTER_PORT=9999 MASTER_ADDR=j-master-0 WORLD_SIZE=1 RANK=0 PYTHONUNBUFFERED=1"},
      {"Paddle's first worker leads by its own address",
       "PaddleJob",
       {{"Worker", 2}},
       "",
       "Worker",
       0,
       "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=2 POD_IP_DUMMY<-status.podIP "
       "PADDLE_MASTER=$(POD_IP_DUMMY):36543"},
      {"the others find it by name",
       "PaddleJob",
       {{"Worker", 2}},
       "",
       "Worker",
       1,
       "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=2 PADDLE_MASTER=j-worker-0:36543"},
      {"with a master there are servers and trainers",
       "PaddleJob",
       {{"Master"}, {"Worker", 2}},
       "",
       "Worker",
       1,
       "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=3 PADDLE_MASTER=j-master-0:36543 "
       "PADDLE_TRAINER_NUM=1"},
      {"the master serves",
       "PaddleJob",
       {{"Master"}, {"Worker", 2}},
       "",
       "Master",
       0,
       "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=3 POD_IP_DUMMY<-status.podIP "
       "PADDLE_MASTER=$(POD_IP_DUMMY):36543 PADDLE_SERVER_NUM=1"},
      {"JAX has a coordinator",
       "JAXJob",
       {{"Worker", 2}},
       "",
       "Worker",
       1,
       "PYTHONUNBUFFERED=1 COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=j-worker-0 NUM_PROCESSES=2 "
       "PROCESS_ID=1"},
      {"MXNet has both its own and DMLC's words",
       "MXJob",
       {{"Scheduler"}, {"Server"}, {"Worker"}},
       "spec: {jobMode: MXTrain}",
       "Worker",
       0,
       R"(MX_CONFIG={"cluster":{"scheduler":[{"url":"j-scheduler-0","port":9091}],"server":[{"url":"j-server-0","port":9091}],"worker":[{"url":"j-worker-0","port":9091}]},"labels":{"scheduler":"","server":"","worker":""},"task":{"type":"worker","index":0}} )"
       "DMLC_PS_ROOT_PORT=9091 DMLC_PS_ROOT_URI=j-scheduler-0 DMLC_NUM_SERVER=1 DMLC_NUM_WORKER=1 "
       "DMLC_ROLE=worker DMLC_USE_KUBERNETES=1 DMLC_WORKER_ID=0"},
      {"an MPI launcher finds its agent and hosts",
       "MPIJob",
       {{"Launcher"}, {"Worker", 2}},
       "",
       "Launcher",
       0,
       "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh "
       "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile NVIDIA_VISIBLE_DEVICES= "
       "NVIDIA_DRIVER_CAPABILITIES= I_MPI_HYDRA_BOOTSTRAP=rsh "
       "I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh"},
      {"an MPI launcher of v2beta1 connects by ssh",
       "MPIJob",
       {{"Launcher"}, {"Worker", 2}},
       "{metadata: {annotations: {trainyard.dev/written-as: v2beta1}}, spec: {slotsPerWorker: 4}}",
       "Launcher",
       0,
       "K_MPI_JOB_ROLE=launcher OMPI_MCA_orte_keep_fqdn_hostnames=true "
       "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile "
       "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 OMPI_MCA_orte_set_default_slots=4 "
       "NVIDIA_VISIBLE_DEVICES= NVIDIA_DRIVER_CAPABILITIES="},
      {"Intel's has other names",
       "MPIJob",
       {{"Launcher"}, {"Worker", 2}},
       "{metadata: {annotations: {trainyard.dev/written-as: v2beta1}}, spec: {mpiImplementation: "
       "Intel, runLauncherAsWorker: true}}",
       "Launcher",
       0,
       "K_MPI_JOB_ROLE=launcher I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile "
       "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10 I_MPI_PERHOST=1"},
      {"MPICH's too",
       "MPIJob",
       {{"Launcher"}, {"Worker", 2}},
       "{metadata: {annotations: {trainyard.dev/written-as: v2beta1}}, spec: {mpiImplementation: "
       "MPICH, runLauncherAsWorker: true}}",
       "Launcher",
       0,
       "K_MPI_JOB_ROLE=launcher HYDRA_HOST_FILE=/etc/mpi/hostfile "
       "HYDRA_LAUNCH_EXTRA_ARGS=-o ConnectionAttempts=10"},
  };
  for (const EnvironmentCase& row : cases) {
    SCOPED_TRACE(row.about);
    const TrainingJob job = training_job(training_tree(row.kind, row.types, row.more));
    EXPECT_EQ(environment_of(job, row.type, row.index), row.environment);
  }
}

TEST(Frameworks, AnOwnPortIsTheOneOthersAreTold) {
  const TrainingJob job = training_job(training_tree(
      "PyTorchJob", {{"Master"}, {"Worker"}},
      "spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: "
      "i, ports: [{name: other, containerPort: 23456}, {name: pytorchjob-port, containerPort: "
      "1234}]}]}}}}}"));
  EXPECT_EQ(job.group("Master")->port, 1234);
  EXPECT_EQ(job.group("Worker")->port, 23456);
  EXPECT_NE(environment_of(job, "Worker", 0).find("MASTER_PORT=1234 "), std::string::npos);
  const Json service = replica_service(job, *job.group("Master"), 0);
  EXPECT_EQ(to_text(*find_path(service, {"spec", "ports"})),
            R"([{"name":"other","port":23456},{"name":"pytorchjob-port","port":1234}])");
}

TEST(Frameworks, VariablesGoBehindTheUsersInEveryContainerOfTheApp) {
  const TrainingJob job = training_job(training_tree(
      "JAXJob", {{"Worker", 1}},
      "spec: {jaxReplicaSpecs: {Worker: {template: {spec: {initContainers: [{name: init, image: "
      "i}], "
      "containers: [{name: jax, image: i, env: [{name: PROCESS_ID, value: mine}]}, {name: side, "
      "image: i}]}}}}}"));
  EXPECT_TRUE(environment_of(job, "Worker", 0).starts_with("PROCESS_ID=mine PYTHONUNBUFFERED=1 "))
      << "the last of two wins, and that is ours";
  EXPECT_TRUE(environment_of(job, "Worker", 0, 1).starts_with("PYTHONUNBUFFERED=1 "));
  const Json pod = PodMaker(job, job.groups[0], "", {}, 3).make(0);
  EXPECT_EQ(find(list_at(pod, {"spec", "initContainers"}).at(0), "env"), nullptr);
  const TrainingJob tf = training_job(training_tree(
      "TFJob", {{"Worker", 2}},
      "spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: side, image: i}, "
      "{name: tensorflow, image: i}]}}}}}"));
  EXPECT_EQ(environment_of(tf, "Worker", 0, 0), "");
  EXPECT_TRUE(environment_of(tf, "Worker", 0, 1).starts_with("TF_CONFIG="));
}

struct RoleCase {
  std::string_view about, kind;
  std::vector<TypeDraft> types;
  std::string_view masters;  // pods whose log stands for the job
};

TEST(Frameworks, MarkTheReplicaWhoseLogStandsForTheJob) {
  const RoleCase cases[] = {
      {"PyTorch's master", "PyTorchJob", {{"Master"}, {"Worker", 2}}, "j-master-0"},
      {"or its first worker", "PyTorchJob", {{"Worker", 2}}, "j-worker-0"},
      {"TensorFlow's chief", "TFJob", {{"Chief"}, {"Worker", 2}, {"PS"}}, "j-chief-0"},
      {"its master", "TFJob", {{"Master"}, {"Worker", 2}}, "j-master-0"},
      {"or its first worker", "TFJob", {{"Worker", 2}, {"PS"}}, "j-worker-0"},
      {"XGBoost's master", "XGBoostJob", {{"Master"}, {"Worker", 2}}, "j-master-0"},
      {"Paddle's master", "PaddleJob", {{"Master"}, {"Worker", 2}}, "j-master-0"},
      {"or its first worker, which upstream forgets", "PaddleJob", {{"Worker", 2}}, "j-worker-0"},
      {"JAX's coordinator", "JAXJob", {{"Worker", 2}}, "j-worker-0"},
      {"MPI's launcher", "MPIJob", {{"Launcher"}, {"Worker", 2}}, "j-launcher"},
      {"MXNet's servers",
       "MXJob",
       {{"Scheduler"}, {"Server", 2}, {"Worker"}},
       "j-server-0 j-server-1"},
  };
  for (const RoleCase& row : cases) {
    SCOPED_TRACE(row.about);
    const TrainingWorld world = training_world(training_tree(row.kind, row.types));
    std::string masters;
    for (const ClientWrite& write : plan_training_job(world).plan.writes)
      if (text_at(write.object, {"metadata", "labels", kJobRoleLabel}) == "master")
        masters += (masters.empty() ? "" : " ") + write.name;
    EXPECT_EQ(masters, row.masters);
  }
}

TEST(Frameworks, APodHasTheNamesAndOwnersClientsLookFor) {
  const TrainingJob job = training_job(training_tree(
      "PyTorchJob", {{"Master"}, {"Worker", 2, "ExitCode"}},
      "{metadata: {labels: {of: job}}, spec: {pytorchReplicaSpecs: {Worker: {template: {metadata: "
      "{labels: {mine: x, training.kubeflow.org/job-name: lie}, annotations: {a: b}}}}}}}"));
  const Json pod = PodMaker(job, *job.group("Worker"), "", {}, 3).make(1);
  EXPECT_EQ(name_of(pod), "j-worker-1");
  EXPECT_EQ(
      to_text(*find_path(pod, {"metadata", "labels"})),
      R"({"mine":"x","training.kubeflow.org/job-name":"j",)"
      R"("training.kubeflow.org/operator-name":"pytorchjob-controller",)"
      R"("training.kubeflow.org/replica-type":"worker","training.kubeflow.org/replica-index":"1"})");
  EXPECT_EQ(text_at(pod, {"metadata", "annotations", "a"}), "b");
  EXPECT_EQ(text_at(pod, {"metadata", "annotations", kWaitFor}), "j-master-0:23456");
  EXPECT_EQ(text_at(pod, {"metadata", "annotations", kGangSize}), "3");
  EXPECT_EQ(text_at(pod, {"spec", "restartPolicy"}), "Never") << "ExitCode is ours to handle";
  EXPECT_EQ(to_text(*find_path(pod, {"metadata", "ownerReferences"})),
            R"([{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","name":"j","uid":"uid-j",)"
            R"("controller":true,"blockOwnerDeletion":true}])");
  const Json& container = list_at(pod, {"spec", "containers"}).at(0);
  EXPECT_EQ(to_text(*find(container, "ports")),
            R"([{"name":"pytorchjob-port","containerPort":23456}])");
  const Json service = replica_service(job, *job.group("Worker"), 1);
  EXPECT_EQ(text_at(service, {"spec", "clusterIP"}), "None");
  EXPECT_EQ(to_text(*find_path(service, {"spec", "selector"})),
            to_text(*find_path(service, {"metadata", "labels"})));
}

TEST(Frameworks, TheGangsPriorityIsThatOfItsPods) {
  const auto priority = [](std::string_view spec) {
    const TrainingJob job = training_job(training_tree(
        "JAXJob", {{"Worker", 2}},
        fmt::format("spec: {{runPolicy: {{schedulingPolicy: {{priorityClass: high}}}}, "
                    "jaxReplicaSpecs: {{Worker: {{template: {{spec: {{{}}}}}}}}}}}",
                    spec)));
    const Json pod = PodMaker(job, job.groups[0], "", {}, 2).make(0);
    return std::string(text_at(pod, {"spec", "priorityClassName"}));
  };
  EXPECT_EQ(priority(""), "high");
  EXPECT_EQ(priority("priorityClassName: low"), "low") << "a template knows better";
}

TEST(Frameworks, WhereNobodyElseWaitsAnInitContainerDoes) {
  const TrainingJob job = training_job(training_tree("PyTorchJob", {{"Master"}, {"Worker", 2}}));
  TrainingSettings settings;
  settings.init_image = "alpine:3.10";
  const Json worker = PodMaker(job, *job.group("Worker"), "", settings, 3).make(0);
  ASSERT_EQ(list_at(worker, {"spec", "initContainers"}).size(), 1u);
  const Json& init = list_at(worker, {"spec", "initContainers"}).at(0);
  EXPECT_EQ(text_of(list_at(init, {"command"}).at(2)),
            "err=1;for i in $(seq 100); do if nslookup j-master-0; then err=0 && break; fi;echo "
            "waiting for master; sleep 2; done; exit $err");
  EXPECT_EQ(find_path(worker, {"metadata", "annotations", kWaitFor}), nullptr);
  const Json master = PodMaker(job, *job.group("Master"), "", settings, 3).make(0);
  EXPECT_TRUE(list_at(master, {"spec", "initContainers"}).empty());
}

TEST(Frameworks, OnTheMachinesNetworkEveryJobHasAPortOfItsOwn) {
  const auto port_in = [](std::string_view uid, std::string_view spec, std::string_view type) {
    const TrainingWorld world = training_world(training_tree(
        "PyTorchJob", {{"Master"}, {"Worker", 2}},
        fmt::format("{{metadata: {{uid: {}}}, spec: {{pytorchReplicaSpecs: {{Master: {{template: "
                    "{{spec: {{{}}}}}}}, Worker: {{template: {{spec: {{{}}}}}}}}}}}}}",
                    uid, spec, spec)));
    const Json pod = PodMaker(world.job, *world.job.group(type), "", {}, 3).make(0);
    const Json& container = list_at(pod, {"spec", "containers"}).at(0);
    std::string out;
    for (const Json& port : list_at(container, {"ports"}))
      out += std::to_string(int_at(port, {"containerPort"})) + " ";
    for (const Json& variable : list_at(container, {"env"}))
      if (text_at(variable, {"name"}) == "MASTER_PORT") out += text_at(variable, {"value"});
    return out;
  };
  EXPECT_EQ(port_in("u1", "", "Master"), "23456 23456");
  const std::string first = port_in("u1", "hostNetwork: true", "Master");
  const std::string port = first.substr(0, first.find(' '));
  EXPECT_NE(port, "23456");
  EXPECT_EQ(first, port + " " + port);
  EXPECT_EQ(port_in("u1", "hostNetwork: true", "Worker"), port) << "it listens nowhere";
  EXPECT_NE(port_in("u2", "hostNetwork: true", "Worker"), port) << "another job, another port";
  const char* declared =
      "hostNetwork: true, containers: [{name: pytorch, image: i, ports: [{name: pytorchjob-port, "
      "containerPort: 7}]}]";
  EXPECT_EQ(port_in("u1", declared, "Worker"), "7 7") << "what is said is right";
}

TEST(Frameworks, ElasticMetricsAskForAnAutoscaler) {
  const Json tree = training_tree(
      "PyTorchJob", {{"Worker", 2}},
      "spec: {elasticPolicy: {minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource}]}}");
  TrainingWorld world = training_world(tree);
  const auto extras = kPyTorch.extra_objects(world.job, {}, {});
  ASSERT_EQ(extras.size(), 1u);
  EXPECT_EQ(int_at(extras[0], {"spec", "maxReplicas"}), 3);
  world.extras = {{extras[0], std::nullopt, false}};
  EXPECT_EQ(to_text(plan_training_job(world).plan.writes[0]),
            "create HorizontalPodAutoscaler default/j");
  Json existing = changed(extras[0], "{metadata: {uid: u}, spec: {behavior: {}}}");
  world.extras = {{extras[0], existing, true}};
  for (const ClientWrite& write : plan_training_job(world).plan.writes)
    EXPECT_NE(write.resource.kind, "HorizontalPodAutoscaler")
        << "what is there is not written again";
  existing = changed(existing, "spec: {maxReplicas: 9}");
  world.extras = {{extras[0], existing, true}};
  EXPECT_EQ(to_text(plan_training_job(world).plan.writes[0]),
            "update HorizontalPodAutoscaler default/j");
  world = training_world(changed(tree,
                                 "status: {completionTime: '2023-11-14T22:13:20Z', conditions: "
                                 "[{type: Succeeded, status: 'True'}]}"));
  world.extras = {{extras[0], existing, true}};
  EXPECT_EQ(to_text(plan_training_job(world).plan.writes[0]),
            "delete HorizontalPodAutoscaler default/j (Background)")
      << "nothing scales a job that is over";
}

TEST(Frameworks, ATFJobsAddressesEndInTheClustersDomain) {
  TrainingJob job = training_job(training_tree("TFJob", {{"PS"}, {"Worker", 1}}));
  job.cluster_domain = "yard.local";
  const std::string told = environment_of(job, "Worker", 0);
  EXPECT_NE(told.find(R"("ps":["j-ps-0.default.svc.yard.local:2222"])"), std::string::npos) << told;
}

}  // namespace
}  // namespace yard
