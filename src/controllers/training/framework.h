#pragma once
// What a framework adds to its row of data: the environment its processes find one another by, and
// where it wants something of its own, small functions for that. One file a framework.

#include <functional>
#include <string>
#include <vector>

#include "controllers/training/replica_pod.h"
#include "controllers/training/training_job.h"

namespace yard {

struct TrainingSettings;

struct Framework {
  // What is the same for every replica and costs to make: the list of all addresses.
  std::string (*shared)(const TrainingJob& job) = nullptr;
  // Variables, appended to those of the template, in this order.
  JsonArray (*environment)(const TrainingJob& job, const std::string& shared,
                           const ReplicaGroup& group, int index) = nullptr;
  bool only_main_container = false;  // the environment goes to that one alone
  // Whether the replica is the one whose log stands for the job.
  bool (*is_master)(const TrainingJob& job, const ReplicaGroup& group, int index) = nullptr;
  // Whether conditions name the job as `ns/name`.
  bool (*says_namespace)(const TrainingJob& job) = nullptr;
  // Success besides that of all replicas of the leading type.
  bool (*succeeds_early)(const TrainingJob& job, const std::vector<ReplicaPod>& pods) = nullptr;
  // Failures of this type are nobody's concern.
  bool (*ignores_failures)(const TrainingJob& job, const ReplicaGroup& group) = nullptr;
  // `host:port` that must answer before this replica's containers start; "" for none.
  std::string (*waits_for)(const TrainingJob& job, const ReplicaGroup& group, int index) = nullptr;
  bool has_services = true;
  // What the pod needs beyond the above: volumes, commands.
  void (*finish_pod)(const TrainingJob& job, const TrainingSettings& settings,
                     const ReplicaGroup& group, int index, JsonObject& pod) = nullptr;
  // Objects beside pods and Services, as they should be now.
  std::vector<Json> (*extra_objects)(const TrainingJob& job, const TrainingSettings& settings,
                                     const std::vector<ReplicaPod>& pods) = nullptr;
  // Replicas that wait for others before they are made.
  bool (*may_start)(const TrainingJob& job, const ReplicaGroup& group,
                    const std::vector<ReplicaPod>& pods) = nullptr;
};

const Framework& framework_of(const TrainingKind& kind);

extern const Framework kPyTorch, kTensorFlow, kXGBoost, kPaddle, kJax, kMxNet, kMpi, kMpiSsh;

// For the frameworks' files.
JsonObject variable(std::string_view name, std::string_view value);
JsonObject variable(std::string_view name, int64_t value);

}  // namespace yard
