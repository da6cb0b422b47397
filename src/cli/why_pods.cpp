// What stands in a pod's way.

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "cli/why_parts.h"
#include "images/registry/registry_fault.h"

namespace yard {
namespace {

using Weight = Finding::Weight;
constexpr size_t kMostLogLines = 5;

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

// The command in the last `...` of a text.
std::string command_in(std::string_view text) {
  const size_t end = text.rfind('`');
  if (end == std::string_view::npos || end == 0) return "";
  const size_t begin = text.rfind('`', end - 1);
  return begin == std::string_view::npos ? ""
                                         : std::string(text.substr(begin + 1, end - begin - 1));
}

// A scheduler of ours puts numbers and commands in brackets behind kube-scheduler's words.
std::string bracketed(std::string_view message) {
  if (!message.ends_with(')')) return "";
  const size_t begin = message.rfind(" (");
  return begin == std::string_view::npos
             ? ""
             : std::string(message.substr(begin + 2, message.size() - begin - 3));
}

const Json* named(const std::vector<Json>& objects, std::string_view name) {
  for (const Json& object : objects) {
    if (name_of(object) == name) return &object;
  }
  return nullptr;
}

std::string names_of(const std::vector<Json>& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects)
    names.emplace_back(name_of(object));
  return join(names, ", ");
}

Finding claim_finding(const WhyWorld& world, const Json& pod, std::string_view claim_name) {
  const std::string name(name_of(pod));
  const Json* claim = named(world.claims, claim_name);
  if (claim == nullptr) {
    return {Weight::Waiting,
            fmt::format("pod {} waits for the volume claim {}, which does not exist", name,
                        quoted(claim_name)),
            "trainyard apply -f CLAIM.yaml"};
  }
  const std::string size(text_at(*claim, {"spec", "resources", "requests", "storage"}, "0"));
  const std::string_view wanted = text_at(*claim, {"spec", "storageClassName"});
  if (!wanted.empty() && named(world.storage_classes, wanted) == nullptr) {
    return {
        Weight::Waiting,
        fmt::format("pod {} waits for the volume claim {} ({}): it wants storageClassName {}, "
                    "which is not here ({})",
                    name, quoted(claim_name), size, quoted(wanted),
                    world.storage_classes.empty() ? std::string("there are no storage classes")
                                                  : "there is " + names_of(world.storage_classes)),
        fmt::format("take storageClassName out of the claim{}, then: trainyard delete pvc {} && "
                    "trainyard apply -f CLAIM.yaml",
                    world.storage_classes.empty()
                        ? ""
                        : fmt::format(" or make it {}", name_of(world.storage_classes[0])),
                    claim_name)};
  }
  return {Weight::Waiting,
          fmt::format("pod {} waits for the volume claim {} ({}), which is not bound yet", name,
                      quoted(claim_name), size),
          fmt::format("trainyard describe pvc {}", claim_name)};
}

std::optional<Finding> unbound_claim(const WhyWorld& world, const Json& pod) {
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    const std::string_view name = text_at(volume, {"persistentVolumeClaim", "claimName"});
    if (name.empty()) continue;
    const Json* claim = named(world.claims, name);
    if (claim == nullptr || text_at(*claim, {"status", "phase"}) != "Bound")
      return claim_finding(world, pod, name);
  }
  return std::nullopt;
}

std::optional<Finding> scheduling_finding(const WhyWorld& world, const Json& pod) {
  const Json* scheduled = condition_of(pod, "PodScheduled");
  const std::string name(name_of(pod));
  if (!text_at(pod, {"spec", "nodeName"}).empty()) return std::nullopt;
  if (auto claim = unbound_claim(world, pod)) return claim;
  if (scheduled != nullptr && text_at(*scheduled, {"reason"}) == "SchedulingGated") {
    std::vector<std::string> gates;
    for (const Json& gate : list_at(pod, {"spec", "schedulingGates"}))
      gates.emplace_back(text_at(gate, {"name"}));
    return Finding{Weight::Waiting,
                   fmt::format("pod {} is held by {} scheduling gate{}: {}", name, gates.size(),
                               gates.size() == 1 ? "" : "s", join(gates, ", ")),
                   "whoever set a gate takes it away"};
  }
  if (scheduled == nullptr || text_at(*scheduled, {"status"}) != "False") {
    if (world.nodes.empty())
      return Finding{Weight::Waiting,
                     fmt::format("pod {} waits for a node, and there are 0 nodes", name),
                     "trainyard info"};
    return Finding{Weight::Waiting, fmt::format("pod {} has not been looked at yet", name), ""};
  }
  const std::string_view message = text_at(*scheduled, {"message"});
  const std::string numbers = bracketed(message);
  const std::string command = command_in(numbers);
  return Finding{Weight::Waiting,
                 numbers.empty() ? fmt::format("pod {} fits no node: {}", name, message)
                                 : fmt::format("pod {} fits no node: {}", name, numbers),
                 command.empty() ? "trainyard get pods -A" : command};
}

std::vector<std::string> last_lines(const WhyWorld& world, std::string_view pod,
                                    std::string_view container) {
  const auto found = world.last_lines.find(std::string(pod) + "/" + std::string(container));
  if (found == world.last_lines.end()) return {};
  std::vector<std::string> out;
  for (const std::string_view line : split(found->second, '\n')) {
    if (!trim(line).empty()) out.emplace_back(line);
  }
  if (out.size() > kMostLogLines)
    out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(kMostLogLines));
  return out;
}

std::string limit_of(const Json& pod, std::string_view container, std::string_view resource) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& each : list_at(pod, {"spec", list})) {
      if (text_at(each, {"name"}) == container)
        return std::string(text_at(each, {"resources", "limits", resource}));
    }
  }
  return "";
}

// How a container ended, and what to do about it.
Finding ended_finding(const WhyWorld& world, const Json& pod, const Json& status,
                      const Json& ended) {
  const std::string_view container = text_at(status, {"name"}), reason = text_at(ended, {"reason"});
  const int64_t code = int_at(ended, {"exitCode"});
  const std::string who = fmt::format("container {} of pod {}", container, name_of(pod));
  const int64_t restarts = int_at(status, {"restartCount"});
  const std::string again =
      restarts > 0 ? fmt::format(", {} restart{} so far", restarts, restarts == 1 ? "" : "s") : "";
  Finding out{Weight::Bad, "", fmt::format("trainyard logs {}", argument_of(pod)),
              last_lines(world, name_of(pod), container)};
  if (reason == "OOMKilled") {
    const std::string limit = limit_of(pod, container, "memory");
    out.sentence = fmt::format("{} was killed for using more memory than {}{}", who,
                               limit.empty() ? "the machine has" : "its limit of " + limit, again);
    out.command = limit.empty() ? "ask for less: a smaller batch, fewer loaders"
                                : "raise resources.limits.memory, or use a smaller batch";
    return out;
  }
  if (reason == "StartError" || reason == "ContainerCannotRun") {
    out.sentence = fmt::format("{} could not be started (exit code {}): {}", who, code,
                               text_at(ended, {"message"}));
    out.command =
        "correct command and args in the YAML, or map the image to an environment that "
        "has the program (images.map in config.yaml)";
    return out;
  }
  if (reason == "ContainerStatusUnknown") {
    out.sentence = fmt::format(
        "nobody knows how {} ended: what kept it was gone (node restarted, "
        "or its keeper killed){}",
        who, again);
    return out;
  }
  const std::string meaning = exit_code_meaning(code);
  out.sentence = fmt::format("{} ended with exit code {}{}{}", who, code,
                             meaning.empty() ? "" : fmt::format(" ({})", meaning), again);
  if (code == 126 || code == 127)
    out.command =
        "correct command and args in the YAML, or map the image to an environment that "
        "has the program (images.map in config.yaml)";
  return out;
}

Finding image_finding(const Json& pod, const Json& status, std::string_view reason) {
  // A registry's refusal brings its own mend.
  const auto [message, mend] = split_mend(text_at(status, {"state", "waiting", "message"}));
  const std::string command = command_in(message);
  return {Weight::Bad,
          fmt::format("container {} of pod {} has no image to run ({}): {}",
                      text_at(status, {"name"}), name_of(pod), reason, message),
          !mend.empty()                   ? std::string(mend)
          : reason == "InvalidImageName"  ? "correct `image` in the YAML"
          : reason == "ErrImageNeverPull" ? "map the image under images.map in config.yaml, or set "
                                            "imagePullPolicy to IfNotPresent"
          : command.empty()               ? "map the image under images.map in config.yaml and "
                                            "`trainyard restart`"
                                          : "map the image under images.map in config.yaml, then: "
                                            "trainyard restart"};
}

std::string unhealthy_event(const WhyWorld& world, const Json& pod) {
  std::string newest;
  for (const Json& event : world.events) {
    if (text_at(event, {"reason"}) == "Unhealthy" &&
        text_at(event, {"involvedObject", "name"}) == name_of(pod))
      newest = text_at(event, {"message"});
  }
  return newest;
}

std::optional<Finding> container_finding(const WhyWorld& world, const Json& pod, const Json& status,
                                         bool is_init) {
  constexpr std::string_view kImageReasons[] = {"ErrImagePull", "ImagePullBackOff",
                                                "ErrImageNeverPull", "InvalidImageName",
                                                "ImageInspectError"};
  const std::string_view waiting = text_at(status, {"state", "waiting", "reason"});
  const std::string who =
      fmt::format("container {} of pod {}", text_at(status, {"name"}), name_of(pod));
  if (std::ranges::find(kImageReasons, waiting) != std::end(kImageReasons))
    return image_finding(pod, status, waiting);
  const Json* last = find_path(status, {"lastState", "terminated"});
  if (waiting == "CrashLoopBackOff" && last != nullptr) {
    Finding out = ended_finding(world, pod, status, *last);
    const std::string_view message = text_at(status, {"state", "waiting", "message"});
    const size_t back_off = message.find(" restarting");
    out.sentence +=
        fmt::format(", and is tried again after a {}",
                    message.substr(0, back_off == std::string_view::npos ? 0 : back_off));
    return out;
  }
  if (!waiting.empty() && waiting != "PodInitializing" && waiting != "ContainerCreating") {
    const std::string_view message = text_at(status, {"state", "waiting", "message"});
    const std::string command = command_in(message);
    return Finding{
        Weight::Bad, fmt::format("{} cannot be started ({}): {}", who, waiting, message),
        command.empty() ? fmt::format("trainyard describe {}", argument_of(pod)) : command};
  }
  if (const Json* ended = find_path(status, {"state", "terminated"})) {
    if (int_at(*ended, {"exitCode"}) != 0) return ended_finding(world, pod, status, *ended);
    return std::nullopt;
  }
  if (is_init && find_path(status, {"state", "running"}) != nullptr) {
    return Finding{
        Weight::Waiting,
        fmt::format("pod {} waits for its init container {} to end", name_of(pod),
                    text_at(status, {"name"})),
        fmt::format("trainyard logs -f {} -c {}", argument_of(pod), text_at(status, {"name"}))};
  }
  if (const std::string_view message = text_at(status, {"state", "waiting", "message"});
      !message.empty())
    return Finding{Weight::Waiting, fmt::format("{} is {}", who, message), ""};
  if (find_path(status, {"state", "running"}) != nullptr && !bool_at(status, {"ready"})) {
    const std::string probe = unhealthy_event(world, pod);
    if (!probe.empty())
      return Finding{Weight::Bad, fmt::format("{} runs but is not ready: {}", who, probe),
                     fmt::format("trainyard logs {}", argument_of(pod))};
  }
  return std::nullopt;
}

std::optional<Finding> mount_finding(const WhyWorld& world, const Json& pod) {
  for (auto event = world.events.rbegin(); event != world.events.rend(); ++event) {
    if (text_at(*event, {"reason"}) != "FailedMount" ||
        text_at(*event, {"involvedObject", "name"}) != name_of(pod))
      continue;
    const std::string_view message = text_at(*event, {"message"});
    return Finding{Weight::Bad, fmt::format("pod {} waits for a volume: {}", name_of(pod), message),
                   fmt::format("trainyard describe {}", argument_of(pod))};
  }
  return std::nullopt;
}

std::optional<Finding> container_findings(const WhyWorld& world, const Json& pod) {
  for (const Json& status : list_at(pod, {"status", "initContainerStatuses"})) {
    if (auto found = container_finding(world, pod, status, true)) return found;
  }
  std::optional<Finding> out;
  for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
    auto found = container_finding(world, pod, status, false);
    if (found && (!out || found->weight > out->weight)) out = std::move(found);
  }
  return out;
}

}  // namespace

std::optional<Finding> pod_finding(const WhyWorld& world, const Json& pod) {
  const std::string_view phase = text_at(pod, {"status", "phase"}, "Pending"),
                         reason = text_at(pod, {"status", "reason"});
  if (phase == "Succeeded") return std::nullopt;
  if (phase == "Failed" && !reason.empty()) {
    return Finding{Weight::Bad,
                   fmt::format("pod {} failed ({}): {}", name_of(pod), reason,
                               text_at(pod, {"status", "message"})),
                   reason == "DeadlineExceeded"
                       ? "raise activeDeadlineSeconds"
                       : fmt::format("trainyard logs {}", argument_of(pod))};
  }
  if (phase == "Pending") {
    if (auto found = scheduling_finding(world, pod)) return found;
  }
  if (auto found = container_findings(world, pod)) return found;
  if (phase == "Pending") return mount_finding(world, pod);
  return std::nullopt;
}

std::string exit_code_meaning(int64_t code) {
  switch (code) {
    case 1: return "an error of the program's own";
    case 2: return "an error of the program's own, often of its arguments";
    case 126: return "the command cannot be executed";
    case 127: return "the command was not found";
    case 130: return "interrupted, SIGINT";
    case 134: return "aborted, SIGABRT";
    case 135: return "SIGBUS: often /dev/shm is full";
    case 137: return "killed, SIGKILL: it did not end in its grace, or something outside ended it";
    case 139: return "segmentation fault, SIGSEGV";
    case 143: return "asked to end, SIGTERM";
    default: return code > 128 && code < 193 ? fmt::format("signal {}", code - 128) : "";
  }
}

std::string argument_of(const Json& object) {
  const std::string_view ns = text_at(object, {"metadata", "namespace"});
  return fmt::format("{}/{}{}", lower(text_at(object, {"kind"}, "Pod")), name_of(object),
                     ns.empty() || ns == "default" ? "" : fmt::format(" -n {}", ns));
}

}  // namespace yard
