#include "node/volume_updates.h"

#include <algorithm>

#include "api/tree.h"
#include "base/log.h"
#include "node/pod_volumes.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"};
const Resource kSources[] = {{"v1", "ConfigMap"}, {"v1", "Secret"}};

// Pods' own labels and annotations, shown by downwardAPI.
constexpr std::string_view kItself = "Pod";
constexpr size_t kNodeName = 0;  // among a pod's selectable fields (api/core/pod.cpp)

void add_sources(const Json& source, std::set<std::pair<std::string, std::string>>& out) {
  if (const Json* map = find(source, "configMap"))
    out.emplace("ConfigMap", text_at(*map, {"name"}));
  if (const Json* secret = find(source, "secret"))
    out.emplace("Secret", text_at(*secret, {"secretName"}, text_at(*secret, {"name"})));
  if (find(source, "downwardAPI") != nullptr) out.emplace(kItself, "");
}

}  // namespace

std::set<std::pair<std::string, std::string>> volume_sources(const Json& volume) {
  std::set<std::pair<std::string, std::string>> out;
  add_sources(volume, out);
  const JsonArray& projected = list_at(volume, {"projected", "sources"});
  const bool has_token = std::ranges::any_of(
      projected, [](const Json& source) { return find(source, "serviceAccountToken") != nullptr; });
  if (has_token) return {};
  for (const Json& source : projected)
    add_sources(source, out);
  return out;
}

VolumeUpdates::VolumeUpdates(Client& client, Loop& loop, RealPodRuntime& runtime)
    : client_(client), loop_(loop), runtime_(runtime) {
  subscriptions_.push_back(
      client_.follow(kPod, [this](const ObjectEvent& event) { on_pod(event); }));
  for (const ObjectPtr& object : client_.list(kPod))
    on_pod({ObjectEvent::Type::Added, kPod, object, nullptr});
  for (const Resource& source : kSources) {
    subscriptions_.push_back(
        client_.follow(source, [this](const ObjectEvent& event) { on_source(event); }));
  }
}

VolumeUpdates::~VolumeUpdates() {
  *alive_ = false;
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void VolumeUpdates::on_pod(const ObjectEvent& event) {
  const std::string uid(event.object->uid());
  const auto known = pods_.find(uid);
  if (event.type == ObjectEvent::Type::Deleted) {
    if (known == pods_.end()) return;
    for (const Source& source : known->second.sources) {
      const auto users = users_.find(source);
      users->second.erase(uid);
      if (users->second.empty()) users_.erase(users);
    }
    pods_.erase(known);
    return;
  }
  // Volumes cannot change: a pod is read once, and again only for what it shows of itself.
  if (known != pods_.end()) {
    if (known->second.sources.contains({std::string(kItself), ""}) || !known->second.looked_at)
      look_later(uid);
    return;
  }
  if (event.type != ObjectEvent::Type::Added) return;  // it had no such volumes
  const SharedJson tree = client_.tree(event.object);
  Pod pod{std::string(event.object->ns()), std::string(event.object->name()), {}, false};
  for (const Json& volume : list_at(tree, {"spec", "volumes"})) {
    for (const auto& [kind, name] : volume_sources(volume))
      pod.sources.emplace(kind, kind == kItself ? "" : pod.ns + "/" + name);
  }
  if (pod.sources.empty()) return;
  for (const Source& source : pod.sources)
    users_[source].insert(uid);
  // An earlier server may have missed a change.
  look_later(uid);
  pods_.emplace(uid, std::move(pod));
}

void VolumeUpdates::on_source(const ObjectEvent& event) {
  const auto found = users_.find({event.resource.kind, std::string(event.object->ns()) + "/" +
                                                           std::string(event.object->name())});
  // One that is deleted leaves its files as they are, as upstream.
  if (found == users_.end() || event.type == ObjectEvent::Type::Deleted) return;
  for (const std::string& uid : found->second)
    look_later(uid);
}

void VolumeUpdates::look_later(const std::string& uid) {
  if (std::ranges::find(waiting_, uid) != waiting_.end()) return;
  waiting_.push_back(uid);
  if (waiting_.size() > 1) return;
  loop_.post([this, alive = alive_] {
    if (*alive) look_at_next();
  });
}

void VolumeUpdates::look_at_next() {
  const std::string uid = std::move(waiting_.front());
  waiting_.pop_front();
  if (const auto found = pods_.find(uid); found != pods_.end()) {
    const PodRecord* record = runtime_.find(uid);
    if (record != nullptr && record->alive)
      found->second.looked_at |= update(found->second.ns, found->second.name);
  }
  if (waiting_.empty()) return;
  loop_.post([this, alive = alive_] {
    if (*alive) look_at_next();
  });
}

// Whether there was a pod to look at: one that is made ready ahead of its binding is heard of
// again.
bool VolumeUpdates::update(const std::string& ns, const std::string& name) {
  const ObjectPtr object = client_.get(kPod, ns, name);
  if (object == nullptr || object->fields()[kNodeName].empty()) return false;
  const Json tree = object->tree();
  PodFactsForEnv facts;
  facts.find = [&](std::string_view kind, std::string_view wanted) {
    const std::string_view where = kind == "PersistentVolume" ? "" : std::string_view(ns);
    const ObjectPtr source = client_.get({"v1", std::string(kind)}, where, wanted);
    return source == nullptr ? Json() : source->tree();
  };
  if (const ObjectPtr node = client_.get(kNode, "", text_at(tree, {"spec", "nodeName"}))) {
    const Json node_tree = node->tree();
    if (const Json* allocatable = find_path(node_tree, {"status", "allocatable"}))
      facts.allocatable = *allocatable;
  }
  // A source that is missing now was there at the start: the files stay.
  auto volumes = pod_volumes(tree, facts);
  if (!volumes) {
    log_debug("volumes of {}/{} stay: {}", ns, name, volumes.error().message);
    return true;
  }
  const JsonArray& specs = list_at(tree, {"spec", "volumes"});
  for (size_t i = 0; i < volumes->size() && i < specs.size(); ++i) {
    if (!volume_sources(specs[i]).empty())
      runtime_.replace_files(object->uid(), std::move((*volumes)[i]));
  }
  return true;
}

}  // namespace yard
