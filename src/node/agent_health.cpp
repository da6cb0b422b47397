// The agent's probes, hooks, evictions and its own end: what a plan asks for beside starting and
// signalling containers.

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"
#include "node/agent.h"
#include "node/pod_storage.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};
constexpr Duration kMeasureEvery = std::chrono::seconds(5);
constexpr Duration kLongestShutdown = std::chrono::seconds(14);

const Json* container_spec(const Json& pod, std::string_view name) {
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      if (text_at(container, {"name"}) == name) return &container;
    }
  }
  return nullptr;
}

std::string path_of(const Json& pod, std::string_view name) {
  for (const Json& container : list_at(pod, {"spec", "initContainers"})) {
    if (text_at(container, {"name"}) == name) return fmt::format("spec.initContainers{{{}}}", name);
  }
  return fmt::format("spec.containers{{{}}}", name);
}

}  // namespace

// What is remembered belongs to one run.
void Agent::refresh_memory(Pod& pod, const PodRecord* record) {
  if (record == nullptr) return pod.memory.clear();
  for (const ContainerRun& run : record->runs) {
    RunMemory& memory = pod.memory[run.container];
    if (memory.run != run.run && record->newest_run(run.container) == &run) {
      memory = {};
      memory.run = run.run;
    }
  }
}

RunMemory* Agent::memory_of(const std::string& uid, const std::string& container, int run) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return nullptr;
  const auto found = pod->second.memory.find(container);
  return found == pod->second.memory.end() || found->second.run != run ? nullptr : &found->second;
}

void Agent::record_for(const std::string& uid, const EventNote& text) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  const ObjectPtr object = client_.get(kPod, pod->second.ns, pod->second.name);
  if (object == nullptr || object->uid() != uid) return;
  const Json tree = object->tree();
  EventNote placed = text;
  // A container's name until here: its place is in the tree.
  if (!placed.field_path.empty()) placed.field_path = path_of(tree, placed.field_path);
  events_.record(tree, placed);
}

void Agent::ask_probe(Pod& pod, const Json& tree, const PodPlan::Probe& probe) {
  const Json* container = container_spec(tree, probe.container);
  if (container == nullptr) return;
  const auto spec = probe_of(*container, probe.kind);
  if (!spec) return;
  ProbeState& state = pod.memory[probe.container].probes[static_cast<size_t>(probe.kind)];
  state = after_question(*spec, state, loop_.now());
  auto call = handler_call(*container, *spec->handler, HandlerUse::Probe, pod.pod_ip);
  if (!call) {
    loop_.post([this, uid = pod.uid, probe, why = call.error().message, alive = alive_] {
      if (*alive) take_answer(uid, probe, {HandlerOutcome::Result::NotAsked, why});
    });
    return;
  }
  prober_.run(pod.uid, probe.container, std::move(*call), HandlerUse::Probe, spec->timeout,
              [this, uid = pod.uid, probe, alive = alive_](const HandlerOutcome& outcome) {
                if (*alive) take_answer(uid, probe, outcome);
              });
}

void Agent::take_answer(const std::string& uid, const PodPlan::Probe& probe,
                        const HandlerOutcome& outcome) {
  RunMemory* memory = memory_of(uid, probe.container, probe.run);
  if (memory == nullptr) return;  // of a run that is over
  const auto found = pods_.find(uid);
  const ObjectPtr object = client_.get(kPod, found->second.ns, found->second.name);
  if (object == nullptr || object->uid() != uid) return;
  const Json tree = object->tree();
  const Json* container = container_spec(tree, probe.container);
  const auto spec = container == nullptr ? std::nullopt : probe_of(*container, probe.kind);
  if (!spec) return;
  using Answer = HandlerOutcome::Result;
  ProbeState& state = memory->probes[static_cast<size_t>(probe.kind)];
  std::optional<bool> good;
  if (outcome.result != Answer::NotAsked) good = outcome.result == Answer::Good;
  state = after_answer(*spec, state, good);
  const PodRecord* record = runtime_.find(uid);
  const ContainerRun* run = record == nullptr ? nullptr : record->newest_run(probe.container);
  const bool still_runs = run != nullptr && run->run == probe.run && run->is_running();
  if (still_runs && outcome.result != Answer::Good) {
    const std::string text =
        outcome.result == Answer::Bad
            ? fmt::format("{} probe failed: {}", probe_name(probe.kind), event_text(outcome.text))
            : fmt::format("{} probe errored and resulted in unknown state: {}",
                          probe_name(probe.kind), event_text(outcome.text));
    events_.record(tree,
                   {EventNote::Type::Warning, "Unhealthy", text, path_of(tree, probe.container)});
  }
  sync(uid);
}

void Agent::run_hook(Pod& pod, const Json& tree, const PodPlan::Hook& hook) {
  RunMemory& memory = pod.memory[hook.container];
  const bool before = hook.kind == HookKind::PostStart;
  (before ? memory.post_start : memory.pre_stop).stage = HookState::Stage::UnderWay;
  const Json* container = container_spec(tree, hook.container);
  const Json* handler =
      container == nullptr ? nullptr
                           : find_path(*container, {"lifecycle", before ? "postStart" : "preStop"});
  auto call = handler == nullptr ? Result<HandlerCall>(error(Reason::Invalid, "the hook is gone"))
                                 : handler_call(*container, *handler, HandlerUse::Hook, pod.pod_ip);
  if (!call) {
    loop_.post([this, uid = pod.uid, hook, why = call.error().message, alive = alive_] {
      if (*alive) finish_hook(uid, hook, {HandlerOutcome::Result::Bad, why});
    });
    return;
  }
  prober_.run(pod.uid, hook.container, std::move(*call), HandlerUse::Hook, hook.timeout,
              [this, uid = pod.uid, hook, alive = alive_](const HandlerOutcome& outcome) {
                if (*alive) finish_hook(uid, hook, outcome);
              });
}

void Agent::finish_hook(const std::string& uid, const PodPlan::Hook& hook,
                        const HandlerOutcome& outcome) {
  RunMemory* memory = memory_of(uid, hook.container, hook.run);
  if (memory == nullptr) return;
  const bool before = hook.kind == HookKind::PostStart;
  HookState& state = before ? memory->post_start : memory->pre_stop;
  const bool good = outcome.result == HandlerOutcome::Result::Good;
  state.stage = good ? HookState::Stage::Done : HookState::Stage::Failed;
  state.ended = loop_.now();
  if (!good) {
    log_info("{} hook of container {}: {}", before ? "postStart" : "preStop", hook.container,
             event_text(outcome.text));
    record_for(uid, {EventNote::Type::Warning, before ? "FailedPostStartHook" : "FailedPreStopHook",
                     before ? "PostStartHook failed" : "PreStopHook failed", hook.container});
  }
  sync(uid);
}

// Only pods with a limit are measured, and only while they run.
void Agent::measure_if_due(Pod& pod, const Json& tree) {
  if (pod.measuring || pod.eviction || !has_storage_limit(tree)) return;
  if (pod.measure_due > loop_.now() && pod.measure_due <= loop_.now() + kMeasureEvery)
    return wait_until(pod, pod.measure_due);
  pod.measuring = true;
  runtime_.measure(pod.uid, [this, uid = pod.uid, alive = alive_](const PodUsage& usage) {
    if (!*alive) return;
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    found->second.measuring = false;
    found->second.measure_due = loop_.now() + kMeasureEvery;
    const ObjectPtr object = client_.get(kPod, found->second.ns, found->second.name);
    if (object != nullptr && object->uid() == uid) {
      if (auto message = storage_eviction(object->tree(), usage)) {
        record_for(uid, {EventNote::Type::Warning, "Evicted", *message, ""});
        found->second.eviction = Eviction{std::move(*message), loop_.now()};
      }
    }
    sync(uid);
  });
}

void Agent::shut_down(std::function<void()> done) {
  shut_down_since_ = loop_.now();
  shut_down_done_ = std::move(done);
  drop_unbound_pods();
  for (const auto& [uid, pod] : pods_)
    sync_later(uid);
  loop_.after(kLongestShutdown, [this, alive = alive_] {
    if (*alive && shut_down_done_) std::exchange(shut_down_done_, nullptr)();
  });
  loop_.post([this, alive = alive_] {
    if (*alive) look_at_shutdown();
  });
}

void Agent::look_at_shutdown() {
  if (!shut_down_done_ || !runtime_.pods().empty()) return;
  for (const auto& [uid, pod] : pods_) {
    if (pod.busy || pod.starting) return;
  }
  loop_.post(std::exchange(shut_down_done_, nullptr));
}

}  // namespace yard
