#pragma once
// How many pods of a job are placed at once or not at all (kubeflow-jobs 5). The scheduler reads it
// from the pods.

#include "controllers/training/training_standing.h"

namespace yard {

// Those that exist and have not ended, and those yet to be made; fewer where the job asks for
// fewer. A job that asks for more than it has waits until it asks for less.
int gang_size(const TrainingJob& job, const TrainingStanding& standing,
              const std::vector<ReplicaPod>& pods);

}  // namespace yard
