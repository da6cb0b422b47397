#pragma once
// One look at a training job: from its facts, its pods and the time to the writes that bring it on.
// The same for every framework (kubeflow-jobs 3, 12).

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/runtime/controller.h"
#include "controllers/training/replica_objects.h"

namespace yard {

struct TrainingWorld {
  TrainingJob job;
  std::vector<ReplicaPod> pods;       // that the job controls
  std::vector<std::string> services;  // the names of those it controls, of replicas
  // Objects the framework wants besides, and what there is of that name.
  struct Extra {
    Json wanted;
    std::optional<Json> existing;
    bool is_ours = false;
  };
  std::vector<Extra> extras;
  std::set<std::string> lost_nodes;      // gone or not ready
  size_t most_creates = SIZE_MAX;        // 0 while creating waits after an error
  std::optional<Duration> create_again;  // then creating is tried again
  TrainingSettings settings;
  Time now;
};

// Worth telling once, however often it is seen.
struct Remark {
  std::string key;
  EventNote note;
};

struct TrainingPlan {
  Plan plan;
  std::vector<Remark> remarks;
};
TrainingPlan plan_training_job(const TrainingWorld& world);

}  // namespace yard
