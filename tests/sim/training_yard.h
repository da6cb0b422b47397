#pragma once
// The yard of the Job tests with the controller of training jobs in it. Its kubelet also ends pods
// whose deadline has passed, as a real one does.

#include <map>

#include "controllers/training/training_controller.h"
#include "scheduler/scheduler.h"
#include "sim/job_yard.h"

namespace yard {

class TrainingYard : public JobYard {
 public:
  explicit TrainingYard(uint64_t seed = 1, SimLogFaults faults = {}) : JobYard(seed, faults) {
    start_training();
  }

  void start_training() { training = std::make_unique<TrainingController>(api.loop, *client); }
  // A scheduler, and one node that has room for so many pods of training_spec's with a request.
  void start_scheduler(int room) {
    for (int tries = 0; tries < 100 && client->get({"v1", "Node"}, "", "n1") == nullptr; ++tries)
      api.call("POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
    const auto ready = [&] {
      const ObjectPtr node = client->get({"v1", "Node"}, "", "n1");
      return node != nullptr && node->body().find("allocatable") != std::string_view::npos &&
             node->body().find("taints") == std::string_view::npos;
    };
    const std::string amounts = fmt::format(
        R"({{"cpu":"{}","memory":"64Gi","ephemeral-storage":"500Gi","pods":"110"}})", room);
    for (int tries = 0; tries < 100 && !ready(); ++tries) {
      api.patch("/api/v1/nodes/n1", R"({"spec":{"taints":null}})");
      api.patch(
          "/api/v1/nodes/n1/status",
          fmt::format(R"({{"status":{{"capacity":{0},"allocatable":{0},"conditions":[{{"type":)"
                      R"("Ready","status":"True"}}]}}}})",
                      amounts));
    }
    EXPECT_TRUE(ready());
    scheduler = std::make_unique<Scheduler>(*client, api.loop);
  }
  void crash_and_start_all() {
    training.reset();
    crash_and_start();
    start_training();
  }

  // A job of the given kind; `spec` is YAML as under `spec:`, indented by two.
  Json tree_of(const std::string& kind, const std::string& name, const std::string& spec,
               const std::string& metadata = "") const {
    return yaml(
        fmt::format("apiVersion: kubeflow.org/v1\nkind: {}\nmetadata: {{name: {}{}{}}}\nspec:\n{}",
                    kind, name, metadata.empty() ? "" : ", ", metadata, spec));
  }
  Answer create_training(const Json& tree) {
    const Answer made = api.call("POST", path_of(text_at(tree, {"kind"})), to_text(tree));
    settle();
    return made;
  }
  Answer change_training(const std::string& kind, const std::string& name,
                         const std::string& change) {
    const Answer patched = api.patch(path_of(kind) + "/" + name, to_text(yaml(change)));
    settle();
    return patched;
  }
  Json training_job_named(const std::string& kind, const std::string& name = "j") const {
    const ObjectPtr found = client->get({"kubeflow.org/v1", kind}, "default", name);
    return found == nullptr ? Json() : found->tree();
  }
  // `Created Running=False Succeeded`.
  std::string states(const std::string& kind, const std::string& name = "j") const {
    std::string out;
    const Json tree = training_job_named(kind, name);
    for (const Json& condition : list_at(tree, {"status", "conditions"})) {
      out += (out.empty() ? "" : " ") + std::string(text_at(condition, {"type"}));
      if (text_at(condition, {"status"}) != "True") out += "=False";
    }
    return out;
  }
  // `j-worker-0 Running`, by name; `-` behind those on their way out.
  std::string pods_text() const {
    std::map<std::string, std::string> lines;
    for (const Json& pod : pods())
      lines[std::string(name_of(pod))] =
          fmt::format("{} {}{}", name_of(pod), text_at(pod, {"status", "phase"}),
                      is_being_deleted(pod) ? "-" : "");
    std::string out;
    for (const auto& [name, line] : lines)
      out += (out.empty() ? "" : ", ") + line;
    return out;
  }
  Json pod(const std::string& name) const {
    const ObjectPtr found = client->get(kPodResource, "default", name);
    return found == nullptr ? Json() : found->tree();
  }

  void start(const std::string& pod) {
    bind(pod);
    patch_status(pod, fmt::format(R"({{"phase":"Running","startTime":"{}"}})", now()));
  }
  void start_all() {
    for (const std::string& name : active())
      if (text_at(pod(name), {"status", "phase"}) == "Pending") start(name);
  }
  void end(const std::string& name, int exit_code, const std::string& more = "") {
    const Json tree = pod(name);
    const JsonArray& containers = list_at(tree, {"spec", "containers"});
    const std::string container(containers.empty() ? "" : text_at(containers.at(0), {"name"}));
    patch_status(
        name,
        fmt::format(
            R"({{"phase":"{}",{}"containerStatuses":[{{"name":"{}","restartCount":0,"image":"i","imageID":"","ready":false,)"
            R"("state":{{"terminated":{{"exitCode":{},"reason":"{}","finishedAt":"{}","startedAt":"{}"}}}}}}]}})",
            exit_code == 0 ? "Succeeded" : "Failed", more, container, exit_code,
            exit_code == 0 ? "Completed" : "Error", now(), now()));
  }
  void evict(const std::string& name) { end(name, 137, R"("reason":"Evicted",)"); }
  // Pods with a deadline that has passed end.
  void strike_deadlines() {
    for (const Json& tree : pods()) {
      const std::string_view phase = text_at(tree, {"status", "phase"});
      if (phase != "Running" || find_path(tree, {"spec", "activeDeadlineSeconds"}) == nullptr)
        continue;
      end(std::string(name_of(tree)), 143, R"("reason":"DeadlineExceeded",)");
    }
  }

  static std::string path_of(std::string_view kind) {
    return fmt::format("/apis/kubeflow.org/v1/namespaces/default/{}",
                       training_kind(kind, "v1")->plural);
  }

  std::unique_ptr<TrainingController> training;
  std::unique_ptr<Scheduler> scheduler;
};

// Types and counts as a spec: `Worker: 2 OnFailure`.
struct SpecType {
  std::string type;
  int replicas = 1;
  std::string restart = "OnFailure";
};
inline std::string training_spec(const std::string& kind_name, const std::vector<SpecType>& types,
                                 const std::string& run_policy = "{}") {
  const TrainingKind& kind = *training_kind(kind_name, "v1");
  std::string spec = fmt::format("  runPolicy: {}\n  {}:\n", run_policy, kind.replicas);
  if (kind_name == "MXJob") spec = "  jobMode: MXTrain\n" + spec;
  for (const SpecType& type : types)
    spec += fmt::format(
        "    {}: {{replicas: {}, restartPolicy: {}, template: {{spec: {{containers: [{{name: {}, "
        "image: i, resources: {{requests: {{cpu: '1'}}}}}}]}}}}}}\n",
        type.type, type.replicas, type.restart, kind.container);
  return spec;
}

}  // namespace yard
