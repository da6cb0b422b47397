#pragma once
// Store, API server and the Job controller on a simulated loop, with a kubelet that does what the
// test says. The kubelet speaks to the API as a real one would: binding, status, and a last DELETE
// without grace.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "controllers/batch/job_controller.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {

class JobYard {
 public:
  explicit JobYard(uint64_t seed = 1, SimLogFaults faults = {}) : api(seed, faults) {
    EXPECT_TRUE(make_namespace());
    start_controllers();
  }

  void start_controllers() {
    client = std::make_unique<DirectClient>(
        *api.store, api.api->committer(), [this] { return api.api->kinds(); }, "test");
    jobs = std::make_unique<JobController>(api.loop, *client);
  }
  void stop_controllers() {
    jobs.reset();
    client.reset();
  }
  void crash_and_start() {
    stop_controllers();
    api.crash();
    api.start();
    start_controllers();
  }

  // Until the controllers have nothing to do but wait for a time or for others.
  void settle(Duration length = std::chrono::milliseconds(200)) { api.loop.advance(length); }

  Answer create(const std::string& spec, const std::string& name = "j") {
    const Json job = yaml(fmt::format(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {}}}\nspec:\n{}", name, spec));
    Answer made = api.call("POST", kJobs, to_text(job));
    EXPECT_EQ(made.status, 201) << made.text;
    settle();
    return made;
  }
  void change_job(const std::string& change, const std::string& name = "j") {
    const Answer patched = api.patch(kJobs + ("/" + name), to_text(yaml(change)));
    EXPECT_EQ(patched.status, 200) << patched.text;
    settle();
  }

  Json job(const std::string& name = "j") const {
    const ObjectPtr found = client->get(kJobResource, "default", name);
    return found == nullptr ? Json() : found->tree();
  }
  Json status(const std::string& name = "j") const {
    const Json tree = job(name);
    const Json* found = find(tree, "status");
    return found == nullptr ? Json(JsonObject()) : *found;
  }
  // The conditions that are True, in their order: `SuccessCriteriaMet Complete`.
  std::string conditions(const std::string& name = "j") const {
    std::string out;
    const Json tree = job(name);
    for (const Json& condition : list_at(tree, {"status", "conditions"}))
      if (text_at(condition, {"status"}) == "True")
        out += (out.empty() ? "" : " ") + std::string(text_at(condition, {"type"}));
    return out;
  }
  bool have_ended(const std::vector<std::string>& jobs) const {
    return std::ranges::all_of(jobs, [this](const std::string& name) {
      const std::string reached = conditions(name);
      return reached.find("Complete") != std::string::npos ||
             reached.find("Failed") != std::string::npos;
    });
  }
  std::vector<Json> pods(const std::string& phase = "") const {
    std::vector<Json> out;
    for (const ObjectPtr& pod : client->list(kPodResource, "default")) {
      Json tree = pod->tree();
      if (phase.empty() || text_at(tree, {"status", "phase"}) == phase)
        out.push_back(std::move(tree));
    }
    // In the order they were made, where the clock tells.
    std::ranges::stable_sort(out, {},
                             [](const Json& pod) { return created_at(pod).value_or(Time{}); });
    return out;
  }
  // Pods that are neither ended nor on their way out, by name.
  std::vector<std::string> active() const {
    std::vector<std::string> out;
    std::vector<ObjectPtr> objects = client->list(kPodResource, "default");
    std::ranges::stable_sort(objects, {}, [](const ObjectPtr& pod) { return pod->created(); });
    for (const ObjectPtr& pod : objects) {
      const std::string_view phase = phase_of(*pod);
      if (phase != "Succeeded" && phase != "Failed" && !pod->is_being_deleted())
        out.emplace_back(pod->name());
    }
    return out;
  }
  // Without parsing: places among a pod's selectable fields.
  static std::string_view node_of(const Object& pod) { return pod.fields()[0]; }
  static std::string_view phase_of(const Object& pod) { return pod.fields()[6]; }
  std::string pod_of_index(int index) const {
    for (const Json& pod : pods()) {
      const std::string_view phase = text_at(pod, {"status", "phase"});
      if (phase == "Succeeded" || phase == "Failed" || is_being_deleted(pod)) continue;
      if (text_at(pod, {"metadata", "annotations", kIndexKey}) == std::to_string(index))
        return std::string(name_of(pod));
    }
    return "";
  }
  // `reason: message` of the Events, oldest first.
  std::vector<std::string> events(const std::string& reason = "") const {
    std::vector<std::string> out;
    for (const ObjectPtr& event : client->list({"v1", "Event"}, "default")) {
      const Json tree = event->tree();
      if (!reason.empty() && text_at(tree, {"reason"}) != reason) continue;
      out.push_back(fmt::format("{}: {}", text_at(tree, {"reason"}), text_at(tree, {"message"})));
    }
    return out;
  }

  void bind(const std::string& pod) {
    const Answer bound =
        api.call("POST", pod_path(pod, "binding"),
                 R"({"metadata":{"name":")" + pod + R"("},"target":{"kind":"Node","name":"n1"}})");
    EXPECT_EQ(bound.status, 201) << bound.text;
  }
  void run(const std::string& pod) {
    bind(pod);
    patch_status(
        pod,
        R"({"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":")" +
            now() + R"("}]})");
  }
  void restart(const std::string& pod, int count) {
    patch_status(
        pod,
        fmt::format(
            R"({{"containerStatuses":[{{"name":"main","restartCount":{},"image":"i","imageID":"","ready":true}}]}})",
            count));
  }
  void finish(const std::string& pod, int exit_code, const std::string& more = "") {
    patch_status(pod, ended_status(exit_code, now(), more));
  }
  // What is marked for deletion ends and goes.
  void reap(int exit_code = 137) {
    for (const Json& pod : pods()) {
      if (!is_being_deleted(pod)) continue;
      const std::string name(name_of(pod));
      const std::string_view phase = text_at(pod, {"status", "phase"});
      if (phase != "Succeeded" && phase != "Failed") finish(name, exit_code);
      api.call("DELETE", pod_path(name, ""), R"({"gracePeriodSeconds":0})");
    }
    settle();
  }
  void delete_pod(const std::string& pod) {
    api.call("DELETE", pod_path(pod, ""));
    settle();
  }
  void patch_status(const std::string& pod, const std::string& status_json) {
    const Answer patched = api.patch(pod_path(pod, "status"), R"({"status":)" + status_json + "}");
    EXPECT_EQ(patched.status, 200) << patched.text;
    settle();
  }

  static std::string ended_status(int exit_code, const std::string& time,
                                  const std::string& more = "") {
    const char* phase = exit_code == 0 ? "Succeeded" : "Failed";
    return fmt::format(
        R"({{"phase":"{}",{}"containerStatuses":[{{"name":"main","restartCount":0,"image":"i","imageID":"","ready":false,)"
        R"("state":{{"terminated":{{"exitCode":{},"finishedAt":"{}","startedAt":"{}"}}}}}}]}})",
        phase, more, exit_code, time, time);
  }
  static std::string pod_path(const std::string& pod, const std::string& part) {
    return "/api/v1/namespaces/default/pods/" + pod + (part.empty() ? "" : "/" + part);
  }
  std::string now() const { return rfc3339(api.loop.now()); }

  static constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

  ApiHarness api;
  std::unique_ptr<DirectClient> client;
  std::unique_ptr<JobController> jobs;

 private:
  bool make_namespace() {
    for (int tries = 0; tries < 100; ++tries) {  // commits may fail
      const int code =
          api.call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"default"}})").status;
      if (code == 201 || code == 409) return true;
    }
    return false;
  }
};

}  // namespace yard
