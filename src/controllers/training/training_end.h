#pragma once
// Whether a training job has come to its end, and in which words (kubeflow-jobs 3.5 – 3.7, R3, R4).

#include <optional>
#include <string>

#include "controllers/runtime/controller.h"
#include "controllers/training/training_standing.h"

namespace yard {

struct TrainingEnd {
  bool success = false;
  std::string message;
  EventNote::Type note = EventNote::Type::Normal;
};

// The leader's success comes before the failure of others, and that before the limits.
std::optional<TrainingEnd> training_end(const TrainingJob& job, const TrainingStanding& standing,
                                        const std::vector<ReplicaPod>& pods, Time now);

// backoffLimit is spent, when so many more failures are started over.
bool exceeds_backoff(const TrainingJob& job, const TrainingStanding& standing, int more);
TrainingEnd backoff_end(const TrainingJob& job, const TrainingStanding& standing);
// Whether a failed job ended by a limit: what then still runs is stopped whatever the policy.
bool ended_by_limit(const TrainingJob& job);

std::optional<Time> deadline_at(const TrainingJob& job, std::optional<Time> start);

// How long the n-th restart waits: none for the first, then 10 s, doubled up to five minutes.
Duration restart_delay(int restarts);

std::string running_message(const TrainingJob& job);
std::string restarting_message(const TrainingJob& job, std::string_view type);
std::string with_first_failure(std::string message, const ReplicaPod* pod);

}  // namespace yard
