// PyTorchJob (kubeflow-jobs 4.2): torch.distributed's own variables, and torchrun's PET_*.

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "controllers/training/replica_objects.h"

namespace yard {
namespace {

const Json* elastic_of(const TrainingJob& job) {
  const Json* elastic = find_path(*job.tree, {"spec", "elasticPolicy"});
  return elastic != nullptr && elastic->is_object() ? elastic : nullptr;
}

// Unset is auto, unless the deprecated field speaks.
std::string processes_per_node(const TrainingJob& job) {
  const std::string_view given = text_at(*job.tree, {"spec", "nprocPerNode"});
  if (!given.empty()) return std::string(given);
  const Json* elastic = elastic_of(job);
  return elastic != nullptr && find(*elastic, "nProcPerNode") != nullptr ? "" : "auto";
}

int64_t world_size(const TrainingJob& job) {
  const auto processes = parse_int64(processes_per_node(job));
  return job.total() * std::max<int64_t>(1, processes.value_or(1));
}

struct Bounds {
  int64_t least, most;
};

Bounds elastic_bounds(const TrainingJob& job, const Json& elastic) {
  const ReplicaGroup* workers = job.group("Worker");
  const int64_t all = workers == nullptr ? 0 : workers->replicas;
  const bool has_least = find(elastic, "minReplicas"), has_most = find(elastic, "maxReplicas");
  const int64_t least = int_at(elastic, {has_least ? "minReplicas" : "maxReplicas"}, all);
  const int64_t most = int_at(elastic, {has_most ? "maxReplicas" : "minReplicas"}, all);
  return {least, most};
}

std::string rendezvous_settings(const Json& elastic) {
  std::string text;
  for (const Json& entry : list_at(elastic, {"rdzvConf"}))
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", text_at(entry, {"key"}),
                        text_at(entry, {"value"}));
  return text;
}

void add_elastic(JsonArray& env, const TrainingJob& job, const Json& elastic) {
  const ReplicaGroup* workers = job.group("Worker");
  const std::string first_worker = job.name + "-worker-0";
  const std::string_view host = text_at(elastic, {"rdzvHost"}, first_worker);
  const int64_t port =
      int_at(elastic, {"rdzvPort"}, workers == nullptr ? job.kind->port : workers->port);
  env.push_back(variable("PET_RDZV_ENDPOINT", fmt::format("{}:{}", host, port)));
  env.push_back(variable("PET_RDZV_BACKEND", text_at(elastic, {"rdzvBackend"}, "c10d")));
  const Bounds bounds = elastic_bounds(job, elastic);
  env.push_back(variable("PET_NNODES", fmt::format("{}:{}", bounds.least, bounds.most)));
  if (find(elastic, "maxRestarts") != nullptr)
    env.push_back(variable("PET_MAX_RESTARTS", int_at(elastic, {"maxRestarts"})));
  if (find(elastic, "nProcPerNode") != nullptr)
    env.push_back(variable("PET_NPROC_PER_NODE", int_at(elastic, {"nProcPerNode"})));
  if (find(elastic, "rdzvId") != nullptr)
    env.push_back(variable("PET_RDZV_ID", text_at(elastic, {"rdzvId"})));
  if (const std::string settings = rendezvous_settings(elastic); !settings.empty())
    env.push_back(variable("PET_RDZV_CONF", settings));
  if (bool_at(elastic, {"standalone"})) env.push_back(variable("PET_STANDALONE", ""));
}

JsonArray environment(const TrainingJob& job, const std::string&, const ReplicaGroup& group,
                      int index) {
  JsonArray env{variable("PYTHONUNBUFFERED", "1")};
  if (const ReplicaGroup* master = job.group("Master")) {
    const std::string address = job.name + "-master-0";
    const int rank = group.type == "Master" ? index : index + 1;
    env.push_back(variable("MASTER_PORT", master->port));
    env.push_back(variable("PET_MASTER_PORT", master->port));
    env.push_back(variable("MASTER_ADDR", address));
    env.push_back(variable("PET_MASTER_ADDR", address));
    env.push_back(variable("WORLD_SIZE", world_size(job)));
    env.push_back(variable("RANK", rank));
    env.push_back(variable("PET_NODE_RANK", rank));
  }
  if (const std::string processes = processes_per_node(job); !processes.empty())
    env.push_back(variable("PET_NPROC_PER_NODE", processes));
  if (const Json* elastic = elastic_of(job)) {
    add_elastic(env, job, *elastic);
  } else {
    env.push_back(variable("PET_NNODES", job.total()));
  }
  return env;
}

bool is_master(const TrainingJob& job, const ReplicaGroup& group, int index) {
  return group.type == "Master" || (job.group("Master") == nullptr && index == 0);
}

bool says_namespace(const TrainingJob& job) {
  return job.group("Master") == nullptr;
}

// With elastic workers the first that is done is the end of all.
bool succeeds_early(const TrainingJob& job, const std::vector<ReplicaPod>& pods) {
  if (job.group("Master") != nullptr || elastic_of(job) == nullptr) return false;
  if (const auto done = job.completed.find("Worker");
      done != job.completed.end() && !done->second.empty())
    return true;
  return std::ranges::any_of(pods, [&](const ReplicaPod& pod) {
    return pod.label == "worker" && decisive_phase(job, pod) == PodPhase::Succeeded;
  });
}

std::string waits_for(const TrainingJob& job, const ReplicaGroup& group, int) {
  const ReplicaGroup* master = job.group("Master");
  if (group.type != "Worker" || master == nullptr) return "";
  return fmt::format("{}-master-0:{}", job.name, master->port);
}

// Its number of workers follows what they use, where the job says what to look at.
std::vector<Json> extra_objects(const TrainingJob& job, const TrainingSettings&,
                                const std::vector<ReplicaPod>&) {
  const Json* elastic = elastic_of(job);
  if (elastic == nullptr || list_at(*elastic, {"metrics"}).empty()) return {};
  const Bounds bounds = elastic_bounds(job, *elastic);
  return {JsonObject{
      {"apiVersion", "autoscaling/v2"},
      {"kind", "HorizontalPodAutoscaler"},
      {"metadata", JsonObject{{"name", job.name},
                              {"namespace", job.ns},
                              {"ownerReferences", JsonArray{training_owner(job)}}}},
      {"spec", JsonObject{{"scaleTargetRef", JsonObject{{"kind", job.kind->kind},
                                                        {"name", job.name},
                                                        {"apiVersion", "kubeflow.org/v1"}}},
                          {"minReplicas", bounds.least},
                          {"maxReplicas", bounds.most},
                          {"metrics", list_at(*elastic, {"metrics"})}}}}};
}

}  // namespace

const Framework kPyTorch{.environment = environment,
                         .is_master = is_master,
                         .says_namespace = says_namespace,
                         .succeeds_early = succeeds_early,
                         .waits_for = waits_for,
                         .extra_objects = extra_objects};

}  // namespace yard
