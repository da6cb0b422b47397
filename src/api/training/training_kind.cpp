#include "api/training/training_kind.h"

#include <algorithm>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {

std::span<const TrainingKind> training_kinds() {
  static const TrainingKind kKinds[] = {
      {.kind = "PyTorchJob",
       .version = "v1",
       .plural = "pytorchjobs",
       .replicas = "pytorchReplicaSpecs",
       .types = {"Master", "Worker"},
       .leaders = {"Master", "Worker"},
       .controller = "pytorchjob-controller",
       .framework = "pytorch",
       .container = "pytorch",
       .port_name = "pytorchjob-port",
       .port = 23456,
       .restart_policy = "OnFailure",
       .scales = true,
       .single = "Master"},
      {.kind = "TFJob",
       .version = "v1",
       .plural = "tfjobs",
       .replicas = "tfReplicaSpecs",
       .types = {"Chief", "Master", "Worker", "PS", "Evaluator"},
       .leaders = {"Chief", "Master", "Worker"},
       .controller = "tfjob-controller",
       .framework = "tensorflow",
       .container = "tensorflow",
       .port_name = "tfjob-port",
       .port = 2222,
       .restart_policy = "Never",
       .ignores_case = true,
       .allows_other_types = true},
      {.kind = "XGBoostJob",
       .version = "v1",
       .plural = "xgboostjobs",
       .replicas = "xgbReplicaSpecs",
       .types = {"Master", "Worker"},
       .leaders = {"Master", "Worker"},
       .controller = "xgboostjob-controller",
       .framework = "xgboost",
       .container = "xgboost",
       .port_name = "xgboostjob-port",
       .port = 9999,
       .restart_policy = "Never",
       .single = "Master",
       .required_type = "Master"},
      {.kind = "PaddleJob",
       .version = "v1",
       .plural = "paddlejobs",
       .replicas = "paddleReplicaSpecs",
       .types = {"Master", "Worker"},
       .leaders = {"Master", "Worker"},
       .controller = "paddlejob-controller",
       .framework = "paddle",
       .container = "paddle",
       .port_name = "master",
       .port = 36543,
       .restart_policy = "OnFailure",
       .scales = true},
      {.kind = "JAXJob",
       .version = "v1",
       .plural = "jaxjobs",
       .replicas = "jaxReplicaSpecs",
       .types = {"Worker"},
       .leaders = {"Worker"},
       .controller = "jaxjob-controller",
       .framework = "jax",
       .container = "jax",
       .port_name = "jaxjob-port",
       .port = 6666,
       .restart_policy = "Never",
       .scales = true},
      {.kind = "MXJob",
       .version = "v1",
       .plural = "mxjobs",
       .replicas = "mxReplicaSpecs",
       .types = {"Scheduler", "Server", "Worker", "TunerTracker", "TunerServer", "Tuner"},
       // Upstream knows no end of a job without a scheduler but for a single worker.
       .leaders = {"Scheduler", "Tuner", "Worker"},
       .controller = "mxjob-controller",
       .framework = "mxnet",
       .container = "mxnet",
       .port_name = "mxjob-port",
       .port = 9091,
       .restart_policy = "Never",
       .ignores_case = true},
      {.kind = "MPIJob",
       .version = "v1",
       .plural = "mpijobs",
       .replicas = "mpiReplicaSpecs",
       .types = {"Launcher", "Worker"},
       .leaders = {"Launcher"},
       .controller = "mpijob-controller",
       .framework = "mpi",
       .container = "mpi",
       .port_name = "",
       .port = 9999,
       .restart_policy = "Never",
       .required_type = "Launcher"},
      {.kind = "MPIJob",
       .version = "v2beta1",
       .plural = "mpijobs",
       .replicas = "mpiReplicaSpecs",
       .types = {"Launcher", "Worker"},
       .leaders = {"Launcher"},
       .controller = "mpi-operator",
       .framework = "mpi",
       .container = "mpi",
       .port_name = "",
       .port = 9999,
       .restart_policy = "Never",
       .manager = kMpiOperator,
       .required_type = "Launcher"},
  };
  return kKinds;
}

const TrainingKind* training_kind(std::string_view kind, std::string_view version) {
  for (const TrainingKind& row : training_kinds())
    if (row.kind == kind && row.version == version) return &row;
  return nullptr;
}

const TrainingKind* training_kind_of(const Json& object) {
  const std::string_view kind = text_at(object, {"kind"});
  const std::string_view version = text_at(object, {"metadata", "annotations", kWrittenAs});
  if (!version.empty())
    if (const TrainingKind* row = training_kind(kind, version)) return row;
  return training_kind(kind, "v1");
}

std::string_view canonical_type(const TrainingKind& kind, std::string_view type) {
  for (const std::string_view known : kind.types)
    if (equals_ignore_case(known, type)) return known;
  return type;
}

const Json* run_policy_member(const Json& job, std::string_view key) {
  const Json* member = find_path(job, {"spec", "runPolicy", key});
  if (member != nullptr && !member->is_null()) return member;
  if (key == "suspend" || key == "managedBy" || key == "schedulingPolicy") return nullptr;
  member = find_path(job, {"spec", key});
  return member != nullptr && !member->is_null() ? member : nullptr;
}

}  // namespace yard
