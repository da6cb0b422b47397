// The agent at a pod's start gate (start_gate.h): what it knows of the awaited pod, and the knock.

#include <fmt/format.h>

#include "api/tree.h"
#include "base/descriptor.h"
#include "node/agent.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};
constexpr Duration kKnockTimeout = std::chrono::seconds(1);

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

void Agent::knock(Pod& pod, const PodWorld& world) {
  const auto address = gate_address(world.pod);
  if (!address) return;
  pod.gate.knocking = true;
  pod.gate.last_knock = loop_.now();
  runtime_.dial(pod.uid, world.awaited.address, address->port, kKnockTimeout,
                [this, uid = pod.uid, alive = alive_](const Result<int>& answer) {
                  const Descriptor connection(answer ? *answer : -1);
                  if (!*alive) return;
                  const auto found = pods_.find(uid);
                  if (found == pods_.end()) return;
                  StartGate& gate = found->second.gate;
                  gate.knocking = false;
                  gate.opened = gate.opened || answer.has_value();
                  sync(uid);
                });
}

}  // namespace yard
