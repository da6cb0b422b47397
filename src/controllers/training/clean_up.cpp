#include "controllers/training/clean_up.h"

#include <algorithm>

#include "controllers/training/training_end.h"

namespace yard {
namespace {

bool is_stopped_already(const ReplicaPod& pod) {
  return pod.deadline_seconds && *pod.deadline_seconds <= 1;
}

// mpi-operator cleans workers only: the launcher's pod is the job's log.
bool is_kept(const TrainingJob& job, const ReplicaPod& pod) {
  return job.kind->version == "v2beta1" && pod.label == "launcher";
}

// Failed for a moment only: it would be started over.
bool would_restart(const TrainingJob& job, const TrainingStanding& standing,
                   const ReplicaPod& pod) {
  for (const GroupStanding& group : standing.groups) {
    if (group.group->label != pod.label) continue;
    const PodFate fate = fate_of(job, *group.group, pod);
    return fate == PodFate::Failed || fate == PodFate::Disrupted;
  }
  return false;
}

// What never started has no log to keep.
void end_one(CleanUp& out, const ReplicaPod& pod) {
  if (!pod.is_started) {
    out.remove.push_back(&pod);
  } else if (!is_stopped_already(pod)) {
    out.stop.push_back(&pod);
  }
}

void end_running(CleanUp& out, const std::vector<ReplicaPod>& pods, Time at, Time now) {
  for (const ReplicaPod& pod : pods) {
    if (pod.is_terminal() || pod.being_deleted) continue;
    if (now >= at) {
      end_one(out, pod);
    } else {
      out.again = at;
    }
  }
}

}  // namespace

CleanUp clean_up(const TrainingJob& job, const TrainingStanding& standing,
                 const std::vector<ReplicaPod>& pods, const TrainingSettings& settings, Time now) {
  CleanUp out;
  const Time end = job.completion_time.value_or(now);
  const auto end_or_remove = [&](const ReplicaPod& pod) {
    if (pod.being_deleted) return;
    if (!is_kept(job, pod)) {
      out.remove.push_back(&pod);
    } else if (!pod.is_terminal()) {
      end_one(out, pod);
    }
  };
  switch (job.clean_pods) {
    case CleanPodPolicy::All:
      for (const ReplicaPod& pod : pods)
        end_or_remove(pod);
      break;
    case CleanPodPolicy::Running:
      for (const ReplicaPod& pod : pods)
        if (!pod.is_terminal() || would_restart(job, standing, pod)) end_or_remove(pod);
      break;
    case CleanPodPolicy::None:
      if (ended_by_limit(job)) end_running(out, pods, end, now);
      break;
    case CleanPodPolicy::Unset:
      end_running(out, pods, ended_by_limit(job) ? end : end + settings.stop_after, now);
      break;
  }
  return out;
}

std::optional<Time> expiry_of(const TrainingJob& job, std::optional<Time> completion) {
  if (!job.ttl_seconds || !completion) return std::nullopt;
  return *completion + std::chrono::seconds(std::max<int64_t>(0, *job.ttl_seconds));
}

}  // namespace yard
