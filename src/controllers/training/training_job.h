#pragma once
// A training job as the planner reads it, with the defaults that upstream's operator fills in
// (kubeflow-jobs 1.5): in memory only, never written back. Everything else of training/ works on
// these values.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/training/training_kind.h"
#include "base/time.h"
#include "client/client.h"
#include "controllers/batch/index_set.h"

namespace yard {

inline constexpr std::string_view kOperatorLabel = "training.kubeflow.org/operator-name";
inline constexpr std::string_view kJobNameLabel = "training.kubeflow.org/job-name";
inline constexpr std::string_view kReplicaTypeLabel = "training.kubeflow.org/replica-type";
inline constexpr std::string_view kReplicaIndexLabel = "training.kubeflow.org/replica-index";
inline constexpr std::string_view kJobRoleLabel = "training.kubeflow.org/job-role";
// Our own. On a job: all pods start over together when one fails. On its pods: which start it is.
inline constexpr std::string_view kGangRestart = "trainyard.dev/gang-restart";
inline constexpr std::string_view kGenerationLabel = "trainyard.dev/restart-generation";
// On a job: its main container alone decides, whatever runs beside it (R14).
inline constexpr std::string_view kMainDecides = "trainyard.dev/main-container-decides";
// On pods, for the scheduler: how many of the job's must fit before any starts.
inline constexpr std::string_view kGangSize = "trainyard.dev/gang-size";
// On a job or its pods, "false": its pods have no shared memory with each other (design §5).
inline constexpr std::string_view kShareMemory = "trainyard.dev/share-memory";
// On pods, for the agent: `host:port` to wait for before the containers start (design §6.8).
inline constexpr std::string_view kWaitFor = "trainyard.dev/wait-for";

inline const Resource kReplicaServiceResource{"v1", "Service"};
inline constexpr int kMostReplicas = 100'000;  // of one type; more is taken for this many

enum class ReplicaRestart { Always, OnFailure, Never, ExitCode };
enum class CleanPodPolicy { Unset, None, Running, All };

// All replicas of one type.
struct ReplicaGroup {
  std::string type;   // Worker
  std::string label;  // worker
  int replicas = 1;
  ReplicaRestart restart = ReplicaRestart::Never;
  bool template_names_restart = false;
  const Json* pod_template = nullptr;  // into the job's tree; may be null
  int port = 0;                        // of the kind's port name, or the kind's own
};

struct TrainingJob {
  const TrainingKind* kind = nullptr;
  std::shared_ptr<const Json> tree;
  std::string ns, name, uid;
  bool being_deleted = false;
  std::vector<ReplicaGroup> groups;  // leaders first, then in the kind's order (R1)

  // runPolicy
  CleanPodPolicy clean_pods = CleanPodPolicy::Unset;
  std::optional<int64_t> ttl_seconds, deadline_seconds, backoff_limit;
  bool suspend = false;
  bool is_ours = true;  // managedBy names nobody else
  bool gang_restart = false;
  std::string cluster_domain;  // of the settings
  bool main_decides = false;

  // status
  std::optional<Time> start_time, completion_time;
  int restarts = 0;
  std::optional<Time> restart_after;
  int generation = 0;
  std::vector<std::string> restarting;        // uids
  std::map<std::string, IndexSet> completed;  // by type

  const ReplicaGroup* group(std::string_view type) const;  // null: the job has none of that type
  const ReplicaGroup* leader() const;                      // whose success is the job's
  int total() const;                                       // replicas of all types
  bool is_true(std::string_view condition) const;
  bool is_finished() const { return is_true("Succeeded") || is_true("Failed"); }
  Resource resource() const {
    return {std::string(kTrainingGroup) + "/v1", std::string(kind->kind)};
  }
};

// Never fails: what a job lacks is defaulted, what makes no sense is left out.
TrainingJob training_job(Json tree);

std::string_view to_text(ReplicaRestart restart);

// The container of the kind's name, else the first; null without any. Of a pod template or pod.
const Json* main_container(const TrainingKind& kind, const Json& with_spec);

// `J-t-i`.
std::string replica_name(const TrainingJob& job, const ReplicaGroup& group, int index);

}  // namespace yard
