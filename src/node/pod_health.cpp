// What hooks and probes say of running containers, and which of them are due (kubernetes-core C9,
// C10).

#include <fmt/format.h>

#include "api/tree.h"
#include "node/pod_parts.h"

namespace yard {
namespace {

using Role = ContainerView::Role;

const ProbeState& state_of(const ContainerView& container, ProbeKind kind) {
  return container.memory->probes[static_cast<size_t>(kind)];
}

// A probe that has not settled yet answers as the stored status of the same run does: a restart of
// the server makes no container unready.
bool settled_or_told(const ContainerView& container, ProbeKind kind, bool told) {
  return state_of(container, kind).healthy.value_or(told);
}

bool is_asked(const PodView& view, const ContainerView& container, ProbeKind kind) {
  if (kind == ProbeKind::Readiness) return container.started;
  if (view.ending.active || container.memory->end_began) return false;
  return kind == ProbeKind::Startup ? !container.started : container.started;
}

}  // namespace

void judge_health(const PodWorld& world, ContainerView& container) {
  if (!container.is_running()) return;
  const ContainerRun& run = *container.newest();
  const Json* stored = stored_status(world, container);
  const bool told = tells_of(stored, world, run);
  const bool has_hook = find_path(*container.spec, {"lifecycle", "postStart"}) != nullptr;
  container.begun = !has_hook || container.memory->post_start.is_over() ||
                    (told && find_path(*stored, {"state", "running"}) != nullptr);
  if (container.memory->post_start.stage == HookState::Stage::Failed) return;
  container.started = container.begun;
  if (probe_of(*container.spec, ProbeKind::Startup)) {
    container.started = container.begun && settled_or_told(container, ProbeKind::Startup,
                                                           told && bool_at(*stored, {"started"}));
  }
  container.ready = container.started;
  if (probe_of(*container.spec, ProbeKind::Readiness)) {
    container.ready = container.started && settled_or_told(container, ProbeKind::Readiness,
                                                           told && bool_at(*stored, {"ready"}));
  }
  for (const ProbeKind kind : {ProbeKind::Startup, ProbeKind::Liveness}) {
    if (probe_of(*container.spec, kind) && state_of(container, kind).healthy == false)
      container.failed_probe = kind;
  }
}

void plan_probes(const PodWorld& world, const PodView& view, PodPlan& plan) {
  for (const ContainerView& container : view.containers) {
    if (container.role == Role::Init || !container.is_running() || !container.begun) continue;
    if (container.failed_probe) continue;
    for (const ProbeKind kind : kProbeKinds) {
      const auto spec = probe_of(*container.spec, kind);
      const ProbeState& state = state_of(container, kind);
      if (!spec || state.under_way || !is_asked(view, container, kind)) continue;
      const Time due = probe_due(*spec, state, container.newest()->started, world.now);
      if (world.now < due) {
        look_again_at(plan, due);
      } else {
        plan.probes.push_back({container.name, container.newest()->run, kind});
      }
    }
  }
}

void plan_post_start(const PodWorld&, const PodView& view, PodPlan& plan) {
  for (const ContainerView& container : view.containers) {
    if (!container.is_running() || container.begun) continue;
    if (container.memory->post_start.stage != HookState::Stage::NotBegun) continue;
    // It has no bound of its own: a hook that hangs holds its container back until it is deleted.
    plan.hooks.push_back(
        {container.name, container.newest()->run, HookKind::PostStart, std::chrono::hours(24)});
  }
}

}  // namespace yard
