#include "scheduler/scheduler.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"};
// Places among a pod's selectable fields (api/core/pod.cpp).
constexpr size_t kNodeName = 0, kPhase = 6;

WaitingPod waiting_pod(const Object& object) {
  WaitingPod out;
  out.ns = object.ns();
  out.name = object.name();
  out.uid = object.uid();
  out.pod = object.tree();
  if (const Json* spec = find(out.pod, "spec")) out.requests = pod_amounts(*spec, "requests");
  out.priority = int_at(out.pod, {"spec", "priority"});
  return out;
}

bool is_gated(const Json& pod) {
  return !list_at(pod, {"spec", "schedulingGates"}).empty();
}

}  // namespace

Scheduler::Scheduler(Client& client, Loop& loop)
    : client_(client), loop_(loop), events_(loop, client, "default-scheduler") {
  subscriptions_.push_back(
      client_.follow(kPod, [this](const ObjectEvent& event) { on_pod(event); }));
  subscriptions_.push_back(client_.follow(kNode, [this](const ObjectEvent&) { run_cycle_soon(); }));
  for (const ObjectPtr& object : client_.list(kPod))
    on_pod({ObjectEvent::Type::Added, kPod, object, nullptr});
}

Scheduler::~Scheduler() {
  *alive_ = false;
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void Scheduler::on_pod(const ObjectEvent& event) {
  const Object& object = *event.object;
  const std::string uid(object.uid());
  const std::string& node = object.fields()[kNodeName];
  const std::string& phase = object.fields()[kPhase];
  const bool over =
      event.type == ObjectEvent::Type::Deleted || phase == "Succeeded" || phase == "Failed";
  if (over) {
    const bool had_room = bound_.erase(uid) > 0;
    if (waiting_.erase(uid) == 0 && had_room) run_cycle_soon();
    return;
  }
  if (!node.empty()) {
    waiting_.erase(uid);
    if (!bound_.contains(uid)) {
      WaitingPod pod = waiting_pod(object);
      bound_[uid] = {node, std::move(pod.requests)};
    }
    return;
  }
  if (object.is_being_deleted()) return static_cast<void>(waiting_.erase(uid));
  const bool is_new = !waiting_.contains(uid) || event.previous == nullptr ||
                      event.previous->generation() != object.generation();
  waiting_[uid] = event.object;
  // Our own words about why it waits change nothing about it.
  if (is_new) run_cycle_soon();
}

void Scheduler::run_cycle_soon() {
  if (cycle_is_due_) return;
  cycle_is_due_ = true;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    cycle_is_due_ = false;
    run_cycle();
  });
}

ClusterSnapshot Scheduler::take_snapshot() const {
  ClusterSnapshot out;
  for (const ObjectPtr& object : client_.list(kNode)) {
    NodeSnapshot node;
    node.name = object->name();
    node.node = object->tree();
    node.allocatable = amounts_of(find_path(node.node, {"status", "allocatable"}));
    out.nodes.push_back(std::move(node));
  }
  for (const auto& [uid, bound] : bound_) {
    const auto node = std::ranges::find(out.nodes, bound.node, &NodeSnapshot::name);
    if (node == out.nodes.end()) continue;
    ++node->pods;
    for (const auto& [name, amount] : bound.requests)
      node->used[name] = node->used[name] + amount;
  }
  return out;
}

void Scheduler::run_cycle() {
  if (waiting_.empty()) return;
  std::vector<WaitingPod> waiting;
  for (const auto& [uid, object] : waiting_) {
    if (binding_.contains(uid)) continue;
    WaitingPod pod = waiting_pod(*object);
    if (!is_gated(pod.pod)) waiting.push_back(std::move(pod));
  }
  // First come, first served among equals.
  std::ranges::stable_sort(waiting, {},
                           [&](const WaitingPod& pod) { return waiting_.at(pod.uid)->created(); });
  for (const Placement& placement : schedule(take_snapshot(), waiting)) {
    const WaitingPod& pod = waiting[placement.waiting];
    if (placement.node.empty()) {
      say_why(pod, placement.why);
    } else {
      bind(pod, placement.node);
    }
  }
}

void Scheduler::bind(const WaitingPod& pod, const std::string& node) {
  binding_[pod.uid] = true;
  bound_[pod.uid] = {node, pod.requests};  // its room is taken from now on
  Json binding = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", JsonObject{{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
      {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  client_.submit({ClientWrite::Verb::Bind, kPod, pod.ns, pod.name, std::move(binding)},
                 [this, alive = alive_, pod = pod.pod, uid = pod.uid, ns = pod.ns, name = pod.name,
                  node](const Result<ObjectPtr>& bound) {
                   if (!*alive) return;
                   binding_.erase(uid);
                   if (bound) {
                     events_.record(
                         pod,
                         {EventNote::Type::Normal, "Scheduled",
                          fmt::format("Successfully assigned {}/{} to {}", ns, name, node)});
                     return;
                   }
                   bound_.erase(uid);
                   if (bound.error().reason == Reason::NotFound) return;
                   log_warning("pod {}/{} could not be bound to {}: {}", ns, name, node,
                               bound.error().message);
                   loop_.after(std::chrono::seconds(1), [this, alive] {
                     if (*alive) run_cycle_soon();
                   });
                 });
}

void Scheduler::say_why(const WaitingPod& pod, const std::string& why) {
  for (const Json& condition : list_at(pod.pod, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == "PodScheduled" && text_at(condition, {"message"}) == why)
      return;
  }
  Json object = pod.pod;
  JsonObject& status = object_at(object.get_object(), "status");
  JsonArray conditions;
  for (const Json& condition : list_at(pod.pod, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) != "PodScheduled") conditions.push_back(condition);
  }
  conditions.push_back(JsonObject{{"type", "PodScheduled"},
                                  {"status", "False"},
                                  {"lastProbeTime", nullptr},
                                  {"lastTransitionTime", rfc3339(loop_.now())},
                                  {"reason", "Unschedulable"},
                                  {"message", why}});
  status["conditions"] = std::move(conditions);
  events_.record(pod.pod, {EventNote::Type::Warning, "FailedScheduling", why});
  client_.submit({ClientWrite::Verb::UpdateStatus, kPod, pod.ns, pod.name, std::move(object)},
                 [](const Result<ObjectPtr>&) {});
}

}  // namespace yard
