#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/training/training_kind.h"
#include "api/tree.h"
#include "testing/objects.h"

namespace yard {
namespace {

Json job_of(const TrainingKind& kind, std::string_view change = "") {
  JsonObject replicas;
  for (const std::string_view type : kind.types) {
    if (kind.kind == "TFJob" && type == "Master") continue;  // it has a chief
    replicas[type] = yaml(
        fmt::format("{{replicas: 1, template: {{spec: {{containers: [{{name: {}, image: i}}]}}}}}}",
                    kind.container));
  }
  Json job = JsonObject{{"apiVersion", fmt::format("{}/{}", kTrainingGroup, kind.version)},
                        {"kind", kind.kind},
                        {"metadata", JsonObject{{"name", "j"}, {"namespace", "default"}}},
                        {"spec", JsonObject{{kind.replicas, std::move(replicas)}}}};
  if (kind.kind == "MXJob") job.at("spec").get_object()["jobMode"] = "MXTrain";
  return change.empty() ? job : changed(std::move(job), change);
}

const TrainingKind& kind_named(std::string_view kind, std::string_view version = "v1") {
  return *training_kind(kind, version);
}

TEST(TrainingRules, AcceptAPlainJobOfEveryKind) {
  for (const TrainingKind& kind : training_kinds()) {
    EXPECT_EQ(told(validate_training_job(kind, job_of(kind), true)), "") << kind.kind;
    EXPECT_TRUE(training_warnings(kind, job_of(kind)).empty()) << kind.kind;
  }
}

struct RuleCase {
  std::string_view about, kind, change, complaint;
};

TEST(TrainingRules, SayWhatIsWrong) {
  const RuleCase cases[] = {
      {"V1: a name that is no label", "PyTorchJob", "metadata: {name: 1-x}",
       "metadata.name: Invalid value: \"1-x\": should match: a DNS-1035 label must consist of "
       "lower "
       "case alphanumeric characters or '-', start with an alphabetic character, and end with an "
       "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
       "'[a-z]([-a-z0-9]*[a-z0-9])?')"},
      {"V2: a manager nobody knows", "JAXJob", "spec: {runPolicy: {managedBy: me}}",
       "spec.runPolicy.managedBy: Unsupported value: \"me\": supported values: "
       "\"kubeflow.org/training-operator\", \"kueue.x-k8s.io/multikueue\""},
      {"V4: no replicas", "XGBoostJob", "spec: {xgbReplicaSpecs: null}",
       "spec.xgbReplicaSpecs: Required value: must be required"},
      {"V5: a type of another kind", "JAXJob",
       "spec: {jaxReplicaSpecs: {Worker: null, Boss: {template: {}}}}",
       "spec.jaxReplicaSpecs[Boss]: Unsupported value: \"Boss\": supported values: \"Worker\""},
      {"V5: or in other letters", "PaddleJob",
       "spec: {paddleReplicaSpecs: {Master: null, Worker: null, worker: {template: {}}}}",
       "spec.paddleReplicaSpecs[worker]: Unsupported value: \"worker\": supported values: "
       "\"Master\", \"Worker\""},
      {"V6 and V8: no containers", "PyTorchJob",
       "spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: null}}}}}",
       "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must be "
       "specified\n"
       "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must have at "
       "least one container with name pytorch"},
      {"V7: no image", "JAXJob",
       "spec: {jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax}]}}}}}",
       "spec.jaxReplicaSpecs[Worker].template.spec.containers[0].image: Required value: must be "
       "required"},
      {"V8: Paddle quotes the name", "PaddleJob",
       "spec: {paddleReplicaSpecs: {Master: null, Worker: {template: {spec: {containers: [{name: "
       "x, "
       "image: i}]}}}}}",
       "spec.paddleReplicaSpecs[Worker].template.spec.containers: Required value: must have at "
       "least "
       "one container with name \"paddle\""},
      {"V9: a master that does not say it is one", "PyTorchJob",
       "spec: {pytorchReplicaSpecs: {Master: {replicas: null}}}",
       "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1"},
      {"V9: or is two", "XGBoostJob", "spec: {xgbReplicaSpecs: {Master: {replicas: 2}}}",
       "spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1"},
      {"V10: no workers", "PyTorchJob", "spec: {pytorchReplicaSpecs: {Worker: {replicas: 0}}}",
       "spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1"},
      {"V11: no master", "XGBoostJob", "spec: {xgbReplicaSpecs: {Master: null}}",
       "spec.xgbReplicaSpecs[Master]: Required value: must be present"},
      {"V12: two who lead", "TFJob",
       "spec: {tfReplicaSpecs: {master: {template: {spec: {containers: [{name: tensorflow, image: "
       "i}]}}}}}",
       "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"},
      {"V13: elastic without workers", "PyTorchJob",
       "spec: {elasticPolicy: {minReplicas: 1}, pytorchReplicaSpecs: {Worker: null}}",
       "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is "
       "used"},
      {"V14: two counts of processes", "PyTorchJob",
       "spec: {nprocPerNode: '2', elasticPolicy: {nProcPerNode: 2}}",
       "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode"},
      {"MPI: two launchers", "MPIJob", "spec: {mpiReplicaSpecs: {Launcher: {replicas: 2}}}",
       "spec.mpiReplicaSpecs[Launcher].replicas: Forbidden: There must be only 1 launcher replica"},
      {"MPI: no launcher", "MPIJob", "spec: {mpiReplicaSpecs: {Launcher: null}}",
       "spec.mpiReplicaSpecs[Launcher]: Required value: must be present"},
      {"MXNet: two schedulers", "MXJob", "spec: {mxReplicaSpecs: {Scheduler: {replicas: 2}}}",
       "spec.mxReplicaSpecs[Scheduler].replicas: Forbidden: more than 1 scheduler found"},
      {"R15: a restart policy nobody has", "JAXJob",
       "spec: {jaxReplicaSpecs: {Worker: {restartPolicy: Sometimes}}}",
       "spec.jaxReplicaSpecs[Worker].restartPolicy: Unsupported value: \"Sometimes\": supported "
       "values: \"Always\", \"ExitCode\", \"Never\", \"OnFailure\""},
      {"R15: a clean-up nobody does", "JAXJob", "spec: {runPolicy: {cleanPodPolicy: Most}}",
       "spec.runPolicy.cleanPodPolicy: Unsupported value: \"Most\": supported values: \"All\", "
       "\"Running\", \"None\""},
      {"R15: less than nothing", "JAXJob", "spec: {runPolicy: {backoffLimit: -1}}",
       "spec.runPolicy.backoffLimit: Invalid value: -1: must be greater than or equal to 0"},
      {"R15: fewer at most than at least", "PyTorchJob",
       "spec: {elasticPolicy: {minReplicas: 3, maxReplicas: 2}}",
       "spec.elasticPolicy.minReplicas: Invalid value: 3: must be less than or equal to "
       "maxReplicas"},
      {"R15: a back end nobody has", "PyTorchJob", "spec: {elasticPolicy: {rdzvBackend: post}}",
       "spec.elasticPolicy.rdzvBackend: Unsupported value: \"post\": supported values: \"c10d\", "
       "\"etcd\", \"etcd-v2\", \"static\""},
      {"R15: processes in words", "PyTorchJob", "spec: {nprocPerNode: two}",
       "spec.nprocPerNode: Invalid value: \"two\": must be auto, cpu, gpu or a positive number"},
      {"R15: a name too long for its last replica", "JAXJob",
       "{metadata: {name: a123456789012345678901234567890123456789012345678901}, spec: "
       "{jaxReplicaSpecs: {Worker: {replicas: 1000}}}}",
       "metadata.name: Invalid value: \"a123456789012345678901234567890123456789012345678901\": is "
       "too "
       "long for the names of its replicas: those would have 63 characters, and may have 63; use "
       "at "
       "most 52 here"},
      {"R15: a template no pod can be made of", "JAXJob",
       "spec: {jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: i, "
       "volumeMounts: [{name: v, mountPath: /v}]}]}}}}}",
       "spec.jaxReplicaSpecs[Worker].template.spec.containers[0].volumeMounts[0].name: Not found: "
       "\"v\""},
  };
  for (const RuleCase& row : cases) {
    SCOPED_TRACE(row.about);
    const TrainingKind& kind = kind_named(row.kind);
    const Json job = job_of(kind, row.change);
    const std::string complaint = told(validate_training_job(kind, job, true));
    if (row.about.find("too long") != row.about.npos) {
      EXPECT_EQ(complaint, "") << "63 characters are allowed";
      const Json longer = changed(job, "spec: {jaxReplicaSpecs: {Worker: {replicas: 1001}}}");
      EXPECT_NE(told(validate_training_job(kind, longer, true)).find("64 characters"),
                std::string::npos);
      continue;
    }
    EXPECT_EQ(complaint, row.complaint);
    if (!row.about.starts_with("R15")) continue;
    EXPECT_EQ(told(validate_training_job(kind, job, false)), "")
        << "what is stored stays changeable";
    EXPECT_EQ(training_warnings(kind, job), std::vector<std::string>{std::string(row.complaint)});
  }
}

TEST(TrainingRules, WhatMayNotChange) {
  const TrainingKind& kind = kind_named("PyTorchJob");
  const auto change = [&](std::string_view before, std::string_view after) {
    return told(validate_training_update(kind, job_of(kind, after), job_of(kind, before)));
  };
  EXPECT_EQ(change("spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}",
                   "spec: {runPolicy: {managedBy: kubeflow.org/training-operator}}"),
            "spec.runPolicy.managedBy: Invalid value: \"kubeflow.org/training-operator\": field is "
            "immutable");
  EXPECT_EQ(change("spec: {runPolicy: {schedulingPolicy: {queue: a}}}",
                   "spec: {runPolicy: {schedulingPolicy: {queue: b}}}"),
            "spec.runPolicy.schedulingPolicy.queue: Invalid value: \"b\": "
            "spec.runPolicy.schedulingPolicy.queue is immutable");
  EXPECT_EQ(change("", "spec: {runPolicy: {schedulingPolicy: {queue: b}}}"), "");
  EXPECT_EQ(change("", "spec: {pytorchReplicaSpecs: {Worker: {replicas: 5}}}"), "");
  EXPECT_EQ(change("metadata: {name: 1-x}", "metadata: {name: 1-x, labels: {a: b}}"), "")
      << "an old object with an old mistake can still be labelled";
}

TEST(TrainingRules, WarnOfOldPlaces) {
  const TrainingKind& kind = kind_named("TFJob");
  EXPECT_EQ(training_warnings(kind, job_of(kind, "spec: {cleanPodPolicy: None, backoffLimit: 1}")),
            (std::vector<std::string>{
                "spec.cleanPodPolicy is taken as spec.runPolicy.cleanPodPolicy; write that",
                "spec.backoffLimit is taken as spec.runPolicy.backoffLimit; write that"}));
  const TrainingKind& mpi = kind_named("MPIJob");
  EXPECT_TRUE(training_warnings(mpi, job_of(mpi, "spec: {cleanPodPolicy: All}")).empty())
      << "it has its own place there";
}

TEST(TrainingRows, EveryVersionIsServed) {
  std::vector<std::string> served;
  for (const Kind& row : training_rows())
    served.push_back(row.api_version() + " " + row.kind + (row.from_stored ? " view" : ""));
  EXPECT_EQ(served, (std::vector<std::string>{
                        "kubeflow.org/v1 PyTorchJob", "kubeflow.org/v1 TFJob",
                        "kubeflow.org/v1 XGBoostJob", "kubeflow.org/v1 PaddleJob",
                        "kubeflow.org/v1 JAXJob", "kubeflow.org/v1 MXJob", "kubeflow.org/v1 MPIJob",
                        "kubeflow.org/v2beta1 MPIJob view", "kubeflow.org/v1beta1 TFJob view"}));
  for (const std::string& name : training_definition_names())
    EXPECT_EQ(text_at(training_definition_spec(name), {"group"}), kTrainingGroup) << name;
  EXPECT_TRUE(training_definition_spec("widgets.example.com").is_null());
}

TEST(TrainingRows, OnlySuspendHasADefault) {
  for (const Kind& row : training_rows()) {
    Json job = yaml("spec: {runPolicy: {}}");
    row.set_defaults(job);
    EXPECT_EQ(to_text(job), R"({"spec":{"runPolicy":{"suspend":false}}})") << row.kind;
    job = yaml("spec: {}");
    row.set_defaults(job);
    EXPECT_EQ(to_text(job), R"({"spec":{}})") << row.kind;
  }
}

}  // namespace
}  // namespace yard
