#include "node/plan_pod.h"

#include <algorithm>
#include <signal.h>
#include <string.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/pod_parts.h"

namespace yard {
namespace {

using Role = ContainerView::Role;

// At least this long between stop signal and SIGKILL, also where a hook took all of the grace.
constexpr Duration kLeastGrace = std::chrono::seconds(2);
constexpr Duration kClockSlack = std::chrono::seconds(2);

// Starts one container now, or says when; false when the ones after it have to wait.
void start_if_due(const PodWorld& world, const ContainerView& container, PodPlan& plan) {
  if (container.is_running() || container.has_ended_for_good()) return;
  const int run = container.runs.empty() ? 0 : container.newest()->run + 1;
  const auto requested = world.requested.find(container.name);
  if (requested != world.requested.end() && requested->second >= run) return;
  if (container.is_waiting(world.now)) return look_again_at(plan, container.restart.due);
  if (const auto problem = world.problems.find(container.name);
      problem != world.problems.end() && world.now < problem->second.retry_at) {
    return look_again_at(plan, problem->second.retry_at);
  }
  plan.start.push_back({container.name, run});
}

// Init containers one after another, sidecars among them; then all others together. A postStart
// hook holds up what comes after its container.
void plan_starts(const PodWorld& world, const PodView& view, PodPlan& plan) {
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Init && container.has_succeeded()) continue;
    if (container.role == Role::App && !view.init_done) return;
    if (container.role == Role::Ephemeral && !view.apps_ran) return;
    start_if_due(world, container, plan);
    if (container.is_running() && !container.begun) return;
    if (container.role == Role::Init) return;
    if (container.role == Role::Sidecar && !container.started && !view.apps_ran) return;
    const bool has_hook = find_path(*container.spec, {"lifecycle", "postStart"}) != nullptr;
    if (has_hook && container.runs.empty()) return;
  }
}

// Whether the containers may start; if not yet, what to do about it.
bool gate_is_open(const PodWorld& world, PodPlan& plan) {
  if (!world.gate) return true;
  const GateStep step = gate_step(*world.gate, world.awaited, world.now);
  plan.opens_gate = step.opens;
  plan.holds_until = step.holds_until;
  if (step.announce)
    plan.events.push_back(
        {"Normal", std::string(kGateEvent),
         fmt::format("Waiting for {}: containers start when that pod runs", world.gate->name), ""});
  if (step.look_again) look_again_at(plan, *step.look_again);
  return step.opens;
}

int stop_signal(const PodWorld& world, const ContainerView& container) {
  std::string name(text_at(*container.spec, {"lifecycle", "stopSignal"}));
  const auto& image = world.image_of(container.name).entry.unpacked;
  if (name.empty() && image) name = image->stop_signal;
  if (name.empty()) return SIGTERM;
  // Images also write TERM and 15.
  if (const auto number = parse_int64(name); number && *number > 0 && *number < NSIG)
    return static_cast<int>(*number);
  if (!name.starts_with("SIG")) name.insert(0, "SIG");
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* abbreviation = sigabbrev_np(number);
    if (abbreviation != nullptr && name == "SIG" + std::string(abbreviation)) return number;
  }
  if (name.starts_with("SIGRTMIN+"))
    return std::min<int>(SIGRTMIN + static_cast<int>(parse_int64(name.substr(9)).value_or(0)),
                         SIGRTMAX);
  if (name.starts_with("SIGRTMAX-"))
    return std::max<int>(SIGRTMAX - static_cast<int>(parse_int64(name.substr(9)).value_or(0)),
                         SIGRTMIN);
  return name == "SIGRTMIN" ? SIGRTMIN : name == "SIGRTMAX" ? SIGRTMAX : SIGTERM;
}

struct Kill {
  Time at{};         // SIGKILL
  Duration grace{};  // 0: no hook, no signal before it
  std::string message;
};

Kill kill_of(const Ending& ending, const ContainerView& container) {
  return {ending.kill_at, ending.grace, "Stopping container " + container.name};
}

// preStop, stop signal, SIGKILL: one look takes the step that is due.
void end_container(const PodWorld& world, const ContainerView& container, const Kill& kill,
                   PodPlan& plan) {
  if (!container.is_running()) return;
  const RunMemory& memory = *container.memory;
  if (!memory.end_began) {
    plan.events.push_back({"Normal", "Killing", kill.message, field_path(container)});
    plan.ends.push_back(container.name);
  }
  // A clock that was set back must not lengthen the end.
  const bool clock_fell = memory.end_began && *memory.end_began > world.now + kClockSlack;
  Time kill_at = clock_fell ? world.now : kill.at;
  const HookState& hook = memory.pre_stop;
  const bool has_hook = find_path(*container.spec, {"lifecycle", "preStop"}) != nullptr &&
                        kill.grace > Duration{} && container.begun && !memory.told_to_end;
  if (has_hook && hook.stage == HookState::Stage::NotBegun && world.now < kill_at) {
    plan.hooks.push_back(
        {container.name, container.newest()->run, HookKind::PreStop, kill_at - world.now});
    return look_again_at(plan, kill_at + kLeastGrace);
  }
  if (hook.stage == HookState::Stage::UnderWay && world.now < kill_at + kLeastGrace)
    return look_again_at(plan, kill_at + kLeastGrace);
  if (hook.is_over()) kill_at = std::max(kill_at, hook.ended + kLeastGrace);
  if (world.now >= kill_at) {
    plan.signals.push_back({container.name, SIGKILL});
    return;
  }
  if (!memory.told_to_end) plan.signals.push_back({container.name, stop_signal(world, container)});
  look_again_at(plan, kill_at);
}

// Containers that fail their liveness or startup probe, or whose postStart hook failed, end; what
// follows is the restart policy's.
void end_unhealthy(const PodWorld& world, const PodView& view, PodPlan& plan) {
  for (const ContainerView& container : view.containers) {
    if (!container.is_running()) continue;
    Kill kill;
    kill.grace =
        std::chrono::seconds(int_at(world.pod, {"spec", "terminationGracePeriodSeconds"}, 30));
    if (container.memory->post_start.stage == HookState::Stage::Failed) {
      kill.message = "FailedPostStartHook";
    } else if (container.failed_probe) {
      kill.message =
          fmt::format("Container {} failed {} probe{}", container.name,
                      lower(probe_name(*container.failed_probe)),
                      container.policy == RestartPolicy::Never ? "" : ", will be restarted");
      const auto probe = probe_of(*container.spec, *container.failed_probe);
      if (probe && probe->grace) kill.grace = *probe->grace;
    } else {
      continue;
    }
    kill.at = container.memory->end_began.value_or(world.now) + kill.grace;
    end_container(world, container, kill, plan);
  }
}

// App containers together, then sidecars from the last to the first. True when nothing runs any
// more.
bool plan_end(const PodWorld& world, const PodView& view, const Ending& ending, PodPlan& plan) {
  bool others_run = false;
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Sidecar) continue;
    end_container(world, container, kill_of(ending, container), plan);
    others_run = others_run || container.is_running();
  }
  if (others_run && world.now < ending.kill_at) return false;
  for (auto container = view.containers.rbegin(); container != view.containers.rend();
       ++container) {
    if (container->role != Role::Sidecar || !container->is_running()) continue;
    end_container(world, *container, kill_of(ending, *container), plan);
    return false;
  }
  return !others_run;
}

// When the containers that count have ended for good: sidecars have the pod's grace from then on.
std::optional<Time> end_of_work(const PodView& view) {
  Time last{};
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Sidecar || container.role == Role::Ephemeral) continue;
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
    if (alive && plan_end(world, view, view.ending, plan)) plan.stop = true;
    return;
  }
  if (world.node_ends) return;
  if (const Json* seconds = find_path(world.pod, {"spec", "activeDeadlineSeconds"});
      seconds != nullptr) {
    if (const auto started = time_at(world.pod, {"status", "startTime"})) {
      look_again_at(plan, *started + std::chrono::seconds(
                                         int_at(world.pod, {"spec", "activeDeadlineSeconds"})));
    }
  }
  if (const auto ended = end_of_work(view)) {
    Ending of_sidecars;
    of_sidecars.grace =
        std::chrono::seconds(int_at(world.pod, {"spec", "terminationGracePeriodSeconds"}, 30));
    of_sidecars.kill_at = *ended + of_sidecars.grace;
    if (alive && plan_end(world, view, of_sidecars, plan)) plan.stop = true;
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
  if (gate_is_open(world, plan)) plan_starts(world, view, plan);
  plan_post_start(world, view, plan);
  end_unhealthy(world, view, plan);
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

// A first status that only says that containers are being created, or one of a pod of which only
// the shim is left: the next is its last.
bool is_overtaken_soon(const PodWorld& world, const PodView& view, const PodPlan& plan,
                       const Json& stored) {
  if (plan.stop) return true;
  const bool starts =
      plan.start_pod || world.starting || !plan.start.empty() || !world.requested.empty();
  return starts && world.problems.empty() && find(stored, "startTime") == nullptr &&
         next_phase(world, view) == "Pending";
}

}  // namespace

void look_again_at(PodPlan& plan, Time at) {
  if (!plan.look_again || at < *plan.look_again) plan.look_again = at;
}

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
  plan_probes(world, view, plan);
  if (world.writing) return plan;
  const bool may_wait = status != nullptr && is_overtaken_soon(world, view, plan, *status);
  if (may_wait && world.can_wait) {
    plan.status_may_wait = true;
    return plan;
  }
  Json next = next_status(world, view);
  std::ranges::move(status_events(world, view, next), std::back_inserter(plan.events));
  if (status == nullptr || !equal(*status, next)) {
    plan.status = std::move(next);
    plan.status_may_wait = may_wait;
  }
  return plan;
}

bool only_tells(const PodWorld& world, const PodPlan& plan) {
  const bool acts = plan.start_pod || !plan.start.empty() || plan.opens_gate ||
                    !plan.signals.empty() || !plan.ends.empty() || !plan.hooks.empty() ||
                    !plan.probes.empty() || plan.stop || plan.remove || plan.delete_object ||
                    plan.look_again.has_value();
  const bool is_under_way = world.starting || !world.requested.empty() || !world.problems.empty() ||
                            world.eviction.has_value() || world.node_ends.has_value();
  // A deadline counts from the time that the first status tells.
  return plan.status.has_value() && !acts && !is_under_way &&
         text_at(*plan.status, {"phase"}) == "Running" && !is_being_deleted(world.pod) &&
         find_path(world.pod, {"spec", "activeDeadlineSeconds"}) == nullptr;
}

std::string to_text(const PodPlan& plan) {
  std::vector<std::string> parts;
  if (plan.start_pod) parts.emplace_back("start pod");
  if (plan.holds_until) parts.emplace_back("hold connections");
  for (const auto& start : plan.start)
    parts.push_back(fmt::format("start {} {}", start.container, start.run));
  for (const auto& hook : plan.hooks)
    parts.push_back(fmt::format("{} {}", hook.kind == HookKind::PreStop ? "preStop" : "postStart",
                                hook.container));
  for (const auto& probe : plan.probes)
    parts.push_back(fmt::format("probe {} {}", probe.container, lower(probe_name(probe.kind))));
  for (const auto& signal : plan.signals)
    parts.push_back(fmt::format("signal {} {}", signal.container, signal.number));
  if (plan.stop) parts.emplace_back("stop");
  if (plan.remove) parts.emplace_back("remove");
  if (plan.delete_object) parts.emplace_back("delete");
  if (plan.status) parts.push_back(fmt::format("status {}", text_at(*plan.status, {"phase"})));
  return join(parts, ", ");
}

}  // namespace yard
