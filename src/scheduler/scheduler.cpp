#include "scheduler/scheduler.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"
#include "base/search.h"
#include "base/strings.h"
#include "scheduler/claims.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"}, kClaim{"v1", "PersistentVolumeClaim"},
    kStorageClass{"storage.k8s.io/v1", "StorageClass"};
// Places among a pod's selectable fields (api/core/pod.cpp).
constexpr size_t kNodeName = 0, kPhase = 6;
constexpr std::string_view kGang = "trainyard.dev/gang", kGangSize = "trainyard.dev/gang-size";
constexpr std::string_view kJobRole = "training.kubeflow.org/job-role";

// The name of its gang: as it says, else that of the object that made it.
std::string gang_of(const Json& pod) {
  if (find_path(pod, {"metadata", "annotations", kGangSize}) == nullptr) return "";
  const std::string_view said = text_at(pod, {"metadata", "annotations", kGang});
  if (!said.empty()) return std::string(said);
  for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"})) {
    if (bool_at(owner, {"controller"}))
      return fmt::format("{} {}", text_at(owner, {"kind"}), text_at(owner, {"name"}));
  }
  return "";
}

PlacedPod placed_pod(const Json& tree, const Object& object, Cluster& cluster) {
  PlacedPod out;
  out.ns = object.ns();
  out.name = object.name();
  out.uid = object.uid();
  if (const Json* labels = find_path(tree, {"metadata", "labels"})) out.labels = *labels;
  out.shape = cluster.shape_of(tree);
  out.priority = int_at(tree, {"spec", "priority"});
  out.is_ending = object.is_being_deleted();
  out.gang = gang_of(tree);
  return out;
}

WaitingPod waiting_pod(const Json& tree, const Object& object, Cluster& cluster) {
  WaitingPod out;
  out.pod = placed_pod(tree, object, cluster);
  out.may_preempt = text_at(tree, {"spec", "preemptionPolicy"}) != "Never";
  out.leads = text_at(tree, {"metadata", "labels", kJobRole}) == "master";
  out.gang_least = parse_int64(text_at(tree, {"metadata", "annotations", kGangSize})).value_or(0);
  out.nominated = text_at(tree, {"status", "nominatedNodeName"});
  return out;
}

// The pod with a condition set and the others as they were.
Json with_condition(const Json& pod, Json condition) {
  Json out = pod;
  JsonArray conditions;
  for (const Json& each : list_at(pod, {"status", "conditions"})) {
    if (text_at(each, {"type"}) != text_at(condition, {"type"})) conditions.push_back(each);
  }
  conditions.push_back(std::move(condition));
  object_at(out.get_object(), "status")["conditions"] = std::move(conditions);
  return out;
}

// What its metadata says of its gang: it changes with the job, and raises no generation.
std::string_view gang_words(const Object& pod) {
  const std::string_view metadata = pod.metadata();
  const size_t at = find_words(metadata, R"("trainyard.dev/gang-size":")");
  return at == std::string_view::npos ? ""
                                      : metadata.substr(at, metadata.find_first_of(",}", at) - at);
}

}  // namespace

Scheduler::Scheduler(Client& client, Loop& loop, bool shares_network)
    : client_(client), loop_(loop), events_(loop, client, "default-scheduler") {
  if (shares_network) cluster_.share_network();
  subscriptions_.push_back(
      client_.follow(kNode, [this](const ObjectEvent& event) { on_node(event); }));
  for (const ObjectPtr& object : client_.list(kNode))
    on_node({ObjectEvent::Type::Added, kNode, object, nullptr});
  subscriptions_.push_back(
      client_.follow(kClaim, [this](const ObjectEvent&) { run_cycle_soon(); }));
  subscriptions_.push_back(
      client_.follow(kPod, [this](const ObjectEvent& event) { on_pod(event); }));
  for (const ObjectPtr& object : client_.list(kPod))
    on_pod({ObjectEvent::Type::Added, kPod, object, nullptr});
}

Scheduler::~Scheduler() {
  *alive_ = false;
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void Scheduler::on_node(const ObjectEvent& event) {
  if (event.type == ObjectEvent::Type::Deleted) {
    cluster_.remove_node(event.object->name());
  } else {
    cluster_.set_node(event.object->tree());
  }
  run_cycle_soon();
}

void Scheduler::on_pod(const ObjectEvent& event) {
  const Object& object = *event.object;
  const std::string uid(object.uid());
  const std::string_view node = object.fields()[kNodeName];
  const std::string_view phase = object.fields()[kPhase];
  const bool over =
      event.type == ObjectEvent::Type::Deleted || phase == "Succeeded" || phase == "Failed";
  if (over) {
    const bool had_room = cluster_.remove_pod(uid);
    waiting_.erase(uid);
    if (had_room) run_cycle_soon();
    return;
  }
  if (!node.empty()) {
    waiting_.erase(uid);
    if (object.is_being_deleted()) cluster_.set_ending(uid);
    if (cluster_.find_pod(uid) == nullptr || cluster_.node_of(uid) != node) {
      const SharedJson tree = client_.tree(event.object);
      cluster_.place(placed_pod(tree, object, cluster_), node);
    }
    return;
  }
  if (object.is_being_deleted()) {
    waiting_.erase(uid);
    return;
  }
  const auto known = waiting_.find(uid);
  const bool is_new = known == waiting_.end() || event.previous == nullptr ||
                      event.previous->generation() != object.generation() ||
                      gang_words(*event.previous) != gang_words(object);
  if (!is_new) {
    known->second.object = event.object;  // our own words about why it waits change nothing
    return;
  }
  const SharedJson tree = client_.tree(event.object);
  Waiting& waiting = waiting_[uid];
  waiting.object = event.object;
  waiting.pod = waiting_pod(tree, object, cluster_);
  waiting.claims = claim_names(tree);
  waiting.gated = !list_at(tree, {"spec", "schedulingGates"}).empty();
  if (waiting.gated) return say_gated(waiting);
  run_cycle_soon();
}

void Scheduler::run_cycle_soon() {
  if (cycle_is_due_ || waiting_.empty()) return;
  cycle_is_due_ = true;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    cycle_is_due_ = false;
    run_cycle();
  });
}

void Scheduler::run_cycle() {
  std::vector<const Waiting*> queue;
  for (auto& [uid, waiting] : waiting_) {
    if (waiting.binding || waiting.gated) continue;
    if (!waiting.claims.empty()) judge_claims_of(waiting);
    queue.push_back(&waiting);
  }
  // First come, first served among equals.
  std::ranges::stable_sort(queue, {}, [](const Waiting* each) { return each->object->created(); });
  std::vector<WaitingPod> pods;
  pods.reserve(queue.size());
  for (const Waiting* each : queue)
    pods.push_back(each->pod);
  for (const Placement& placement : schedule(cluster_, pods))
    act(placement, pods[placement.waiting].pod.uid);
}

void Scheduler::act(const Placement& placement, const std::string& uid) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) return;
  if (!placement.node.empty() && !found->second.unbound.empty())
    return select_node(found->second, placement.node);
  if (!placement.node.empty()) return bind(found->second, placement.node);
  for (const std::string& victim : placement.victims)
    evict(victim, found->second, placement.nominated);
  say_why(found->second, placement);
}

void Scheduler::judge_claims_of(Waiting& waiting) {
  const std::string& ns = waiting.pod.pod.ns;
  PodClaims claims =
      judge_claims(waiting.claims, [&](std::string_view kind, std::string_view name) {
        const bool is_claim = kind == kClaim.kind;
        const ObjectPtr found =
            client_.get(is_claim ? kClaim : kStorageClass, is_claim ? ns : "", name);
        return found == nullptr ? Json() : found->tree();
      });
  waiting.pod.hold = std::move(claims.obstacle);
  waiting.unbound = std::move(claims.waiting);
}

// The claims hear where their volumes are wanted; once they are bound the pod is placed for good.
void Scheduler::select_node(const Waiting& waiting, const std::string& node) {
  cluster_.remove_pod(waiting.pod.pod.uid);
  const std::string& ns = waiting.pod.pod.ns;
  for (const std::string& name : waiting.unbound) {
    const ObjectPtr claim = client_.get(kClaim, ns, name);
    if (claim == nullptr) continue;
    const Json tree = claim->tree();
    if (!text_at(tree, {"metadata", "annotations", kSelectedNodeAnnotation}).empty()) continue;
    Json patch = JsonObject{
        {"metadata", JsonObject{{"annotations", JsonObject{{kSelectedNodeAnnotation, node}}}}}};
    client_.submit({ClientWrite::Verb::MergePatch, kClaim, ns, name, std::move(patch)},
                   [](const Result<ObjectPtr>&) {});
  }
}

void Scheduler::bind(Waiting& waiting, const std::string& node) {
  waiting.binding = true;
  const PlacedPod& pod = waiting.pod.pod;
  Json binding = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", JsonObject{{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
      {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  client_.submit(
      {ClientWrite::Verb::Bind, kPod, pod.ns, pod.name, std::move(binding)},
      [this, alive = alive_, object = waiting.object, node](const Result<ObjectPtr>& bound) {
        if (!*alive) return;
        const std::string uid(object->uid());
        if (bound) {
          events_.record(kPod, *object,
                         {EventNote::Type::Normal, "Scheduled",
                          fmt::format("Successfully assigned {}/{} to {}", object->ns(),
                                      object->name(), node)});
          return;
        }
        cluster_.remove_pod(uid);
        if (const auto still = waiting_.find(uid); still != waiting_.end())
          still->second.binding = false;
        if (bound.error().reason == Reason::NotFound) return;
        log_warning("pod {}/{} could not be bound to {}: {}", object->ns(), object->name(), node,
                    bound.error().message);
        loop_.after(std::chrono::seconds(1), [this, alive] {
          if (*alive) run_cycle_soon();
        });
      });
}

Json Scheduler::unscheduled(const char* reason, const std::string& message) const {
  return JsonObject{{"type", "PodScheduled"},   {"status", "False"},
                    {"lastProbeTime", nullptr}, {"lastTransitionTime", rfc3339(loop_.now())},
                    {"reason", reason},         {"message", message}};
}

void Scheduler::say_gated(const Waiting& waiting) {
  const Json tree = waiting.object->tree();
  if (!condition_status(tree, "PodScheduled").empty()) return;
  client_.submit(
      {ClientWrite::Verb::UpdateStatus, kPod, std::string(waiting.object->ns()),
       std::string(waiting.object->name()),
       with_condition(tree,
                      unscheduled("SchedulingGated",
                                  "Scheduling is blocked due to non-empty scheduling gates"))},
      [](const Result<ObjectPtr>&) {});
}

void Scheduler::say_why(Waiting& waiting, const Placement& placement) {
  if (waiting.said == placement.why && placement.nominated.empty()) return;
  const bool is_news = waiting.said != placement.why;
  waiting.said = placement.why;
  const Json tree = waiting.object->tree();
  Json object = with_condition(tree, unscheduled("Unschedulable", placement.why));
  if (!placement.nominated.empty()) {
    waiting.pod.nominated = placement.nominated;
    object_at(object.get_object(), "status")["nominatedNodeName"] = placement.nominated;
  }
  if (is_news)
    events_.record(kPod, *waiting.object,
                   {EventNote::Type::Warning, "FailedScheduling", placement.why});
  client_.submit({ClientWrite::Verb::UpdateStatus, kPod, std::string(waiting.object->ns()),
                  std::string(waiting.object->name()), std::move(object)},
                 [](const Result<ObjectPtr>&) {});
}

// First the condition that says it was no failure of its own, then the ordinary deletion.
void Scheduler::evict(const std::string& victim, const Waiting& for_whom, const std::string& node) {
  const PlacedPod* pod = cluster_.find_pod(victim);
  const ObjectPtr object = pod != nullptr ? client_.get(kPod, pod->ns, pod->name) : ObjectPtr();
  if (object == nullptr || object->uid() != victim) return;
  cluster_.set_ending(victim);
  const Json tree = object->tree();
  events_.record(kPod, *object,
                 {EventNote::Type::Normal, "Preempted",
                  fmt::format("Preempted by pod {} on node {}", for_whom.pod.pod.uid, node)});
  Json marked = with_condition(
      tree, JsonObject{
                {"type", "DisruptionTarget"},
                {"status", "True"},
                {"lastProbeTime", nullptr},
                {"lastTransitionTime", rfc3339(loop_.now())},
                {"reason", "PreemptionByScheduler"},
                {"message", "default-scheduler: preempting to accommodate a higher priority pod"}});
  const std::string ns(object->ns()), name(object->name());
  client_.submit({ClientWrite::Verb::UpdateStatus, kPod, ns, name, std::move(marked)},
                 [this, alive = alive_, ns, name, victim](const Result<ObjectPtr>&) {
                   if (!*alive) return;
                   const Json options = JsonObject{{"preconditions", JsonObject{{"uid", victim}}}};
                   client_.submit({ClientWrite::Verb::Delete, kPod, ns, name, options},
                                  [](const Result<ObjectPtr>&) {});
                 });
}

}  // namespace yard
