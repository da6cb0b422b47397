#pragma once
// Training jobs and their pods as tests write them, and plans as short lines.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "controllers/training/plan_training_job.h"
#include "testing/objects.h"

namespace yard {

inline const Time kTestNow = from_unix_seconds(1'700'000'000);

// `{Master: 1 OnFailure, Worker: 2 ExitCode}` as the job `default/j` of a kind; `more` is YAML
// merged into it.
struct TypeDraft {
  std::string_view type;
  int replicas = 1;
  std::string_view restart = "OnFailure";
};
inline Json training_tree(std::string_view kind_name, const std::vector<TypeDraft>& types,
                          std::string_view more = "") {
  const TrainingKind& kind = *training_kind(kind_name, "v1");
  JsonObject replicas;
  for (const TypeDraft& type : types) {
    JsonObject spec{{"replicas", type.replicas},
                    {"template", yaml(fmt::format("spec: {{containers: [{{name: {}, image: i}}]}}",
                                                  kind.container))}};
    if (!type.restart.empty()) spec["restartPolicy"] = type.restart;
    replicas[type.type] = std::move(spec);
  }
  Json tree = JsonObject{
      {"apiVersion", "kubeflow.org/v1"},
      {"kind", kind.kind},
      {"metadata", JsonObject{{"name", "j"}, {"namespace", "default"}, {"uid", "uid-j"}}},
      {"spec", JsonObject{{kind.replicas, std::move(replicas)}}}};
  return more.empty() ? tree : changed(std::move(tree), more);
}

// `worker-0 Failed 137 deleting`: type and index, phase, and any of an exit code, deleting,
// evicted, restarts=2, gen=1, sidecar, unstarted, deadline=1, node=n2.
inline Json pod_tree(const TrainingJob& job, std::string_view draft) {
  const std::vector<std::string_view> words = split(draft, ' ');
  const std::string name = fmt::format("j-{}", words[0]);
  const size_t dash = words[0].rfind('-');
  const bool launches = words[0] == "launcher";
  std::string node = "n1", state, labels, more;
  int restarts = 0;
  bool started = true;
  JsonArray statuses;
  JsonObject main{{"name", job.kind->container}, {"state", JsonObject()}};
  Json pod = JsonObject{
      {"metadata",
       JsonObject{{"name", name},
                  {"namespace", "default"},
                  {"uid", "uid-" + std::string(words[0])},
                  {"labels", JsonObject{{kReplicaTypeLabel,
                                         launches ? words[0] : words[0].substr(0, dash)}}}}},
      {"spec", JsonObject{{"containers", JsonArray{JsonObject{{"name", job.kind->container}}}}}},
      {"status", JsonObject{{"phase", words.size() > 1 ? words[1] : "Pending"}}}};
  JsonObject& pod_labels = pod.at("metadata").at("labels").get_object();
  if (!launches) pod_labels[kReplicaIndexLabel] = words[0].substr(dash + 1);
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    const std::string value(equals == word.npos ? "" : word.substr(equals + 1));
    if (const auto code = parse_int64(word)) {
      main["state"] =
          JsonObject{{"terminated", JsonObject{{"exitCode", *code}, {"reason", "Error"}}}};
    } else if (word == "deleting") {
      pod.at("metadata").get_object()["deletionTimestamp"] = rfc3339(kTestNow);
    } else if (word == "evicted") {
      pod.at("status").get_object()["reason"] = "Evicted";
    } else if (word == "sidecar") {
      statuses.push_back(JsonObject{{"name", "side"}, {"state", yaml("running: {}")}});
    } else if (word == "unstarted") {
      started = false;
    } else if (word.starts_with("restarts=")) {
      restarts = static_cast<int>(*parse_int64(value));
    } else if (word.starts_with("gen=")) {
      pod_labels[kGenerationLabel] = value;
    } else if (word.starts_with("deadline=")) {
      pod.at("spec").get_object()["activeDeadlineSeconds"] = *parse_int64(value);
    } else if (word.starts_with("node=")) {
      node = value;
    } else {
      ADD_FAILURE() << "no such word for a pod: " << word;
    }
  }
  main["restartCount"] = restarts;
  statuses.push_back(std::move(main));
  pod.at("spec").get_object()["nodeName"] = node;
  JsonObject& status = pod.at("status").get_object();
  status["containerStatuses"] = std::move(statuses);
  if (started) status["startTime"] = rfc3339(kTestNow);
  return pod;
}

inline TrainingWorld training_world(Json tree, const std::vector<std::string_view>& pods = {},
                                    Time now = kTestNow) {
  TrainingWorld world;
  world.job = training_job(std::move(tree));
  world.now = now;
  for (const std::string_view pod : pods) {
    world.pods.push_back(replica_pod(world.job, pod_tree(world.job, pod), 1));
    world.services.push_back(world.pods.back().name);
  }
  return world;
}

// The job with the status the plan writes.
inline Json planned_tree(const TrainingWorld& world, const TrainingPlan& planned) {
  return planned.plan.last ? planned.plan.last->object : *world.job.tree;
}

// `Created Running=False Succeeded`.
inline std::string states_of(const Json& tree) {
  std::string out;
  for (const Json& condition : list_at(tree, {"status", "conditions"})) {
    out += out.empty() ? "" : " ";
    out += text_at(condition, {"type"});
    if (text_at(condition, {"status"}) != "True") out += "=False";
  }
  return out;
}

// `-worker-0 +worker-1 !worker-2`: pods deleted, made and stopped; `-job` is the job itself. Then
// the last state, and the count of restarts where there is one.
inline std::string short_plan(const TrainingWorld& world, const TrainingPlan& planned) {
  std::string out;
  const auto add = [&](char mark, std::string_view name) {
    out += fmt::format("{}{} ", mark, name.starts_with("j-") ? name.substr(2) : name);
  };
  for (const ClientWrite& write : planned.plan.writes) {
    if (write.resource == world.job.resource()) {
      add('-', "job");
    } else if (write.resource == kPodResource) {
      const bool forced = find(write.object, "gracePeriodSeconds") != nullptr;
      add(write.verb == ClientWrite::Verb::Create       ? '+'
          : write.verb == ClientWrite::Verb::MergePatch ? '!'
          : forced                                      ? 'x'
                                                        : '-',
          write.name);
    }
  }
  const Json tree = planned_tree(world, planned);
  const std::string states = states_of(tree);
  out += states.substr(states.rfind(' ') + 1);
  if (const int64_t restarts = int_at(tree, {"status", "restarts"}); restarts != 0)
    out += fmt::format(" restarts={}", restarts);
  return out;
}

// A kind, or a version of it, with a leader and two others as most rows want it: three pods.
struct JobShape {
  std::string_view kind, leader, other;  // without `other` all three are of the leading type
  std::string_view version = "v1";
  bool leader_ends_it = true;  // the first pod's success is the job's

  std::string about() const { return fmt::format("{} {} of {}", version, kind, leader); }
  std::string_view type_of_others() const { return other.empty() ? leader : other; }
  // 0 is the leader, 1 and on are the others.
  std::string pod(int number) const {
    if (number == 0) return leader == "Launcher" ? "launcher" : fmt::format("{}-0", lower(leader));
    return fmt::format("{}-{}", lower(type_of_others()), other.empty() ? number : number - 1);
  }
  Json tree(std::string_view restart, std::string_view more = "") const {
    std::vector<TypeDraft> types{{leader, other.empty() ? 3 : 1, restart}};
    if (!other.empty()) types.push_back({other, 2, restart});
    Json out = training_tree(kind, types, more);
    if (version == "v1") return out;
    return changed(std::move(out), "metadata: {annotations: {trainyard.dev/written-as: v2beta1}}");
  }
  // `{0} {1}` as the names of these pods.
  std::string named(std::string_view text) const {
    return fmt::format(fmt::runtime(text), pod(0), pod(1), pod(2), pod(3), pod(4));
  }
};
inline constexpr JobShape kJobShapes[] = {
    {"PyTorchJob", "Master", "Worker"},
    {"PyTorchJob", "Worker", "", "v1", false},
    {"TFJob", "Chief", "Worker"},
    {"TFJob", "Master", "PS"},
    {"TFJob", "Worker", ""},
    {"XGBoostJob", "Master", "Worker"},
    {"PaddleJob", "Master", "Worker"},
    {"PaddleJob", "Worker", "", "v1", false},
    {"JAXJob", "Worker", "", "v1", false},
    {"MXJob", "Scheduler", "Worker"},
    {"MPIJob", "Launcher", "Worker"},
    {"MPIJob", "Launcher", "Worker", "v2beta1"},
};

}  // namespace yard
