#include "controllers/training/gang.h"

#include <algorithm>

namespace yard {
namespace {

// Ended pods do not come back to their places, and those that wait for others to run must not be
// waited for.
int expected(const TrainingJob& job, const GroupStanding& group,
             const std::vector<ReplicaPod>& pods) {
  const Framework& framework = framework_of(*job.kind);
  const bool may_start =
      framework.may_start == nullptr || framework.may_start(job, *group.group, pods);
  int count = 0;
  for (int index = 0; index < group.group->replicas; ++index) {
    const ReplicaPod* pod = group.slots[static_cast<size_t>(index)];
    if (pod == nullptr) {
      count += may_start && !group.completed.contains(index);
    } else {
      const PodFate fate = fate_of(job, *group.group, *pod);
      count += fate == PodFate::Starting || fate == PodFate::Running;
    }
  }
  return count;
}

}  // namespace

int gang_size(const TrainingJob& job, const TrainingStanding& standing,
              const std::vector<ReplicaPod>& pods) {
  int all = 0;
  for (const GroupStanding& group : standing.groups)
    all += expected(job, group, pods);
  const int64_t asked =
      int_at(*job.tree, {"spec", "runPolicy", "schedulingPolicy", "minAvailable"});
  if (asked <= 0) return all;
  if (asked > job.total()) return static_cast<int>(std::min<int64_t>(asked, kMostReplicas));
  return std::min(all, static_cast<int>(asked));
}

}  // namespace yard
