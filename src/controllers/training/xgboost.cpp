// XGBoostJob, also for LightGBM (kubeflow-jobs 4.3).

#include <fmt/format.h>

#include "controllers/training/framework.h"

namespace yard {
namespace {

// The names of all workers; LightGBM reads them.
std::string shared(const TrainingJob& job) {
  std::string names;
  for (int index = 0; index < job.total() - 1; ++index)
    names += fmt::format("{}{}-worker-{}", index == 0 ? "" : ",", job.name, index);
  return names;
}

JsonArray environment(const TrainingJob& job, const std::string& shared, const ReplicaGroup& group,
                      int index) {
  const ReplicaGroup *master = job.group("Master"), *workers = job.group("Worker");
  const int masters = master == nullptr ? 0 : master->replicas;
  JsonArray env{variable("MASTER_PORT", master == nullptr ? job.kind->port : master->port),
                variable("MASTER_ADDR", job.name + "-master-0"),
                variable("WORLD_SIZE", job.total()),
                variable("RANK", group.type == "Master" ? index : index + masters),
                variable("PYTHONUNBUFFERED", "1")};
  if (job.total() > 1) {
    env.push_back(variable("WORKER_PORT", workers == nullptr ? job.kind->port : workers->port));
    env.push_back(variable("WORKER_ADDRS", shared));
  }
  return env;
}

bool is_master(const TrainingJob&, const ReplicaGroup& group, int) {
  return group.type == "Master";
}

}  // namespace

const Framework kXGBoost{.shared = shared, .environment = environment, .is_master = is_master};

}  // namespace yard
