// TFJob (kubeflow-jobs 4.1): one variable, TF_CONFIG, that names every task of the cluster.

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/framework.h"

namespace yard {
namespace {

bool is_dynamic(const TrainingJob& job) {
  return bool_at(*job.tree, {"spec", "enableDynamicWorker"});
}

std::string address(const TrainingJob& job, const ReplicaGroup& group, int index) {
  return fmt::format("{}-{}-{}.{}.svc{}{}:{}", job.name, group.label, index, job.ns,
                     job.cluster_domain.empty() ? "" : ".", job.cluster_domain, group.port);
}

void append_addresses(std::string& out, const TrainingJob& job, const ReplicaGroup& group) {
  out += '[';
  for (int index = 0; index < group.replicas; ++index) {
    if (index > 0) out += ',';
    append_quoted(out, address(job, group, index));
  }
  out += ']';
}

// `{"ps":[...],"worker":[...]}` by name, or for workers that come and go the list of parameter
// servers alone.
std::string shared(const TrainingJob& job) {
  std::string out;
  if (is_dynamic(job)) {
    const ReplicaGroup* servers = job.group("PS");
    if (servers == nullptr) return "null";
    append_addresses(out, job, *servers);
    return out;
  }
  std::vector<const ReplicaGroup*> groups;
  for (const ReplicaGroup& group : job.groups)
    groups.push_back(&group);
  std::ranges::sort(groups, {}, &ReplicaGroup::label);
  for (const ReplicaGroup* group : groups) {
    out += out.empty() ? "{" : ",";
    append_quoted(out, group->label);
    out += ':';
    append_addresses(out, job, *group);
  }
  return out.empty() ? "{}" : out + "}";
}

std::string dynamic_config(const TrainingJob& job, const std::string& servers,
                           const ReplicaGroup& group, int index) {
  const bool is_worker = group.type == "Worker";
  const std::string own =
      is_worker ? fmt::format(R"("{}":"{}")", index, address(job, group, index)) : "";
  const std::string_view ps = is_worker || group.type == "PS" ? std::string_view(servers) : "[]";
  return fmt::format(
      R"({{"cluster":{{"worker":{{{}}},"ps":{}}},"task":{{"type":"{}","index":{}}}}})", own, ps,
      group.label, index);
}

int known_replicas(const TrainingJob& job) {
  int sum = 0;
  for (const std::string_view type : job.kind->types)
    if (const ReplicaGroup* group = job.group(type)) sum += group->replicas;
  return sum;
}

JsonArray environment(const TrainingJob& job, const std::string& shared, const ReplicaGroup& group,
                      int index) {
  if (known_replicas(job) == 1) return {};  // a job of one process needs no cluster
  if (is_dynamic(job)) return {variable("TF_CONFIG", dynamic_config(job, shared, group, index))};
  return {variable(
      "TF_CONFIG",
      fmt::format(R"({{"cluster":{},"task":{{"type":"{}","index":{}}},"environment":"cloud"}})",
                  shared, group.label, index))};
}

bool has_chief(const TrainingJob& job) {
  return job.group("Chief") != nullptr || job.group("Master") != nullptr;
}

bool is_master(const TrainingJob& job, const ReplicaGroup& group, int index) {
  if (has_chief(job)) return group.type == "Chief" || group.type == "Master";
  return group.type == "Worker" && index == 0;
}

bool says_namespace(const TrainingJob&) {
  return true;
}

// Without a chief worker 0 is one, unless all workers are asked for.
bool succeeds_early(const TrainingJob& job, const std::vector<ReplicaPod>& pods) {
  if (has_chief(job) || text_at(*job.tree, {"spec", "successPolicy"}) == "AllWorkers") return false;
  if (const auto done = job.completed.find("Worker");
      done != job.completed.end() && done->second.contains(0))
    return true;
  return std::ranges::any_of(pods, [&](const ReplicaPod& pod) {
    return pod.label == "worker" && pod.index == 0 &&
           decisive_phase(job, pod) == PodPhase::Succeeded && pod.exit_code.value_or(0) == 0;
  });
}

bool ignores_failures(const TrainingJob& job, const ReplicaGroup& group) {
  return is_dynamic(job) && group.type == "Worker";
}

}  // namespace

const Framework kTensorFlow{.shared = shared,
                            .environment = environment,
                            .only_main_container = true,
                            .is_master = is_master,
                            .says_namespace = says_namespace,
                            .succeeds_early = succeeds_early,
                            .ignores_failures = ignores_failures};

}  // namespace yard
