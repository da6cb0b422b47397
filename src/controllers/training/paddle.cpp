// PaddleJob (kubeflow-jobs 4.4): collective mode without a Master, parameter servers with one.

#include <fmt/format.h>

#include "controllers/training/framework.h"

namespace yard {
namespace {

JsonObject own_address(std::string_view name) {
  return {{"name", name},
          {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", "status.podIP"}}}}}};
}

JsonArray environment(const TrainingJob& job, const std::string&, const ReplicaGroup& group,
                      int index) {
  JsonArray env{variable("PYTHONUNBUFFERED", "1"), variable("PADDLE_JOB_ID", job.name),
                variable("PADDLE_NNODES", job.total())};
  const bool has_master = job.group("Master") != nullptr;
  const ReplicaGroup* leader = job.leader();
  const int port = leader == nullptr ? job.kind->port : leader->port;
  const bool leads = leader == &group && index == 0;
  if (leads) {
    env.push_back(own_address("POD_IP_DUMMY"));
    env.push_back(variable("PADDLE_MASTER", fmt::format("$(POD_IP_DUMMY):{}", port)));
  } else {
    env.push_back(variable("PADDLE_MASTER", fmt::format("{}-{}-0:{}", job.name,
                                                        has_master ? "master" : "worker", port)));
  }
  if (has_master)
    env.push_back(
        variable(group.type == "Master" ? "PADDLE_SERVER_NUM" : "PADDLE_TRAINER_NUM", "1"));
  return env;
}

bool is_master(const TrainingJob& job, const ReplicaGroup& group, int index) {
  return group.type == "Master" || (job.group("Master") == nullptr && index == 0);
}

bool says_namespace(const TrainingJob& job) {
  return job.group("Master") == nullptr;
}

}  // namespace

const Framework kPaddle{
    .environment = environment, .is_master = is_master, .says_namespace = says_namespace};

}  // namespace yard
