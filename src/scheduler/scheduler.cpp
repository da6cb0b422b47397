#include "scheduler/scheduler.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"
#include "base/search.h"
#include "base/strings.h"
#include "client/status_update.h"
#include "scheduler/claims.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"}, kClaim{"v1", "PersistentVolumeClaim"},
    kStorageClass{"storage.k8s.io/v1", "StorageClass"};
// Places among a pod's selectable fields (api/core/pod.cpp).
constexpr size_t kNodeName = 0, kPhase = 6;
constexpr std::string_view kGang = "trainyard.dev/gang", kGangSize = "trainyard.dev/gang-size";
constexpr std::string_view kJobRole = "training.kubeflow.org/job-role";
// What a visit to the loop may cost: a turn costs one, one that has to look at every node more.
// Of those that are passed by many cost as little.
constexpr size_t kAtATime = 128, kLookAtAllNodes = 16, kPassedByAtOnce = 64;
constexpr size_t kMostBindings = 1024;  // under way: the rest waits for them
// The words about a pod that waits follow what happens on the nodes, but not every second: others
// are written beside it.
constexpr Duration kSayAgainAfter = std::chrono::seconds(10), kSayPause = std::chrono::seconds(1);
constexpr size_t kSayAtATime = 500;

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
  out.created = object.created();
  return out;
}

// A pod's status with a condition set and the others as they were.
JsonObject status_with(const Json& pod, Json condition) {
  JsonObject out;
  if (const Json* status = find(pod, "status"); status != nullptr && status->is_object())
    out = status->get_object();
  JsonArray conditions;
  for (const Json& each : list_at(pod, {"status", "conditions"})) {
    if (text_at(each, {"type"}) != text_at(condition, {"type"})) conditions.push_back(each);
  }
  conditions.push_back(std::move(condition));
  out["conditions"] = std::move(conditions);
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
  subscriptions_.push_back(client_.follow(kClaim, [this](const ObjectEvent&) { look_again(); }));
  subscriptions_.push_back(
      client_.follow(kPod, [this](const ObjectEvent& event) { on_pod(event); }));
  for (const ObjectPtr& object : client_.list(kPod))
    on_pod({ObjectEvent::Type::Added, kPod, object, nullptr});
}

Scheduler::~Scheduler() {
  *alive_ = false;
  loop_.cancel(say_timer_);
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void Scheduler::on_node(const ObjectEvent& event) {
  if (event.type == ObjectEvent::Type::Deleted) {
    cluster_.remove_node(event.object->name());
  } else if (!cluster_.set_node(event.object->tree())) {
    return;
  }
  look_again();
}

void Scheduler::on_pod(const ObjectEvent& event) {
  const Object& object = *event.object;
  const std::string uid(object.uid());
  const std::string_view node = object.fields()[kNodeName];
  const std::string_view phase = object.fields()[kPhase];
  const bool over =
      event.type == ObjectEvent::Type::Deleted || phase == "Succeeded" || phase == "Failed";
  if (over) {
    forget_waiting(uid);
    if (cluster_.remove_pod(uid)) look_again();
  } else if (!node.empty()) {
    forget_waiting(uid);
    if (object.is_being_deleted()) cluster_.set_ending(uid);
    if (cluster_.find_pod(uid) == nullptr || cluster_.node_of(uid) != node) {
      const SharedJson tree = client_.tree(event.object);
      cluster_.place(placed_pod(tree, object, cluster_), node);
    }
  } else if (object.is_being_deleted()) {
    forget_waiting(uid);
  } else {
    hear_waiting(event, uid);
  }
}

void Scheduler::forget_waiting(const std::string& uid) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) return;
  queue_.remove(found->second.pod);
  waiting_.erase(found);
}

void Scheduler::hear_waiting(const ObjectEvent& event, const std::string& uid) {
  const Object& object = *event.object;
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
  queue_.remove(waiting.pod);
  const uint64_t arrival = waiting.object == nullptr ? ++arrivals_ : waiting.pod.arrival;
  waiting.object = event.object;
  waiting.pod = waiting_pod(tree, object, cluster_);
  waiting.pod.arrival = arrival;
  waiting.claims = claim_names(tree);
  waiting.pod.has_claims = !waiting.claims.empty();
  waiting.pod.words_follow = !waiting.unsaid.empty();
  waiting.gated = !list_at(tree, {"spec", "schedulingGates"}).empty();
  if (waiting.gated) return say_gated(waiting);
  if (waiting.binding) return;
  queue_.add(waiting.pod);
  look_again();
}

void Scheduler::look_again() {
  look_again_ = true;
  go_on();
}

void Scheduler::go_on() {
  if (is_posted_ || queue_.empty() || !(in_pass_ || look_again_)) return;
  is_posted_ = true;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    is_posted_ = false;
    take_turns();
  });
}

void Scheduler::take_turns() {
  if (!in_pass_) {
    in_pass_ = true;
    look_again_ = company_missed_ = false;
    reached_.reset();
  }
  const auto passes = [this](const WaitingPod& pod) { return passes_by(pod); };
  for (size_t cost = 0; cost < kAtATime;) {
    if (bindings_ >= kMostBindings) return;  // the next one that ends goes on
    const WaitingQueue::Turn turn = queue_.next(reached_, passes, kPassedByAtOnce);
    if (turn.is_end) {
      in_pass_ = false;
      break;
    }
    cost += turn.pods.empty() ? 1 : take_turn(turn.pods);
  }
  go_on();
}

// It was refused, and nothing has come free since.
bool Scheduler::was_refused(const WaitingPod& pod) const {
  return pod.refused_at == cluster_.freed() && !pod.has_claims && !pod.pod.shape->wants_company();
}

// One of its template was refused, and so would it be; its words are seen to.
bool Scheduler::passes_by(const WaitingPod& pod) const {
  return was_refused(pod) ||
         (pod.words_follow && pod.nominated.empty() && placer_.known_refusal(pod) != nullptr);
}

// What it cost.
size_t Scheduler::take_turn(const Turn& turn) {
  if (std::ranges::all_of(turn, [&](const WaitingPod* pod) { return was_refused(*pod); })) return 1;
  std::vector<std::string> uids;
  for (const WaitingPod* pod : turn) {
    Waiting& waiting = waiting_.at(pod->pod.uid);
    if (!waiting.claims.empty()) judge_claims_of(waiting);
    uids.push_back(pod->pod.uid);
  }
  const bool looks_at_all =
      turn.front()->pod.shape->wants_company() || cluster_.pods_with_anti_affinity() > 0;
  const std::vector<Placement> placements =
      turn.front()->is_of_gang() ? placer_.place_gang(turn)
                                 : std::vector<Placement>{placer_.place(*turn.front())};
  for (size_t i = 0; i < uids.size(); ++i) {
    const auto found = waiting_.find(uids[i]);
    if (found != waiting_.end()) act(placements[i], found->second);
  }
  return turn.size() * (looks_at_all ? kLookAtAllNodes : 1);
}

void Scheduler::act(const Placement& placement, Waiting& waiting) {
  if (!placement.node.empty()) {
    if (company_missed_) look_again_ = true;
    return waiting.unbound.empty() ? bind(waiting, placement.node)
                                   : select_node(waiting, placement.node);
  }
  waiting.pod.refused_at = cluster_.freed();
  if (waiting.pod.pod.shape->wants_company()) company_missed_ = true;
  for (const std::string& victim : placement.victims)
    evict(victim, waiting, placement.nominated);
  say_why(waiting, placement);
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
  queue_.remove(waiting.pod);
  ++bindings_;
  const PlacedPod& pod = waiting.pod.pod;
  const ObjectPtr object = waiting.object;
  Json binding = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", JsonObject{{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
      {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  client_.submit({ClientWrite::Verb::Bind, kPod, pod.ns, pod.name, std::move(binding)},
                 [this, alive = alive_, object, node](const Result<ObjectPtr>& bound) {
                   if (!*alive) return;
                   --bindings_;
                   go_on();
                   const std::string uid(object->uid());
                   if (bound) {
                     events_.record(kPod, *object,
                                    {EventNote::Type::Normal, "Scheduled",
                                     fmt::format("Successfully assigned {}/{} to {}", object->ns(),
                                                 object->name(), node)});
                     return;
                   }
                   if (listener_.failed) listener_.failed(uid);
                   cluster_.remove_pod(uid);
                   if (const auto still = waiting_.find(uid); still != waiting_.end()) {
                     still->second.binding = false;
                     if (!still->second.gated) queue_.add(still->second.pod);
                   }
                   if (bound.error().reason == Reason::NotFound) return;
                   log_warning("pod {}/{} could not be bound to {}: {}", object->ns(),
                               object->name(), node, bound.error().message);
                   loop_.after(std::chrono::seconds(1), [this, alive] {
                     if (*alive) look_again();
                   });
                 });
  if (listener_.begins) listener_.begins(*object, node);
}

Json Scheduler::unscheduled(const char* reason, const std::string& message) const {
  return JsonObject{{"type", "PodScheduled"},   {"status", "False"},
                    {"lastProbeTime", nullptr}, {"lastTransitionTime", rfc3339(loop_.now())},
                    {"reason", reason},         {"message", message}};
}

void Scheduler::say_gated(const Waiting& waiting) {
  const SharedJson tree = client_.tree(waiting.object);
  if (!condition_status(tree, "PodScheduled").empty()) return;
  Json status = status_with(
      tree,
      unscheduled("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"));
  client_.submit({ClientWrite::Verb::UpdateStatus, kPod, std::string(waiting.object->ns()),
                  std::string(waiting.object->name()), status_update(tree, std::move(status))},
                 [](const Result<ObjectPtr>&) {});
}

void Scheduler::say_why(Waiting& waiting, const Placement& placement) {
  const bool is_news = waiting.said != placement.why;
  if (!is_news && placement.nominated.empty()) {
    waiting.unsaid.clear();
    waiting.pod.words_follow = false;
  } else if (waiting.said.empty() || !placement.nominated.empty() ||
             loop_.now() >= waiting.said_at + kSayAgainAfter) {
    write_why(waiting, placement.why, placement.nominated);
  } else {
    say_later(waiting, placement.why);
  }
}

void Scheduler::say_later(Waiting& waiting, const std::string& why) {
  const bool is_listed = !waiting.unsaid.empty();
  waiting.unsaid = why;
  waiting.pod.words_follow = true;
  if (is_listed) return;
  to_say_.emplace_back(waiting.object->uid());
  if (say_timer_ == 0) say_timer_ = loop_.after(kSayAgainAfter, [this] { say_due(); });
}

void Scheduler::say_due() {
  say_timer_ = 0;
  for (size_t said = 0; said < kSayAtATime && !to_say_.empty(); to_say_.pop_front()) {
    const auto found = waiting_.find(to_say_.front());
    if (found == waiting_.end() || found->second.unsaid.empty()) continue;
    Waiting& waiting = found->second;
    // What is known of its template is newer than when it had its own turn.
    const std::string* newest = placer_.known_refusal(waiting.pod);
    const std::string why = newest != nullptr ? *newest : waiting.unsaid;
    waiting.unsaid.clear();
    waiting.pod.words_follow = false;
    if (waiting.binding || why == waiting.said) continue;
    write_why(waiting, why, "");
    ++said;
  }
  if (!to_say_.empty()) say_timer_ = loop_.after(kSayPause, [this] { say_due(); });
}

void Scheduler::write_why(Waiting& waiting, const std::string& why, const std::string& nominated) {
  const bool is_news = waiting.said != why;
  waiting.said = why;
  waiting.said_at = loop_.now();
  waiting.unsaid.clear();
  waiting.pod.words_follow = false;
  const SharedJson tree = client_.tree(waiting.object);
  JsonObject status = status_with(tree, unscheduled("Unschedulable", why));
  if (!nominated.empty()) {
    waiting.pod.nominated = nominated;
    status["nominatedNodeName"] = nominated;
  }
  if (is_news)
    events_.record(kPod, *waiting.object, {EventNote::Type::Warning, "FailedScheduling", why});
  client_.submit({ClientWrite::Verb::UpdateStatus, kPod, std::string(waiting.object->ns()),
                  std::string(waiting.object->name()), status_update(tree, std::move(status))},
                 [](const Result<ObjectPtr>&) {});
}

// First the condition that says it was no failure of its own, then the ordinary deletion.
void Scheduler::evict(const std::string& victim, const Waiting& for_whom, const std::string& node) {
  const PlacedPod* pod = cluster_.find_pod(victim);
  const ObjectPtr object = pod != nullptr ? client_.get(kPod, pod->ns, pod->name) : ObjectPtr();
  if (object == nullptr || object->uid() != victim) return;
  cluster_.set_ending(victim);
  const SharedJson tree = client_.tree(object);
  events_.record(kPod, *object,
                 {EventNote::Type::Normal, "Preempted",
                  fmt::format("Preempted by pod {} on node {}", for_whom.pod.pod.uid, node)});
  Json marked = status_with(
      tree, JsonObject{
                {"type", "DisruptionTarget"},
                {"status", "True"},
                {"lastProbeTime", nullptr},
                {"lastTransitionTime", rfc3339(loop_.now())},
                {"reason", "PreemptionByScheduler"},
                {"message", "default-scheduler: preempting to accommodate a higher priority pod"}});
  const std::string ns(object->ns()), name(object->name());
  client_.submit(
      {ClientWrite::Verb::UpdateStatus, kPod, ns, name, status_update(tree, std::move(marked))},
      [this, alive = alive_, ns, name, victim](const Result<ObjectPtr>&) {
        if (!*alive) return;
        const Json options = JsonObject{{"preconditions", JsonObject{{"uid", victim}}}};
        client_.submit({ClientWrite::Verb::Delete, kPod, ns, name, options},
                       [](const Result<ObjectPtr>&) {});
      });
}

}  // namespace yard
