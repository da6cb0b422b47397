#include "controllers/network/endpoints_controller.h"

#include "api/tree.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const Resource kPod{"v1", "Pod"};

ObjectKey service_key(std::string_view ns, std::string_view name) {
  return {kServiceResource, std::string(ns), std::string(name)};
}

std::string bucket_name(std::string_view ns, std::string_view label, std::string_view value) {
  std::string out(ns);
  out.append("\n").append(label).append("=").append(value);
  return out;
}

}  // namespace

EndpointsController::EndpointsController(Loop& loop, Client& client)
    : client_(client),
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
    controller_.add(service_key(event.object->ns(), event.object->name()));
  }));
  subscriptions_.push_back(client_.follow(kEndpointSliceResource, [this](const ObjectEvent& event) {
    if (const auto service = event.object->label(kServiceNameLabel))
      controller_.add(service_key(event.object->ns(), *service));
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

void EndpointsController::forget_service(const ObjectKey& key) {
  const auto found = services_.find(key);
  if (found == services_.end()) return;
  const auto bucket = services_by_label_.find(found->second.bucket);
  bucket->second.erase(key.name);
  if (bucket->second.empty()) services_by_label_.erase(bucket);
  services_.erase(found);
}

void EndpointsController::hear_service(const ObjectEvent& event) {
  const ObjectKey key = service_key(event.object->ns(), event.object->name());
  forget_service(key);
  controller_.add(key);
  if (event.type == ObjectEvent::Type::Deleted) return;
  const Json tree = event.object->tree();
  const JsonObject& wanted = map_at(tree, {"spec", "selector"});
  auto selector = LabelSelector::from_json(JsonObject{{"matchLabels", wanted}});
  if (wanted.empty() || !selector) return;
  Service service{std::move(*selector), {}, {}};
  size_t smallest = SIZE_MAX;
  for (const auto& pair : wanted) {
    std::string name = bucket_name(key.ns, pair.key(), text_of(pair.value()));
    const auto bucket = services_by_label_.find(name);
    const size_t size = bucket == services_by_label_.end() ? 0 : bucket->second.size();
    if (size >= smallest) continue;
    smallest = size;
    service.bucket = std::move(name);
  }
  services_by_label_[service.bucket].insert(key.name);
  for (const ObjectPtr& pod : client_.list(kPod, key.ns))
    if (service.selector.matches(*pod)) service.pods.insert(std::string(pod->name()));
  services_.emplace(key, std::move(service));
}

void EndpointsController::hear_pod(const ObjectEvent& event) {
  const bool gone = event.type == ObjectEvent::Type::Deleted;
  if (gone) pods_.erase(std::string(event.object->uid()));
  // Labels may have changed: those that selected it before lose it.
  if (event.previous != nullptr && !gone) add_matching(*event.previous, true);
  add_matching(*event.object, gone);
}

void EndpointsController::add_matching(const Object& pod, bool gone) {
  if (services_.empty()) return;
  const auto metadata = parse_json(pod.metadata());
  if (!metadata) return;
  for (const auto& pair : map_at(metadata->value, {"labels"})) {
    const auto bucket =
        services_by_label_.find(bucket_name(pod.ns(), pair.key(), text_of(pair.value())));
    if (bucket == services_by_label_.end()) continue;
    for (const std::string& name : bucket->second) {
      const auto service = services_.find(service_key(pod.ns(), name));
      if (service == services_.end() || !service->second.selector.matches(pod)) continue;
      if (gone) {
        service->second.pods.erase(std::string(pod.name()));
      } else {
        service->second.pods.insert(std::string(pod.name()));
      }
      controller_.add(service->first);
    }
  }
}

const EndpointPod& EndpointsController::facts_of(const Object& pod) {
  KnownPod& known = pods_[std::string(pod.uid())];
  if (known.revision != pod.revision()) known = {pod.revision(), endpoint_pod(pod.tree())};
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
