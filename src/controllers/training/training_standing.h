#pragma once
// Where a training job stands: its pods sorted into slots, and what each of them means to it
// (kubeflow-jobs 3.3, R2).

#include <vector>

#include "controllers/training/framework.h"

namespace yard {

enum class PodFate {
  Starting,  // not running yet
  Running,
  Succeeded,
  Leaving,    // being deleted: another takes its place when it is gone
  Disrupted,  // ended by something outside; started over, which costs nothing
  Failed,     // started over, which counts
  Fatal,      // the end of the job
  Ignored,    // failed, and nobody minds
};
PodFate fate_of(const TrainingJob& job, const ReplicaGroup& group, const ReplicaPod& pod);

struct GroupStanding {
  const ReplicaGroup* group = nullptr;
  std::vector<const ReplicaPod*> slots;    // by index below `replicas`; null: none there
  std::vector<const ReplicaPod*> surplus;  // of indexes beyond, or none at all
  std::vector<const ReplicaPod*> restart;  // failed or disrupted
  std::vector<const ReplicaPod*> fatal;
  IndexSet completed;
  int active = 0, failed = 0;  // as status counts them
  bool has_succeeded() const { return group->replicas > 0 && completed.size() >= group->replicas; }
};

struct TrainingStanding {
  std::vector<GroupStanding> groups;      // in the job's order
  std::vector<const ReplicaPod*> strays;  // of types the job does not have (any more)
  int64_t restarts_in_place = 0;          // as backoffLimit counts them
  const GroupStanding* of(const ReplicaGroup* group) const;
};
// `job` and `pods` must outlive the answer.
TrainingStanding training_standing(const TrainingJob& job, const std::vector<ReplicaPod>& pods);

}  // namespace yard
