#include "node/plan_pod.h"

#include <algorithm>
#include <signal.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/pod_parts.h"

namespace yard {
namespace {

using Role = ContainerView::Role;

void look_again_at(PodPlan& plan, Time at) {
  if (!plan.look_again || at < *plan.look_again) plan.look_again = at;
}

std::string field_path(const ContainerView& container) {
  return fmt::format("spec.{}{{{}}}", container.role == Role::App ? "containers" : "initContainers",
                     container.name);
}

// Starts one container now, or says when; false when the ones after it have to wait.
void start_if_due(const PodWorld& world, const ContainerView& container, PodPlan& plan) {
  if (container.is_running() || container.has_ended_for_good()) return;
  const int run = container.runs.empty() ? 0 : container.newest()->run + 1;
  const auto requested = world.requested.find(container.name);
  if (requested != world.requested.end() && requested->second >= run) return;
  if (container.has_ended() && world.now < container.restart.due)
    return look_again_at(plan, container.restart.due);
  if (const auto problem = world.problems.find(container.name);
      problem != world.problems.end() && world.now < problem->second.retry_at) {
    return look_again_at(plan, problem->second.retry_at);
  }
  plan.start.push_back({container.name, run});
}

// Init containers one after another, sidecars among them; then all others together.
void plan_starts(const PodWorld& world, const PodView& view, PodPlan& plan) {
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Init && container.has_succeeded()) continue;
    if (container.role == Role::App && !view.init_done) return;
    start_if_due(world, container, plan);
    if (container.role == Role::Init) return;
    if (container.role == Role::Sidecar && container.runs.empty()) return;
  }
}

void end_container(const PodWorld& world, const ContainerView& container, Time kill_at,
                   PodPlan& plan) {
  if (!container.is_running()) return;
  const bool told = world.told_to_end.contains(container.name);
  if (!told)
    plan.events.push_back(
        {"Normal", "Killing", "Stopping container " + container.name, field_path(container)});
  if (world.now >= kill_at) {
    plan.signals.push_back({container.name, SIGKILL});
    return;
  }
  if (!told) plan.signals.push_back({container.name, SIGTERM});
  look_again_at(plan, kill_at);
}

// App containers together, then sidecars from the last to the first. True when nothing runs any
// more.
bool plan_end(const PodWorld& world, const PodView& view, Time kill_at, PodPlan& plan) {
  bool others_run = false;
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Sidecar) continue;
    end_container(world, container, kill_at, plan);
    others_run = others_run || container.is_running();
  }
  if (others_run && world.now < kill_at) return false;
  for (auto container = view.containers.rbegin(); container != view.containers.rend();
       ++container) {
    if (container->role != Role::Sidecar || !container->is_running()) continue;
    end_container(world, *container, kill_at, plan);
    return false;
  }
  return !others_run;
}

// When the containers that count have ended for good: sidecars have the pod's grace from then on.
std::optional<Time> end_of_work(const PodView& view) {
  Time last{};
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Sidecar) continue;
    const bool counts = container.role == Role::App ? !view.init_failed : view.init_failed;
    if (counts && container.role == Role::App && !container.has_ended_for_good())
      return std::nullopt;
    if (container.is_running()) return std::nullopt;
    if (container.has_ended()) last = std::max(last, container.newest()->exit->at);
  }
  return last;
}

void plan_running_pod(const PodWorld& world, const PodView& view, PodPlan& plan) {
  const bool alive = world.record != nullptr && world.record->alive;
  if (view.ending.active) {
    if (alive && plan_end(world, view, view.ending.kill_at, plan)) plan.stop = true;
    return;
  }
  if (const Json* seconds = find_path(world.pod, {"spec", "activeDeadlineSeconds"});
      seconds != nullptr) {
    if (const auto started = time_at(world.pod, {"status", "startTime"})) {
      look_again_at(plan, *started + std::chrono::seconds(
                                         int_at(world.pod, {"spec", "activeDeadlineSeconds"})));
    }
  }
  if (const auto ended = end_of_work(view)) {
    const Time kill_at = *ended + std::chrono::seconds(int_at(
                                      world.pod, {"spec", "terminationGracePeriodSeconds"}, 30));
    if (alive && plan_end(world, view, kill_at, plan)) plan.stop = true;
    return;
  }
  if (world.starting) return;
  if (!alive) {
    const auto problem = world.problems.find("");
    if (problem != world.problems.end() && world.now < problem->second.retry_at)
      return look_again_at(plan, problem->second.retry_at);
    plan.start_pod = true;
    return;
  }
  plan_starts(world, view, plan);
}

void plan_finished_pod(const PodWorld& world, PodPlan& plan) {
  if (world.record != nullptr && world.record->alive) {
    plan.stop = true;
  } else if (world.record != nullptr) {
    plan.remove = true;
  } else {
    plan.delete_object = is_being_deleted(world.pod);
  }
}

}  // namespace

const ImageResolution& PodWorld::image_of(const std::string& container) const {
  static const ImageResolution kHost;
  const auto found = images.find(container);
  return found == images.end() ? kHost : found->second;
}

PodPlan plan_pod(const PodWorld& world) {
  PodPlan plan;
  const Json* status = find(world.pod, "status");
  if (status != nullptr && is_terminal(*status)) {
    plan_finished_pod(world, plan);
    return plan;
  }
  const PodView view = view_of(world);
  if (view.containers.empty()) return plan;
  plan_running_pod(world, view, plan);
  Json next = next_status(world, view);
  std::ranges::move(status_events(world, view, next), std::back_inserter(plan.events));
  if (status == nullptr || !equal(*status, next)) plan.status = std::move(next);
  return plan;
}

std::string to_text(const PodPlan& plan) {
  std::vector<std::string> parts;
  if (plan.start_pod) parts.emplace_back("start pod");
  for (const auto& start : plan.start)
    parts.push_back(fmt::format("start {} {}", start.container, start.run));
  for (const auto& signal : plan.signals)
    parts.push_back(fmt::format("signal {} {}", signal.container, signal.number));
  if (plan.stop) parts.emplace_back("stop");
  if (plan.remove) parts.emplace_back("remove");
  if (plan.delete_object) parts.emplace_back("delete");
  if (plan.status) parts.push_back(fmt::format("status {}", text_at(*plan.status, {"phase"})));
  return join(parts, ", ");
}

}  // namespace yard
