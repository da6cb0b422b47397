#pragma once
// The status a training job should show. It starts as what is stored and is written once, when it
// has become something else.

#include "controllers/training/job_conditions.h"
#include "controllers/training/training_standing.h"

namespace yard {

struct TrainingStatus {
  explicit TrainingStatus(const TrainingJob& job);
  // Answers whether the state is new: then people are told.
  bool set(const JobState& state, Time now) { return set_state(conditions, state, now); }
  void count(const TrainingJob& job, const TrainingStanding& standing);

  JsonArray conditions;
  JsonObject replicas;
  std::optional<Time> start_time, completion_time;
  int restarts = 0;
  std::optional<Time> restart_after;
  int generation = 0;
  std::vector<std::string> restarting;
  std::map<std::string, IndexSet> completed;
};

// The status write; none when nothing would change.
std::optional<ClientWrite> status_write(const TrainingJob& job, const TrainingStatus& status);

}  // namespace yard
