// The agent at a pod's start gate (start_gate.h): what it knows of the awaited pod.

#include <fmt/format.h>

#include "api/tree.h"
#include "node/agent.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};

}  // namespace

// Before its first container a pod may have to wait; played pods listen nowhere, so on simulated
// nodes there is nothing to wait for.
void Agent::observe_gate(Pod& pod, PodWorld& world) {
  const PodRecord* record = world.record;
  if (pod.gate.opened || options_.simulated > 0) return;
  if (record == nullptr || !record->alive || !record->runs.empty()) return;
  const auto address = gate_address(world.pod);
  if (!address) return;
  if (!pod.gate.began) pod.gate.began = loop_.now();
  pod.gate.name = fmt::format("{}:{}", address->host, address->port);
  world.gate = pod.gate;
  if (const ObjectPtr awaited = client_.get(kPod, pod.ns, address->host))
    world.awaited = awaited_pod(awaited->tree());
}

// What starts behind the gate runs beside its master; only what it asks of it waits.
void Agent::open_gate(Pod& pod, const PodWorld& world, std::optional<Time> holds_until) {
  pod.gate.opened = true;
  const auto address = gate_address(world.pod);
  if (holds_until && address)
    pod.gate.holds = HeldPort{world.awaited.address, address->port, *holds_until};
}

}  // namespace yard
