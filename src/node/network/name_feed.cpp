#include "node/network/name_feed.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "api/tree.h"

namespace yard {
namespace {

const Resource kServices{"v1", "Service"}, kPods{"v1", "Pod"}, kEndpoints{"v1", "Endpoints"},
    kSlices{"discovery.k8s.io/v1", "EndpointSlice"};
constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";

std::string key_of(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

std::string label_key(std::string_view ns, std::string_view key, std::string_view value) {
  return fmt::format("{}/{}={}", ns, key, value);
}

std::string without_targets(const std::string& forward) {
  return forward.substr(0, forward.rfind(' '));
}

bool matches(const std::vector<std::pair<std::string, std::string>>& selector, const Object& pod) {
  return std::ranges::all_of(selector, [&](const auto& pair) {
    return pod.label(pair.first) == std::string_view(pair.second);
  });
}

}  // namespace

NameFeed::NameFeed(Client& client, Loop& loop, PodNetwork& network, NameSink& sink)
    : client_(client), loop_(loop), network_(network), sink_(sink) {}

NameFeed::~NameFeed() {
  *alive_ = false;
  network_.on_allocated(nullptr);
  network_.before_start(nullptr);
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void NameFeed::start() {
  network_.on_allocated([this](const std::string& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    if (const ObjectPtr pod = client_.get(kPods, found->second.ns, found->second.name))
      refresh_pod(uid, pod->tree());
  });
  network_.before_start([this] { tell_changes(); });
  subscriptions_.push_back(
      client_.follow(kServices, [this](const ObjectEvent& event) { on_service(event); }));
  subscriptions_.push_back(
      client_.follow(kPods, [this](const ObjectEvent& event) { on_pod(event); }));
  for (const Resource& resource : {kSlices, kEndpoints})
    subscriptions_.push_back(
        client_.follow(resource, [this](const ObjectEvent& event) { on_endpoints(event); }));
  for (const ObjectPtr& service : client_.list(kServices))
    add_service(*service);
  tell_all();
}

void NameFeed::on_service(const ObjectEvent& event) {
  ServiceNames told = remove_service(event.object->ns(), event.object->name());
  if (event.type != ObjectEvent::Type::Deleted) {
    // Only what changes is told: names that stay never vanish for a moment.
    add_service(*event.object).told = std::move(told);
    return;
  }
  ended_records_.insert(ended_records_.end(), told.records.begin(), told.records.end());
  for (const std::string& forward : told.forwards)
    ended_forwards_.push_back(without_targets(forward));
  tell_later();
}

ServiceNames NameFeed::remove_service(std::string_view ns, std::string_view name) {
  const auto found = services_.find(key_of(ns, name));
  if (found == services_.end()) return {};
  FollowedService& service = *found->second;
  for (const auto& [uid, endpoint] : service.pods) {
    const auto pod = pods_.find(uid);
    pod->second.services.erase(&service);
    if (pod->second.services.empty()) pods_.erase(pod);
  }
  if (!service.index_key.empty()) {
    auto& bucket = by_label_[service.index_key];
    std::erase(bucket, &service);
    if (bucket.empty()) by_label_.erase(service.index_key);
    if (--services_in_[service.ns] == 0) services_in_.erase(service.ns);
  }
  ServiceNames told = std::move(service.told);
  std::erase(dirty_, &service);
  services_.erase(found);
  return told;
}

NameFeed::FollowedService& NameFeed::add_service(const Object& object) {
  auto made = std::make_unique<FollowedService>();
  FollowedService& service = *made;
  service.ns = object.ns();
  service.name = object.name();
  service.tree = object.tree();
  for (const auto& member : map_at(service.tree, {"spec", "selector"}))
    service.selector.emplace_back(member.key(), text_of(member.value()));
  services_[key_of(service.ns, service.name)] = std::move(made);
  if (!service.selector.empty()) {
    // The rarest of its labels finds it: thousands of services may share the others.
    size_t fewest = SIZE_MAX;
    for (const auto& [key, value] : service.selector) {
      std::string at = label_key(service.ns, key, value);
      const auto bucket = by_label_.find(at);
      const size_t count = bucket == by_label_.end() ? 0 : bucket->second.size();
      if (count >= fewest) continue;
      fewest = count;
      service.index_key = std::move(at);
    }
    by_label_[service.index_key].push_back(&service);
    ++services_in_[service.ns];
    for (const ObjectPtr& pod : client_.list(kPods, service.ns)) {
      if (matches(service.selector, *pod)) look_at_pod(*pod);
    }
  }
  mark(service);
  return service;
}

void NameFeed::on_pod(const ObjectEvent& event) {
  const Object& pod = *event.object;
  if (event.type == ObjectEvent::Type::Deleted) return forget_pod(std::string(pod.uid()));
  if (services_in_.contains(pod.ns())) look_at_pod(pod);
}

void NameFeed::look_at_pod(const Object& object) {
  const Json tree = object.tree();
  std::set<FollowedService*> now;
  for (const auto& label : map_at(tree, {"metadata", "labels"})) {
    const auto bucket = by_label_.find(label_key(object.ns(), label.key(), text_of(label.value())));
    if (bucket == by_label_.end()) continue;
    for (FollowedService* service : bucket->second) {
      if (matches(service->selector, object)) now.insert(service);
    }
  }
  const std::string uid(object.uid());
  const auto known = pods_.find(uid);
  if (known == pods_.end() && now.empty()) return;
  FollowedPod& pod = known == pods_.end() ? pods_[uid] : known->second;
  pod.ns = object.ns();
  pod.name = object.name();
  for (FollowedService* service : pod.services) {
    if (now.contains(service)) continue;
    service->pods.erase(uid);
    mark(*service);
  }
  pod.services = std::move(now);
  if (pod.services.empty()) {
    pods_.erase(uid);
    return;
  }
  refresh_pod(uid, tree);
}

void NameFeed::refresh_pod(const std::string& uid, const Json& tree) {
  std::string address = network_.address_of(uid);
  if (address.empty()) address = text_at(tree, {"status", "podIP"});
  for (FollowedService* service : pods_.find(uid)->second.services) {
    service->pods[uid] = pod_endpoint(tree, address, service->tree);
    mark(*service);
  }
}

void NameFeed::forget_pod(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  for (FollowedService* service : found->second.services) {
    service->pods.erase(uid);
    mark(*service);
  }
  pods_.erase(found);
}

void NameFeed::on_endpoints(const ObjectEvent& event) {
  const Object& object = *event.object;
  const std::string_view name = event.resource.kind == "EndpointSlice"
                                    ? object.label(kServiceLabel).value_or("")
                                    : object.name();
  const auto found = services_.find(key_of(object.ns(), name));
  if (found != services_.end() && found->second->selector.empty()) mark(*found->second);
}

void NameFeed::mark(FollowedService& service) {
  if (!service.dirty) dirty_.push_back(&service);
  service.dirty = true;
  tell_later();
}

void NameFeed::tell_later() {
  if (scheduled_) return;
  scheduled_ = true;
  loop_.post([this, alive = alive_] {
    if (*alive) tell_changes();
  });
}

ServiceNames NameFeed::names_of(const FollowedService& service) const {
  std::vector<ServiceEndpoint> endpoints;
  for (const auto& [uid, endpoint] : service.pods) {
    if (endpoint) endpoints.push_back(*endpoint);
  }
  if (service.selector.empty()) {
    for (const ObjectPtr& slice : client_.list(kSlices, service.ns)) {
      if (slice->label(kServiceLabel) != std::string_view(service.name)) continue;
      for (ServiceEndpoint& endpoint : slice_endpoints(slice->tree()))
        endpoints.push_back(std::move(endpoint));
    }
    const ObjectPtr by_hand = client_.get(kEndpoints, service.ns, service.name);
    if (endpoints.empty() && by_hand != nullptr) endpoints = endpoints_endpoints(by_hand->tree());
  }
  ServiceNames out = service_names(service.tree, endpoints);
  // The API server listens there itself.
  if (service.ns == "default" && service.name == "kubernetes") out.forwards.clear();
  return out;
}

void NameFeed::tell_changes() {
  scheduled_ = false;
  if (dirty_.empty() && ended_records_.empty() && ended_forwards_.empty()) return;
  std::vector<std::string> added, removed = std::exchange(ended_records_, {}),
                                  forwards = std::exchange(ended_forwards_, {});
  for (FollowedService* service : std::exchange(dirty_, {})) {
    service->dirty = false;
    ServiceNames now = names_of(*service);
    std::ranges::set_difference(now.records, service->told.records, std::back_inserter(added));
    std::ranges::set_difference(service->told.records, now.records, std::back_inserter(removed));
    for (const std::string& forward : service->told.forwards) {
      const std::string door = without_targets(forward);
      const bool stays = std::ranges::any_of(
          now.forwards, [&](const std::string& each) { return without_targets(each) == door; });
      if (!stays) forwards.push_back(door);
    }
    std::ranges::set_difference(now.forwards, service->told.forwards, std::back_inserter(forwards));
    service->told = std::move(now);
  }
  if (!added.empty() || !removed.empty() || !forwards.empty())
    sink_.change_names(added, removed, forwards);
}

void NameFeed::tell_all() {
  std::vector<std::string> records, forwards;
  dirty_.clear();
  ended_records_.clear();
  ended_forwards_.clear();
  for (const auto& [key, service] : services_) {
    service->dirty = false;
    service->told = names_of(*service);
    records.insert(records.end(), service->told.records.begin(), service->told.records.end());
    forwards.insert(forwards.end(), service->told.forwards.begin(), service->told.forwards.end());
  }
  sink_.replace_names(records, forwards);
}

}  // namespace yard
