// MXJob (kubeflow-jobs 4.6): DMLC's variables, and MX_CONFIG for the tuners.

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/framework.h"

namespace yard {
namespace {

void append_tasks(std::string& out, const TrainingJob& job, const ReplicaGroup& group) {
  for (int index = 0; index < group.replicas; ++index)
    out += fmt::format(R"({}{{"url":"{}-{}-{}","port":{}}})", index == 0 ? "" : ",", job.name,
                       group.label, index, group.port);
}

std::string_view tuner_key(const ReplicaGroup& group) {
  if (group.pod_template == nullptr) return "";
  return text_at(*group.pod_template, {"metadata", "annotations", "tuner-server-key"});
}

// `"cluster":{...},"labels":{...}` by type.
std::string shared(const TrainingJob& job) {
  std::vector<const ReplicaGroup*> groups;
  for (const ReplicaGroup& group : job.groups)
    groups.push_back(&group);
  std::ranges::sort(groups, {}, &ReplicaGroup::label);
  std::string cluster, labels;
  for (const ReplicaGroup* group : groups) {
    const char* separator = cluster.empty() ? "" : ",";
    cluster += fmt::format(R"({}"{}":[)", separator, group->label);
    append_tasks(cluster, job, *group);
    cluster += ']';
    labels += fmt::format(R"({}"{}":)", separator, group->label);
    append_quoted(labels, tuner_key(*group));
  }
  return fmt::format(R"("cluster":{{{}}},"labels":{{{}}})", cluster, labels);
}

int count_of(const TrainingJob& job, std::string_view type) {
  const ReplicaGroup* group = job.group(type);
  return group == nullptr ? 0 : group->replicas;
}

JsonArray environment(const TrainingJob& job, const std::string& shared, const ReplicaGroup& group,
                      int index) {
  const ReplicaGroup* scheduler = job.group("Scheduler");
  JsonArray env{variable("MX_CONFIG", fmt::format(R"({{{},"task":{{"type":"{}","index":{}}}}})",
                                                  shared, group.label, index)),
                variable("DMLC_PS_ROOT_PORT", scheduler == nullptr ? 0 : scheduler->port),
                variable("DMLC_PS_ROOT_URI",
                         scheduler == nullptr ? std::string() : job.name + "-scheduler-0"),
                variable("DMLC_NUM_SERVER", count_of(job, "Server")),
                variable("DMLC_NUM_WORKER", count_of(job, "Worker")),
                variable("DMLC_ROLE", group.label),
                variable("DMLC_USE_KUBERNETES", "1")};
  if (group.type == "Worker") env.push_back(variable("DMLC_WORKER_ID", index));
  return env;
}

bool is_master(const TrainingJob&, const ReplicaGroup& group, int) {
  return group.type == "Server";
}

}  // namespace

const Framework kMxNet{.shared = shared, .environment = environment, .is_master = is_master};

}  // namespace yard
