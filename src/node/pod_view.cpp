#include <algorithm>

#include "api/tree.h"
#include "node/pod_parts.h"

namespace yard {
namespace {

ContainerView container_view(const PodWorld& world, const Json& spec, ContainerView::Role role,
                             RestartPolicy policy) {
  ContainerView out;
  out.spec = &spec;
  out.name = text_at(spec, {"name"});
  out.role = role;
  out.policy = policy;
  if (world.record == nullptr) return out;
  for (const ContainerRun& run : world.record->runs) {
    if (run.container == out.name) out.runs.push_back(&run);
  }
  out.restart = next_restart(policy, out.runs);
  return out;
}

std::optional<Time> deadline_of(const Json& pod) {
  const Json* seconds = find_path(pod, {"spec", "activeDeadlineSeconds"});
  const auto started = time_at(pod, {"status", "startTime"});
  if (seconds == nullptr || !started) return std::nullopt;
  return *started + std::chrono::seconds(int_at(pod, {"spec", "activeDeadlineSeconds"}));
}

std::chrono::seconds grace_of(const Json& pod) {
  return std::chrono::seconds(int_at(pod, {"spec", "terminationGracePeriodSeconds"}, 30));
}

constexpr std::string_view kDeadlineMessage =
    "Pod was active on the node longer than the specified deadline";

Ending ending_of(const PodWorld& world) {
  Ending out;
  if (const auto deadline = deadline_of(world.pod); deadline && world.now >= *deadline) {
    out = {true, *deadline + grace_of(world.pod), "DeadlineExceeded",
           std::string(kDeadlineMessage)};
  }
  if (const auto deleted = time_at(world.pod, {"metadata", "deletionTimestamp"})) {
    // The timestamp lost its fraction of a second; a pod is never given less than its grace.
    const Time due = *deleted + std::chrono::seconds(1);
    out.kill_at = out.active ? std::min(out.kill_at, due) : due;
    out.active = true;
  }
  return out;
}

void judge_init(PodView& view) {
  view.init_done = true;
  for (const ContainerView& container : view.containers) {
    if (container.role == ContainerView::Role::Init) {
      view.init_done = view.init_done && container.has_succeeded();
      view.init_failed =
          view.init_failed || (container.has_ended_for_good() && !container.has_succeeded());
    } else if (container.role == ContainerView::Role::Sidecar) {
      view.init_done = view.init_done && !container.runs.empty();
    }
  }
}

}  // namespace

PodView view_of(const PodWorld& world) {
  PodView view;
  view.policy = restart_policy_of(text_at(world.pod, {"spec", "restartPolicy"}));
  view.ending = ending_of(world);
  // An ordinary init container that has succeeded is done, whatever the policy.
  const RestartPolicy init_policy =
      view.policy == RestartPolicy::Never ? RestartPolicy::Never : RestartPolicy::OnFailure;
  for (const Json& spec : list_at(world.pod, {"spec", "initContainers"})) {
    const bool sidecar = text_at(spec, {"restartPolicy"}) == "Always";
    view.containers.push_back(container_view(
        world, spec, sidecar ? ContainerView::Role::Sidecar : ContainerView::Role::Init,
        sidecar ? RestartPolicy::Always : init_policy));
  }
  for (const Json& spec : list_at(world.pod, {"spec", "containers"})) {
    view.containers.push_back(container_view(world, spec, ContainerView::Role::App, view.policy));
  }
  for (ContainerView& container : view.containers)
    container.will_restart = container.restart.again && !view.ending.active;
  judge_init(view);
  // Sidecars serve the others: once those are done for good, nothing starts again.
  const bool apps_done = std::ranges::all_of(view.containers, [](const ContainerView& container) {
    return container.role != ContainerView::Role::App || container.has_ended_for_good();
  });
  if (apps_done || view.init_failed) {
    for (ContainerView& container : view.containers)
      container.will_restart = false;
  }
  return view;
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
