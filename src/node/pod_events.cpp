// Events follow from the difference of two statuses, so that a restarted server neither loses nor
// repeats one.

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/pod_parts.h"
#include "node/pod_sysctls.h"

namespace yard {
namespace {

const Json* status_in(const Json& status, const char* list, std::string_view name) {
  for (const Json& entry : list_at(status, {list})) {
    if (text_at(entry, {"name"}) == name) return &entry;
  }
  return nullptr;
}

bool is_waiting_for(const Json* status, std::string_view reason) {
  return status != nullptr && text_at(*status, {"state", "waiting", "reason"}) == reason;
}

bool is_told(const Json* status, const StartProblem& problem) {
  return is_waiting_for(status, problem.reason) &&
         text_at(*status, {"state", "waiting", "message"}) == problem.message;
}

// Kubelet tells of an image's trouble twice: what happened, and the state it led to.
void add_problem_events(std::vector<PodEvent>& out, const StartProblem& problem,
                        std::string_view image, const std::string& path) {
  const std::string& reason = problem.reason;
  if (reason == "ImagePullBackOff") {
    out.push_back(
        {"Normal", "BackOff", fmt::format("Back-off pulling image {}", quoted(image)), path});
  } else if (reason == "ErrImagePull") {
    out.push_back({"Warning", "Failed",
                   fmt::format("Failed to pull image {}: {}", quoted(image), problem.message),
                   path});
  } else if (reason == "ErrImageNeverPull") {
    out.push_back({"Warning", reason, problem.message, path});
  } else if (reason == "InvalidImageName") {
    out.push_back({"Warning", "InspectFailed", problem.message, path});
  } else {
    out.push_back({"Warning", "Failed", "Error: " + problem.message, path});
    return;
  }
  out.push_back({"Warning", "Failed", "Error: " + reason, path});
}

}  // namespace

std::vector<PodEvent> status_events(const PodWorld& world, const PodView& view, const Json& next) {
  std::vector<PodEvent> out;
  const Json* stored = find(world.pod, "status");
  static const Json kNone = JsonObject();
  const Json& before = stored != nullptr ? *stored : kNone;
  for (const ContainerView& container : view.containers) {
    const char* list = container.status_list();
    const std::string path = field_path(container);
    const Json* old = status_in(before, list, container.name);
    const Json* now = status_in(next, list, container.name);
    const std::string_view image = text_at(*container.spec, {"image"});
    // Every run that no status has told of yet.
    const int64_t told = old == nullptr || text_at(*old, {"containerID"}).empty()
                             ? -1
                             : int_at(*old, {"restartCount"});
    for (const ContainerRun* run : container.runs) {
      if (run->run <= told) continue;
      const ImageResolution& resolution = world.image_of(container.name);
      out.push_back({"Normal", "Pulled",
                     resolution.pulled_for == run->run ? resolution.pulled_words
                                                       : pulled_message(image, resolution),
                     path});
      out.push_back({"Normal", "Created", "Created container: " + container.name, path});
      if (run->failure.empty()) {
        out.push_back({"Normal", "Started", "Started container " + container.name, path});
      } else {
        out.push_back({"Warning", "Failed", "Error: " + run->failure, path});
      }
    }
    if (is_waiting_for(now, "CrashLoopBackOff") && !is_waiting_for(old, "CrashLoopBackOff")) {
      out.push_back({"Warning", "BackOff",
                     fmt::format("Back-off restarting failed container {} in pod {}",
                                 container.name, pod_in_text(world.pod)),
                     path});
    }
    if (const auto problem = world.problems.find(container.name);
        problem != world.problems.end() && !is_told(old, problem->second)) {
      add_problem_events(out, problem->second, image, path);
    }
  }
  if (world.record != nullptr && !world.record->alive && !world.starting &&
      !world.record->runs.empty() && !is_terminal(next) && !view.ending.active &&
      condition_status(world.pod, "PodReadyToStartContainers") == "True") {
    out.push_back(
        {"Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.", ""});
  }
  if (view.ending.reason == "DeadlineExceeded" && is_terminal(next))
    out.push_back({"Normal", "DeadlineExceeded", view.ending.message, ""});
  if (view.ending.reason == kSysctlForbidden && is_terminal(next)) {
    if (auto refusal = sysctl_refusal(world.pod))
      out.push_back({"Warning", std::string(kSysctlForbidden), std::move(*refusal), ""});
  }
  return out;
}

}  // namespace yard
