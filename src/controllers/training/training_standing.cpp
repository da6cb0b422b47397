#include "controllers/training/training_standing.h"

#include <algorithm>

namespace yard {

PodFate fate_of(const TrainingJob& job, const ReplicaGroup& group, const ReplicaPod& pod) {
  const PodPhase phase = decisive_phase(job, pod);
  if (phase == PodPhase::Succeeded) return PodFate::Succeeded;
  if (phase != PodPhase::Failed) {
    if (pod.being_deleted) return PodFate::Leaving;
    return phase == PodPhase::Running ? PodFate::Running : PodFate::Starting;
  }
  const Framework& framework = framework_of(*job.kind);
  const bool never = group.restart == ReplicaRestart::Never;
  // A pod that somebody deletes ends as failed on its way out. That is no failure of the job's.
  if (pod.being_deleted && !(pod.is_disrupted && never)) return PodFate::Leaving;
  if (never) {
    const bool ignored =
        framework.ignores_failures != nullptr && framework.ignores_failures(job, group);
    return ignored ? PodFate::Ignored : PodFate::Fatal;
  }
  if (pod.is_disrupted) return PodFate::Disrupted;
  if (group.restart == ReplicaRestart::ExitCode && !is_retryable_code(pod.exit_code))
    return PodFate::Fatal;
  return PodFate::Failed;
}

namespace {

void judge(GroupStanding& standing, const TrainingJob& job, const ReplicaPod& pod) {
  switch (fate_of(job, *standing.group, pod)) {
    case PodFate::Starting:
    case PodFate::Leaving: return;
    case PodFate::Running: ++standing.active; return;
    case PodFate::Succeeded: standing.completed.insert(*pod.index); return;
    case PodFate::Disrupted:
    case PodFate::Failed: standing.restart.push_back(&pod); break;
    case PodFate::Fatal: standing.fatal.push_back(&pod); break;
    case PodFate::Ignored: break;
  }
  ++standing.failed;
}

}  // namespace

const GroupStanding* TrainingStanding::of(const ReplicaGroup* group) const {
  for (const GroupStanding& standing : groups)
    if (standing.group == group) return &standing;
  return nullptr;
}

TrainingStanding training_standing(const TrainingJob& job, const std::vector<ReplicaPod>& pods) {
  TrainingStanding out;
  out.groups.reserve(job.groups.size());
  for (const ReplicaGroup& group : job.groups) {
    GroupStanding& standing = out.groups.emplace_back();
    standing.group = &group;
    standing.slots.resize(static_cast<size_t>(group.replicas));
    if (const auto known = job.completed.find(group.type); known != job.completed.end())
      standing.completed = known->second;
  }
  for (const ReplicaPod& pod : pods) {
    const auto found = std::ranges::find_if(out.groups, [&](const GroupStanding& standing) {
      return standing.group->label == pod.label;
    });
    if (found == out.groups.end()) {
      out.strays.push_back(&pod);
      continue;
    }
    // Pods of an attempt that was given up are only waited for.
    const bool is_old = job.gang_restart && pod.generation != job.generation;
    if (!pod.index || *pod.index >= found->group->replicas || is_old) {
      found->surplus.push_back(&pod);
      continue;
    }
    found->slots[static_cast<size_t>(*pod.index)] = &pod;
    judge(*found, job, pod);
    if (found->group->restart != ReplicaRestart::Never && pod.phase == PodPhase::Running)
      out.restarts_in_place += pod.restarts;
  }
  return out;
}

}  // namespace yard
