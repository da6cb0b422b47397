#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "node/pod_parts.h"
#include "node/pod_sysctls.h"

namespace yard {
namespace {

using Role = ContainerView::Role;

ContainerView container_view(const PodWorld& world, const Json& spec, ContainerView::Role role,
                             RestartPolicy policy) {
  ContainerView out;
  out.spec = &spec;
  out.name = text_at(spec, {"name"});
  out.role = role;
  out.policy = policy;
  static const RunMemory kNothing;
  out.memory = &kNothing;
  if (world.record == nullptr) return out;
  for (const ContainerRun& run : world.record->runs) {
    if (run.container == out.name) out.runs.push_back(&run);
  }
  out.restart = next_restart(policy, out.runs);
  if (const auto kept = world.memory.find(out.name);
      kept != world.memory.end() && !out.runs.empty() && kept->second.run == out.newest()->run) {
    out.memory = &kept->second;
  }
  judge_health(world, out);
  return out;
}

std::optional<Time> deadline_of(const Json& pod) {
  const Json* seconds = find_path(pod, {"spec", "activeDeadlineSeconds"});
  const auto started = time_at(pod, {"status", "startTime"});
  if (seconds == nullptr || !started) return std::nullopt;
  return *started + std::chrono::seconds(int_at(pod, {"spec", "activeDeadlineSeconds"}));
}

Duration grace_of(const Json& pod) {
  return std::chrono::seconds(int_at(pod, {"spec", "terminationGracePeriodSeconds"}, 30));
}

constexpr std::string_view kDeadlineMessage =
    "Pod was active on the node longer than the specified deadline";
constexpr std::string_view kShutdownMessage =
    "Pod was terminated in response to imminent node shutdown.";
constexpr std::string_view kRebootMessage =
    "The machine was restarted while the pod was on it: its processes are gone";
constexpr Duration kEvictionGrace = std::chrono::seconds(1);
constexpr Duration kShutdownGrace = std::chrono::seconds(10);

// Everything that counts has ended by itself: what happens to the machine now changes nothing.
bool is_done(const PodView& view) {
  return std::ranges::all_of(view.containers, [](const ContainerView& container) {
    return container.role != Role::App ||
           (container.has_ended() && !container.restart.again && !container.newest()->exit->lost &&
            !container.memory->end_began);
  });
}

// Why the pod ends, apart from its deletion.
Ending cause_of_end(const PodWorld& world, const PodView& view) {
  const Duration grace = grace_of(world.pod);
  NodeEnd node_end = world.record == nullptr ? NodeEnd::None : world.record->node_end;
  if (node_end == NodeEnd::Reboot && is_done(view)) node_end = NodeEnd::None;
  if (node_end == NodeEnd::Reboot)
    return {true, world.now, {}, "NodeLost", std::string(kRebootMessage), true};
  if (node_end == NodeEnd::Shutdown)
    return {true, world.now, {}, "Terminated", std::string(kShutdownMessage), true};
  if (world.eviction)
    return {true,
            world.eviction->at + kEvictionGrace,
            kEvictionGrace,
            "Evicted",
            world.eviction->message,
            world.eviction->disruption};
  if (world.record == nullptr && !world.starting) {
    if (const auto refusal = sysctl_refusal(world.pod))
      return {true, world.now, {}, std::string(kSysctlForbidden), "Pod was rejected: " + *refusal,
              false};
  }
  if (const auto deadline = deadline_of(world.pod); deadline && world.now >= *deadline)
    return {true, *deadline + grace, grace, "DeadlineExceeded", std::string(kDeadlineMessage),
            false};
  // What has not begun waits for the next start of the node.
  if (world.node_ends && (world.record != nullptr || world.starting) && !is_done(view))
    return {true,
            *world.node_ends + std::min(grace, kShutdownGrace),
            std::min(grace, kShutdownGrace),
            "Terminated",
            std::string(kShutdownMessage),
            true};
  return {};
}

Ending ending_of(const PodWorld& world, const PodView& view) {
  Ending out = cause_of_end(world, view);
  if (const auto deleted = time_at(world.pod, {"metadata", "deletionTimestamp"})) {
    // The timestamp lost its fraction of a second; a pod is never given less than its grace.
    const Time due = *deleted + std::chrono::seconds(1);
    const Duration grace =
        std::chrono::seconds(int_at(world.pod, {"metadata", "deletionGracePeriodSeconds"}, 30));
    out.kill_at = out.active ? std::min(out.kill_at, due) : due;
    out.grace = out.active ? std::min(out.grace, grace) : grace;
    out.active = true;
  }
  return out;
}

void judge_init(PodView& view) {
  view.init_done = true;
  for (const ContainerView& container : view.containers)
    view.apps_ran = view.apps_ran || (container.role == Role::App && !container.runs.empty());
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Init) {
      view.init_done = view.init_done && container.has_succeeded();
      view.init_failed =
          view.init_failed || (container.has_ended_for_good() && !container.has_succeeded());
    } else if (container.role == Role::Sidecar) {
      // One that starts again once the others run holds up nothing.
      view.init_done = view.init_done && (container.started || view.apps_ran);
    }
  }
}

}  // namespace

PodView view_of(const PodWorld& world) {
  PodView view;
  view.policy = restart_policy_of(text_at(world.pod, {"spec", "restartPolicy"}));
  // An ordinary init container that has succeeded is done, whatever the policy.
  const RestartPolicy init_policy =
      view.policy == RestartPolicy::Never ? RestartPolicy::Never : RestartPolicy::OnFailure;
  for (const Json& spec : list_at(world.pod, {"spec", "initContainers"})) {
    const bool sidecar = text_at(spec, {"restartPolicy"}) == "Always";
    view.containers.push_back(container_view(world, spec, sidecar ? Role::Sidecar : Role::Init,
                                             sidecar ? RestartPolicy::Always : init_policy));
  }
  for (const Json& spec : list_at(world.pod, {"spec", "containers"})) {
    view.containers.push_back(container_view(world, spec, Role::App, view.policy));
  }
  for (const Json& spec : list_at(world.pod, {"spec", "ephemeralContainers"}))
    view.containers.push_back(container_view(world, spec, Role::Ephemeral, RestartPolicy::Never));
  view.ending = ending_of(world, view);
  for (ContainerView& container : view.containers)
    container.will_restart = container.restart.again && !view.ending.active;
  judge_init(view);
  // Sidecars serve the others: once those are done for good, nothing starts again.
  const bool apps_done = std::ranges::all_of(view.containers, [](const ContainerView& container) {
    return container.role != Role::App || container.has_ended_for_good();
  });
  if (apps_done || view.init_failed) {
    for (ContainerView& container : view.containers)
      container.will_restart = false;
  }
  return view;
}

const Json* stored_status(const PodWorld& world, const ContainerView& container) {
  for (const Json& entry : list_at(world.pod, {"status", container.status_list()})) {
    if (text_at(entry, {"name"}) == container.name) return &entry;
  }
  return nullptr;
}

bool tells_of(const Json* status, const PodWorld& world, const ContainerRun& run) {
  return status != nullptr && text_at(*status, {"containerID"}) == container_id(world, run);
}

std::string field_path(const ContainerView& container) {
  return fmt::format("spec.{}{{{}}}", container.spec_list(), container.name);
}

std::string container_id(const PodWorld& world, const ContainerRun& run) {
  return "trainyard://" + std::string(text_at(world.pod, {"metadata", "uid"})) + "/" +
         run.container + "/" + std::to_string(run.run);
}

std::string pod_in_text(const Json& pod) {
  return std::string(text_at(pod, {"metadata", "name"})) + "_" +
         std::string(text_at(pod, {"metadata", "namespace"})) + "(" +
         std::string(text_at(pod, {"metadata", "uid"})) + ")";
}

}  // namespace yard
