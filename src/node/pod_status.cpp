// The status of a pod: phase, conditions and containerStatuses (kubernetes-core C14 to C16).

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/pod_parts.h"

namespace yard {
namespace {

using Role = ContainerView::Role;

std::string_view exit_reason(const ContainerRun& run) {
  if (!run.failure.empty()) return "StartError";
  if (run.exit->lost) return "ContainerStatusUnknown";
  if (run.exit->out_of_memory) return "OOMKilled";
  return run.exit->code == 0 ? "Completed" : "Error";
}

JsonObject terminated(const PodWorld& world, const ContainerRun& run) {
  JsonObject out{{"exitCode", run.exit->code}, {"reason", exit_reason(run)}};
  const std::string_view message =
      !run.failure.empty() ? std::string_view(run.failure)
      : run.exit->lost     ? "The container could not be located when the pod was terminated"
                           : std::string_view(run.exit->message);
  if (!message.empty() && is_valid_utf8(message)) out["message"] = message;
  out["startedAt"] = rfc3339(run.started);
  out["finishedAt"] = rfc3339(run.exit->at);
  out["containerID"] = container_id(world, run);
  return {{"terminated", std::move(out)}};
}

std::string valid_text(const std::string& text) {
  return is_valid_utf8(text) ? text : std::string();
}

JsonObject waiting(std::string_view reason, std::string_view message = "") {
  JsonObject out{{"reason", reason}};
  if (!message.empty()) out["message"] = message;
  return {{"waiting", std::move(out)}};
}

// A pod that ends before a container of it ever ran.
JsonObject never_ran() {
  return {{"terminated",
           JsonObject{{"exitCode", 137},
                      {"reason", "ContainerStatusUnknown"},
                      {"message", "The container could not be located when the pod was terminated"},
                      {"startedAt", nullptr},
                      {"finishedAt", nullptr}}}};
}

std::vector<std::string> not_initialized_in(const PodView& view) {
  std::vector<std::string> out;
  for (const ContainerView& container : view.containers) {
    const bool initialized =
        container.role == Role::Init ? container.has_succeeded() : container.started;
    if (container.is_init() && !initialized) out.push_back(container.name);
  }
  return out;
}

struct States {
  JsonObject state, last;
};

States states_of(const PodWorld& world, const PodView& view, const ContainerView& container,
                 bool all_over) {
  const auto problem = world.problems.find(container.name);
  if (container.runs.empty()) {
    // What waited for init containers that did not succeed is not missing.
    if (all_over && not_initialized_in(view).empty()) return {never_ran(), {}};
    if (problem != world.problems.end())
      return {waiting(problem->second.reason, problem->second.message), {}};
    const bool initializing = view.containers.front().role != Role::App;
    return {waiting(initializing ? "PodInitializing" : "ContainerCreating",
                    world.image_of(container.name).pull_progress),
            {}};
  }
  const ContainerRun& newest = *container.newest();
  const bool has_init = view.containers.front().role != Role::App;
  JsonObject last;
  if (container.runs.size() > 1 && container.runs[container.runs.size() - 2]->exit)
    last = terminated(world, *container.runs[container.runs.size() - 2]);
  if (newest.is_running() && !container.begun)
    return {waiting(has_init ? "PodInitializing" : "ContainerCreating"), std::move(last)};
  if (newest.is_running())
    return {{{"running", JsonObject{{"startedAt", rfc3339(newest.started)}}}}, std::move(last)};
  if (container.will_restart && problem != world.problems.end()) {
    return {waiting(problem->second.reason, problem->second.message), terminated(world, newest)};
  }
  if (container.is_waiting(world.now)) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(container.restart.backoff);
    const std::string length =
        seconds.count() >= 60 ? fmt::format("{}m{}s", seconds.count() / 60, seconds.count() % 60)
                              : fmt::format("{}s", seconds.count());
    return {
        waiting("CrashLoopBackOff", fmt::format("back-off {} restarting failed container={} pod={}",
                                                length, container.name, pod_in_text(world.pod))),
        terminated(world, newest)};
  }
  if (container.will_restart && !newest.failure.empty())
    return {waiting("RunContainerError", valid_text(newest.failure)), terminated(world, newest)};
  if (container.will_restart && container.memory->post_start.stage == HookState::Stage::Failed) {
    return {waiting("PostStartHookError", "PostStartHook failed"), terminated(world, newest)};
  }
  return {terminated(world, newest), std::move(last)};
}

// What the container was given, as kubelet tells it beside the spec.
void add_given(JsonObject& out, const Json& spec) {
  if (const Json* resources = find(spec, "resources");
      resources != nullptr && resources->is_object() && !resources->get_object().empty()) {
    if (const Json* requests = find(*resources, "requests")) out["allocatedResources"] = *requests;
    out["resources"] = *resources;
  }
  JsonArray mounts;
  for (const Json& mount : list_at(spec, {"volumeMounts"})) {
    JsonObject entry{{"name", text_at(mount, {"name"})},
                     {"mountPath", text_at(mount, {"mountPath"})}};
    if (bool_at(mount, {"readOnly"})) {
      entry["readOnly"] = true;
      entry["recursiveReadOnly"] = "Disabled";
    }
    mounts.push_back(std::move(entry));
  }
  if (!mounts.empty()) out["volumeMounts"] = std::move(mounts);
}

JsonObject container_status(const PodWorld& world, const PodView& view,
                            const ContainerView& container, bool all_over) {
  States states = states_of(world, view, container, all_over);
  const std::string_view image = text_at(*container.spec, {"image"});
  JsonObject out{{"name", container.name},
                 {"state", std::move(states.state)},
                 {"lastState", std::move(states.last)}};
  out["ready"] = container.role == Role::Init        ? container.has_succeeded()
                 : container.role == Role::Ephemeral ? false
                                                     : container.ready;
  out["restartCount"] = container.runs.empty() ? 0 : container.newest()->run;
  out["image"] = image;
  out["imageID"] = container.runs.empty() ? "" : image_id(image, world.image_of(container.name));
  if (!container.runs.empty()) out["containerID"] = container_id(world, *container.newest());
  out["started"] = container.started;
  add_given(out, *container.spec);
  return out;
}

std::string phase_of(const PodView& view, bool all_over) {
  if (view.init_failed && all_over) return "Failed";
  bool any_running = false, all_stopped = true, any_never_ran = false, all_succeeded = true;
  for (const ContainerView& container : view.containers) {
    if (container.role != Role::App) continue;
    any_running = any_running || container.is_running();
    all_stopped = all_stopped && container.has_ended();
    any_never_ran = any_never_ran || container.runs.empty() ||
                    (container.runs.size() == 1 && container.is_running() && !container.begun);
    all_succeeded = all_succeeded && container.has_succeeded();
  }
  if (all_over)
    return all_stopped && all_succeeded && view.ending.reason.empty() ? "Succeeded" : "Failed";
  if (!view.init_done || any_never_ran) return "Pending";
  return "Running";
}

// True once nothing runs and nothing will start.
bool is_all_over(const PodWorld& world, const PodView& view) {
  const bool shim_alive = world.record != nullptr && world.record->alive;
  for (const ContainerView& container : view.containers) {
    if (container.is_running()) return false;
  }
  if (view.ending.active) return !shim_alive && !world.starting;
  if (view.init_failed) return !shim_alive;
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::App && !container.has_ended_for_good()) return false;
  }
  return !shim_alive;
}

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason, message;
};

std::string in_brackets(const std::vector<std::string>& names) {
  return "[" + join(names, " ") + "]";
}

// A pod is ready when others say so too, where it asks them to.
void judge_gates(const Json& pod, Condition& ready) {
  std::vector<std::string> missing;
  for (const Json& gate : list_at(pod, {"spec", "readinessGates"})) {
    const std::string_view type = text_at(gate, {"conditionType"});
    const std::string_view status = condition_status(pod, type);
    if (status.empty()) {
      missing.push_back(fmt::format(
          "corresponding condition of pod readiness gate {} does not exist.", quoted(type)));
    } else if (status != "True") {
      missing.push_back(fmt::format("the status of pod readiness gate {} is not \"True\", but {}",
                                    quoted(type), status));
    }
  }
  if (missing.empty()) return;
  ready.holds = false;
  ready.reason = "ReadinessGatesNotReady";
  ready.message = join(missing, ", ");
}

std::vector<Condition> conditions_of(const PodWorld& world, const PodView& view,
                                     std::string_view phase) {
  const std::vector<std::string> not_initialized = not_initialized_in(view);
  std::vector<std::string> not_ready;
  for (const ContainerView& container : view.containers) {
    const bool counts = container.role == Role::App || container.role == Role::Sidecar;
    if (counts && !container.ready) not_ready.push_back(container.name);
  }
  std::vector<Condition> out;
  if (view.ending.disruption)
    out.push_back({"DisruptionTarget", true, "TerminationByKubelet", view.ending.message});
  const bool over = phase == "Succeeded" || phase == "Failed";
  out.push_back({"PodReadyToStartContainers",
                 !over && world.record != nullptr && world.record->alive, "", ""});
  if (phase == "Succeeded") {
    out.push_back({"Initialized", true, "PodCompleted", ""});
  } else if (not_initialized.empty() || view.apps_ran) {
    out.push_back({"Initialized", true, "", ""});
  } else {
    out.push_back({"Initialized", false, "ContainersNotInitialized",
                   "containers with incomplete status: " + in_brackets(not_initialized)});
  }
  Condition ready{"Ready", not_ready.empty(), "", ""};
  if (over) {
    ready = {"Ready", false, phase == "Succeeded" ? "PodCompleted" : "PodFailed", ""};
  } else if (!not_ready.empty()) {
    ready = {"Ready", false, "ContainersNotReady",
             "containers with unready status: " + in_brackets(not_ready)};
  }
  Condition containers_ready = ready;
  containers_ready.type = "ContainersReady";
  if (ready.holds) judge_gates(world.pod, ready);
  out.push_back(std::move(ready));
  out.push_back(std::move(containers_ready));
  out.push_back({"PodScheduled", true, "", ""});
  return out;
}

JsonArray condition_list(const PodWorld& world, const std::vector<Condition>& ours) {
  const JsonArray& before = list_at(world.pod, {"status", "conditions"});
  const auto old_of = [&](std::string_view type) -> const Json* {
    for (const Json& condition : before) {
      if (text_at(condition, {"type"}) == type) return &condition;
    }
    return nullptr;
  };
  JsonArray out;
  for (const Json& condition : before) {
    const bool is_ours = std::ranges::any_of(
        ours, [&](const Condition& each) { return each.type == text_at(condition, {"type"}); });
    if (!is_ours) out.push_back(condition);
  }
  const int64_t generation = int_at(world.pod, {"metadata", "generation"});
  for (const Condition& condition : ours) {
    const std::string_view status = condition.holds ? "True" : "False";
    const Json* old = old_of(condition.type);
    const bool same = old != nullptr && text_at(*old, {"status"}) == status;
    JsonObject entry{{"type", condition.type}};
    if (generation > 0) entry["observedGeneration"] = generation;
    entry["status"] = status;
    entry["lastProbeTime"] = nullptr;
    entry["lastTransitionTime"] =
        same ? Json(text_at(*old, {"lastTransitionTime"})) : Json(rfc3339(world.now));
    if (!condition.reason.empty()) entry["reason"] = condition.reason;
    if (!condition.message.empty()) entry["message"] = condition.message;
    out.push_back(std::move(entry));
  }
  return out;
}

JsonArray statuses(const PodWorld& world, const PodView& view, std::string_view list,
                   bool all_over) {
  std::vector<const ContainerView*> chosen;
  for (const ContainerView& container : view.containers) {
    if (container.status_list() == list) chosen.push_back(&container);
  }
  if (list == "containerStatuses")
    std::ranges::sort(chosen, {}, &ContainerView::name);  // as kubelet writes them
  JsonArray out;
  for (const ContainerView* container : chosen)
    out.push_back(container_status(world, view, *container, all_over));
  return out;
}

}  // namespace

bool is_terminal(const Json& status) {
  const std::string_view phase = text_at(status, {"phase"});
  return phase == "Succeeded" || phase == "Failed";
}

std::string next_phase(const PodWorld& world, const PodView& view) {
  return phase_of(view, is_all_over(world, view));
}

Json next_status(const PodWorld& world, const PodView& view) {
  const Json* before = find(world.pod, "status");
  JsonObject out = before != nullptr && before->is_object() ? before->get_object() : JsonObject();
  const bool all_over = is_all_over(world, view);
  const std::string phase = phase_of(view, all_over);
  if (const int64_t generation = int_at(world.pod, {"metadata", "generation"}); generation > 0)
    out["observedGeneration"] = generation;
  out["phase"] = phase;
  out["conditions"] = condition_list(world, conditions_of(world, view, phase));
  out["hostIP"] = world.host_ip;
  out["hostIPs"] = JsonArray{JsonObject{{"ip", world.host_ip}}};
  if (!world.pod_ip.empty()) {
    out["podIP"] = world.pod_ip;
    out["podIPs"] = JsonArray{JsonObject{{"ip", world.pod_ip}}};
  }
  if (!out.contains("startTime")) out["startTime"] = rfc3339(world.now);
  if (!view.ending.reason.empty() && all_over) {
    out["reason"] = view.ending.reason;
    out["message"] = view.ending.message;
  }
  if (view.containers.front().role != Role::App)
    out["initContainerStatuses"] = statuses(world, view, "initContainerStatuses", all_over);
  out["containerStatuses"] = statuses(world, view, "containerStatuses", all_over);
  if (view.containers.back().role == Role::Ephemeral)
    out["ephemeralContainerStatuses"] =
        statuses(world, view, "ephemeralContainerStatuses", all_over);
  return out;
}

}  // namespace yard
