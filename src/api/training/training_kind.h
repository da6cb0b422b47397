#pragma once
// The training kinds of kubeflow.org as rows of data: what admission, tables and the planner must
// know of a framework before any code of its own (kubeflow-jobs 1.1, 1.5).

#include <span>
#include <string_view>
#include <vector>

#include "api/kind.h"

namespace yard {

inline constexpr std::string_view kTrainingGroup = "kubeflow.org";
inline constexpr std::string_view kTrainingOperator = "kubeflow.org/training-operator";
inline constexpr std::string_view kMpiOperator = "kubeflow.org/mpi-operator";
inline constexpr std::string_view kMultiKueue = "kueue.x-k8s.io/multikueue";
// The version an object was written in, where its storage has several that mean different things.
inline constexpr std::string_view kWrittenAs = "trainyard.dev/written-as";

struct TrainingKind {
  std::string_view kind;                  // PyTorchJob
  std::string_view version;               // of its API: v1
  std::string_view plural;                // pytorchjobs
  std::string_view replicas;              // pytorchReplicaSpecs
  std::vector<std::string_view> types;    // in their fixed order, those that lead first
  std::vector<std::string_view> leaders;  // the first of these that a job has decides for it
  std::string_view controller;            // label and event source
  std::string_view framework;             // in metrics
  std::string_view container;             // the one that decides
  std::string_view port_name;
  int port = 0;
  std::string_view restart_policy;               // where the job names none
  std::string_view manager = kTrainingOperator;  // what managedBy calls us
  bool scales = false;                           // has the scale subresource, for Worker
  bool ignores_case = false;                     // of type names, at admission
  bool allows_other_types = false;
  std::string_view single = "";  // the type that has exactly one replica, said so in the spec
  std::string_view required_type = "";
};

// One row a version that means something of its own; TFJob v1beta1 is a view of v1.
std::span<const TrainingKind> training_kinds();
const TrainingKind* training_kind(std::string_view kind, std::string_view version);
// The row of a stored object.
const TrainingKind* training_kind_of(const Json& object);

// The canonical spelling of a replica type; what is no type stays as it is.
std::string_view canonical_type(const TrainingKind& kind, std::string_view type);

// The rows the API server serves, and the definitions clients find them by.
std::vector<Kind> training_rows();
std::vector<std::string> training_definition_names();
// The spec of the definition; null when the name is none of ours.
Json training_definition_spec(std::string_view name);

// Complaints about a job. `created` asks also for what upstream's operator would only trip over
// later; on an update those are warnings, so that what is stored stays changeable.
FieldErrors validate_training_job(const TrainingKind& kind, const Json& job, bool created);
FieldErrors validate_training_update(const TrainingKind& kind, const Json& job, const Json& live);
std::vector<std::string> training_warnings(const TrainingKind& kind, const Json& job);

// spec.runPolicy.<key>, or the same directly under spec, where jobs before Kubeflow 1.3 had it.
const Json* run_policy_member(const Json& job, std::string_view key);

}  // namespace yard
