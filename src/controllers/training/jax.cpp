// JAXJob (kubeflow-jobs 4.5): worker 0 is the coordinator.

#include "controllers/training/framework.h"

namespace yard {
namespace {

JsonArray environment(const TrainingJob& job, const std::string&, const ReplicaGroup& group,
                      int index) {
  return {variable("PYTHONUNBUFFERED", "1"), variable("COORDINATOR_PORT", group.port),
          variable("COORDINATOR_ADDRESS", job.name + "-worker-0"),
          variable("NUM_PROCESSES", job.total()), variable("PROCESS_ID", index)};
}

bool is_master(const TrainingJob&, const ReplicaGroup&, int index) {
  return index == 0;
}

bool says_namespace(const TrainingJob&) {
  return true;
}

}  // namespace

const Framework kJax{
    .environment = environment, .is_master = is_master, .says_namespace = says_namespace};

}  // namespace yard
