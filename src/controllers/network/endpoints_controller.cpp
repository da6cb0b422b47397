#include "controllers/network/endpoints_controller.h"

#include "api/tree.h"
#include "base/search.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const Resource kPod{"v1", "Pod"};
// A pod's first moments are several changes; they are told as one. Where many Services change at
// once that takes longer, and nobody can read so fast.
constexpr Duration kGather = 100ms, kGatherMany = 3s;
constexpr int kMany = 64;
// Labels that pods are kept by; Services that ask for yet others are held against every pod.
constexpr size_t kMostLabels = 32;

ObjectKey service_key(std::string_view ns, std::string_view name) {
  return {kServiceResource, std::string(ns), std::string(name)};
}

std::string bucket_name(std::string_view ns, std::string_view label, std::string_view value) {
  std::string out(ns);
  out.append("\n").append(label).append("=").append(value);
  return out;
}

// As they are encoded: the same text means the same labels.
std::string_view labels_text(const Object& object) {
  const std::string_view metadata = object.metadata();
  const size_t at = find_words(metadata, R"("labels":{)");
  return at == std::string_view::npos ? "" : metadata.substr(at, metadata.find('}', at) - at);
}

}  // namespace

EndpointsController::EndpointsController(Loop& loop, Client& client)
    : loop_(loop),
      client_(client),
      controller_(loop, client,
                  {.name = "endpoints",
                   .plan = [this](const ObjectKey& key) { return plan(key); },
                   .limits = {.longest_retry = 60s}}) {
  subscriptions_.push_back(
      client_.follow(kServiceResource, [this](const ObjectEvent& event) { hear_service(event); }));
  subscriptions_.push_back(
      client_.follow(kPod, [this](const ObjectEvent& event) { hear_pod(event); }));
  // What others do to our objects is undone; a Service that is gone leaves its Endpoints behind.
  subscriptions_.push_back(client_.follow(kEndpointsResource, [this](const ObjectEvent& event) {
    add_soon(service_key(event.object->ns(), event.object->name()));
  }));
  subscriptions_.push_back(client_.follow(kEndpointSliceResource, [this](const ObjectEvent& event) {
    if (const auto service = event.object->label(kServiceNameLabel))
      add_soon(service_key(event.object->ns(), *service));
  }));
  for (const ObjectPtr& service : client_.list(kServiceResource))
    hear_service({ObjectEvent::Type::Added, kServiceResource, service, nullptr});
  for (const ObjectPtr& endpoints : client_.list(kEndpointsResource))
    controller_.add(service_key(endpoints->ns(), endpoints->name()));
}

EndpointsController::~EndpointsController() {
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void EndpointsController::add_soon(const ObjectKey& key) {
  const Time now = loop_.now();
  if (now - window_ > kGather) {
    window_ = now;
    changes_ = 0;
  }
  controller_.add_after(key, ++changes_ > kMany ? kGatherMany : kGather);
}

void EndpointsController::forget_service(const ObjectKey& key) {
  const auto found = services_.find(key);
  if (found == services_.end()) return;
  const auto bucket = buckets_.find(found->second.bucket);
  bucket->second.services.erase(key.name);
  if (bucket->second.services.empty() && bucket->second.pods.empty()) buckets_.erase(bucket);
  services_.erase(found);
}

// By the label that the fewest others are kept under.
void EndpointsController::choose_bucket(const std::string& ns, const JsonObject& wanted,
                                        Service& service) {
  size_t smallest = SIZE_MAX;
  std::string label;
  service.bucket = bucket_name(ns, "", "");
  for (const auto& pair : wanted) {
    if (labels_.size() >= kMostLabels && !labels_.contains(std::string(pair.key()))) continue;
    std::string name = bucket_name(ns, pair.key(), text_of(pair.value()));
    const auto bucket = buckets_.find(name);
    const size_t size = bucket == buckets_.end() ? 0 : bucket->second.services.size();
    if (size >= smallest) continue;
    smallest = size;
    label = pair.key();
    service.bucket = std::move(name);
  }
  if (!label.empty() && labels_.insert(label).second) index_by(label);
}

void EndpointsController::index_by(const std::string& label) {
  for (const ObjectPtr& pod : client_.list(kPod))
    if (const auto value = pod->label(label))
      buckets_[bucket_name(pod->ns(), label, *value)].pods.emplace(pod->name());
}

void EndpointsController::hear_service(const ObjectEvent& event) {
  const ObjectKey key = service_key(event.object->ns(), event.object->name());
  forget_service(key);
  add_soon(key);
  if (event.type == ObjectEvent::Type::Deleted) return;
  const Json tree = event.object->tree();
  const JsonObject& wanted = map_at(tree, {"spec", "selector"});
  auto selector = LabelSelector::from_json(JsonObject{{"matchLabels", wanted}});
  if (wanted.empty() || !selector) return;
  Service service{std::move(*selector), {}, {}};
  choose_bucket(key.ns, wanted, service);
  Bucket& bucket = buckets_[service.bucket];
  bucket.services.insert(key.name);
  const auto take = [&](const ObjectPtr& pod) {
    if (pod != nullptr && service.selector.matches(*pod)) service.pods.emplace(pod->name());
  };
  if (service.bucket == bucket_name(key.ns, "", "")) {
    for (const ObjectPtr& pod : client_.list(kPod, key.ns))
      take(pod);
  } else {
    for (const std::string& name : bucket.pods)
      take(client_.get(kPod, key.ns, name));
  }
  services_.emplace(key, std::move(service));
}

void EndpointsController::hear_pod(const ObjectEvent& event) {
  const bool gone = event.type == ObjectEvent::Type::Deleted;
  if (gone) pods_.erase(std::string(event.object->uid()));
  index_pod(*event.object, event.previous.get(), gone);
  // Labels may have changed: those that selected it before lose it.
  if (event.previous != nullptr && !gone &&
      labels_text(*event.previous) != labels_text(*event.object))
    match(*event.previous, event.object.get());
  match(*event.object, gone ? nullptr : event.object.get());
}

void EndpointsController::index_pod(const Object& pod, const Object* previous, bool gone) {
  for (const std::string& label : labels_) {
    const auto now = gone ? std::nullopt : pod.label(label);
    const auto before =
        previous == nullptr ? (gone ? pod.label(label) : std::nullopt) : previous->label(label);
    if (now == before) continue;
    if (before) {
      const auto bucket = buckets_.find(bucket_name(pod.ns(), label, *before));
      if (bucket != buckets_.end()) {
        bucket->second.pods.erase(std::string(pod.name()));
        if (bucket->second.services.empty() && bucket->second.pods.empty()) buckets_.erase(bucket);
      }
    }
    if (now) buckets_[bucket_name(pod.ns(), label, *now)].pods.emplace(pod.name());
  }
}

// Services that select `pod` select it still, as it is `now`; null is gone.
void EndpointsController::match(const Object& pod, const Object* now) {
  match_bucket(bucket_name(pod.ns(), "", ""), pod, now);
  for (const std::string& label : labels_)
    if (const auto value = pod.label(label))
      match_bucket(bucket_name(pod.ns(), label, *value), pod, now);
}

void EndpointsController::match_bucket(const std::string& bucket, const Object& pod,
                                       const Object* now) {
  const auto found = buckets_.find(bucket);
  if (found == buckets_.end()) return;
  for (const std::string& name : found->second.services) {
    const auto service = services_.find(service_key(pod.ns(), name));
    if (service == services_.end() || !service->second.selector.matches(pod)) continue;
    if (now == nullptr || !service->second.selector.matches(*now)) {
      service->second.pods.erase(std::string(pod.name()));
    } else {
      service->second.pods.emplace(pod.name());
    }
    add_soon(service->first);
  }
}

const EndpointPod& EndpointsController::facts_of(const Object& pod) {
  KnownPod& known = pods_[std::string(pod.uid())];
  if (known.revision != pod.revision()) {
    JsonArena arena;
    known = {pod.revision(), endpoint_pod(pod.tree(arena.memory()))};
  }
  return known.facts;
}

Plan EndpointsController::plan(const ObjectKey& key) {
  EndpointsWorld world;
  world.ns = key.ns;
  world.name = key.name;
  if (const ObjectPtr service = client_.get(kServiceResource, key.ns, key.name))
    world.service = service->tree();
  if (const ObjectPtr endpoints = client_.get(kEndpointsResource, key.ns, key.name))
    world.endpoints = endpoints->tree();
  if (const auto service = services_.find(key); service != services_.end()) {
    for (const std::string& name : service->second.pods)
      if (const ObjectPtr pod = client_.get(kPod, key.ns, name))
        world.pods.push_back(facts_of(*pod));
  }
  if (!world.service.is_null()) {
    for (const Client::Dependent& dependent :
         client_.dependents(text_at(world.service, {"metadata", "uid"}))) {
      if (dependent.resource == kEndpointSliceResource &&
          dependent.object->label(kSliceManagerLabel) == kSliceManager)
        world.slices.push_back(dependent.object->tree());
    }
  }
  if (!world.endpoints.is_null()) {
    for (const Client::Dependent& dependent :
         client_.dependents(text_at(world.endpoints, {"metadata", "uid"}))) {
      if (dependent.resource == kEndpointSliceResource &&
          dependent.object->label(kSliceManagerLabel) == kSliceMirror)
        world.mirrored.push_back(dependent.object->tree());
    }
  }
  return plan_endpoints(world);
}

}  // namespace yard
