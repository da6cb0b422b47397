#pragma once
// What a finished or suspended job still has to do: pods and Services that go or stop, and the job
// itself when its time has come (kubeflow-jobs 3.8, R6, R7).

#include "controllers/training/plan_training_job.h"
#include "controllers/training/training_status.h"

namespace yard {

// Pods of a finished job that must not stay as they are.
struct CleanUp {
  std::vector<const ReplicaPod*> remove, stop;
  std::optional<Time> again;  // then some have to be stopped
};
CleanUp clean_up(const TrainingJob& job, const TrainingStanding& standing,
                 const std::vector<ReplicaPod>& pods, const TrainingSettings& settings, Time now);

// Of a job with ttlSecondsAfterFinished: when it goes.
std::optional<Time> expiry_of(const TrainingJob& job, std::optional<Time> completion);

}  // namespace yard
