#include "controllers/batch/pod_gc.h"

#include "api/content.h"
#include "api/tree.h"
#include "controllers/batch/job_facts.h"

namespace yard {
namespace {

constexpr size_t kNodeField = 0, kPhaseField = 6;  // among a pod's selectable fields
const Resource kNode{"v1", "Node"};

bool is_ended(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed";
}

ClientWrite delete_at_once(const Json& pod) {
  return {ClientWrite::Verb::Delete, kPodResource,
          std::string(text_at(pod, {"metadata", "namespace"})), std::string(name_of(pod)),
          JsonObject{{"gracePeriodSeconds", 0},
                     {"preconditions", JsonObject{{"uid", text_at(pod, {"metadata", "uid"})}}}}};
}

}  // namespace

Plan plan_unwanted_pod(const Json& pod) {
  Plan plan;
  plan.writes.push_back(delete_at_once(pod));
  return plan;
}

Plan plan_lost_pod(const Json& pod, Time now) {
  Plan plan;
  if (!is_ended(text_at(pod, {"status", "phase"}))) {
    Json lost = pod;
    JsonObject& status = section(lost, "status");
    status["phase"] = "Failed";
    if (!status["conditions"].is_array()) status["conditions"] = JsonArray();
    JsonArray& conditions = status["conditions"].get_array();
    JsonArray kept;
    for (Json& condition : conditions)
      if (text_at(condition, {"type"}) != "DisruptionTarget") kept.push_back(std::move(condition));
    kept.push_back(JsonObject{{"type", "DisruptionTarget"},
                              {"status", "True"},
                              {"reason", "DeletionByPodGC"},
                              {"message", "PodGC: node no longer exists"},
                              {"lastProbeTime", nullptr},
                              {"lastTransitionTime", rfc3339(now)}});
    conditions = std::move(kept);
    plan.writes.push_back({ClientWrite::Verb::UpdateStatus, kPodResource,
                           std::string(text_at(pod, {"metadata", "namespace"})),
                           std::string(name_of(pod)), std::move(lost)});
  }
  plan.last = delete_at_once(pod);
  return plan;
}

PodGc::PodGc(Loop& loop, Client& client, PodGcLimits limits)
    : loop_(loop),
      client_(client),
      limits_(limits),
      controller_(loop, client,
                  {.name = "pod gc", .plan = [this](const ObjectKey& key) { return plan(key); }}) {
  pods_ = client_.follow(kPodResource, [this](const ObjectEvent& event) {
    hear_pod(*event.object, event.type == ObjectEvent::Type::Deleted);
  });
  nodes_ = client_.follow(kNode, [this](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Deleted) hear_node_gone(event.object->name());
  });
  for (const ObjectPtr& pod : client_.list(kPodResource))
    hear_pod(*pod, false);
}

PodGc::~PodGc() {
  client_.unfollow(nodes_);
  client_.unfollow(pods_);
}

bool PodGc::node_exists(std::string_view node) const {
  return client_.get(kNode, "", node) != nullptr;
}

void PodGc::hear_pod(const Object& pod, bool gone) {
  const ObjectKey key{kPodResource, std::string(pod.ns()), std::string(pod.name())};
  const std::string_view node = pod.fields()[kNodeField];
  const bool ended = is_ended(pod.fields()[kPhaseField]);
  const bool evicted = ended && content_has(pod, R"("reason":"Evicted")");
  const Ended entry{!evicted, pod.created(), key.ns, key.name};
  if (gone || pod.is_being_deleted() || !ended) {
    ended_.erase(entry);
  } else {
    ended_.insert(entry);
  }
  if (gone) {
    unwanted_.erase(key);
    return;
  }
  while (ended_.size() > limits_.most_ended) {
    const auto& [kept, created, ns, name] = *ended_.begin();
    const ObjectKey oldest{kPodResource, ns, name};
    unwanted_.insert(oldest);
    controller_.add(oldest);
    ended_.erase(ended_.begin());
  }
  if (node.empty()) {
    if (pod.is_being_deleted()) controller_.add(key);
  } else if (!node_exists(node)) {
    controller_.add_after(key, limits_.node_quarantine);
  }
}

void PodGc::hear_node_gone(std::string_view node) {
  for (const ObjectPtr& pod : client_.list(kPodResource)) {
    if (pod->fields()[kNodeField] != node) continue;
    controller_.add_after({kPodResource, std::string(pod->ns()), std::string(pod->name())},
                          limits_.node_quarantine);
  }
}

Plan PodGc::plan(const ObjectKey& key) {
  const ObjectPtr object = client_.get(kPodResource, key.ns, key.name);
  if (object == nullptr) return {};
  const Json pod = object->tree();
  const bool can_go =
      !object->is_being_deleted() || int_at(pod, {"metadata", "deletionGracePeriodSeconds"}) > 0;
  if (!can_go) return {};  // only finalizers hold it
  const std::string_view node = text_at(pod, {"spec", "nodeName"});
  if (!node.empty() && !node_exists(node)) return plan_lost_pod(pod, loop_.now());
  const bool waits_in_vain = node.empty() && object->is_being_deleted();
  if (waits_in_vain || unwanted_.contains(key)) return plan_unwanted_pod(pod);
  return {};
}

}  // namespace yard
