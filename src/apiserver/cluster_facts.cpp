#include "apiserver/cluster_facts.h"

namespace yard {
namespace {

constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";

// Storages the facts are made of. They hold few objects and change rarely, so every change rebuilds
// all.
constexpr std::string_view kSources[] = {"namespaces", "serviceaccounts",
                                         "priorityclasses.scheduling.k8s.io",
                                         "storageclasses.storage.k8s.io", "limitranges"};

std::string key_of(const Object& object) {
  return std::string(object.ns()) + "/" + std::string(object.name());
}

ClusterFacts::ServiceAccount service_account(const Json& tree) {
  ClusterFacts::ServiceAccount out;
  out.automount_token = bool_at(tree, {"automountServiceAccountToken"}, true);
  if (const Json* secrets = find(tree, "imagePullSecrets");
      secrets != nullptr && secrets->is_array()) {
    for (const Json& secret : secrets->get_array())
      out.image_pull_secrets.emplace_back(text_at(secret, {"name"}));
  }
  return out;
}

ClusterFacts::PriorityClass priority_class(const Json& tree) {
  return {static_cast<int32_t>(int_at(tree, {"value"})), bool_at(tree, {"globalDefault"}),
          std::string(text_at(tree, {"preemptionPolicy"}, "PreemptLowerPriority"))};
}

}  // namespace

ClusterFactsKeeper::ClusterFactsKeeper(Store& store) : store_(store) {
  for (const std::string_view source : kSources) {
    listeners_.push_back(store_.listen(source, [this](const StoreEventPtr&) { rebuild(); }));
  }
  rebuild();
}

ClusterFactsKeeper::~ClusterFactsKeeper() {
  for (const Store::ListenerId listener : listeners_)
    store_.forget(listener);
}

std::shared_ptr<const ClusterFacts> ClusterFactsKeeper::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

void ClusterFactsKeeper::rebuild() {
  auto next = std::make_shared<ClusterFacts>();
  for (const ObjectPtr& object : store_.list("namespaces", {}).objects) {
    // The default account is made moments after its namespace; a pod created in between must not be
    // refused for that.
    next->service_accounts[std::string(object->name()) + "/default"] = {};
    const Json tree = object->tree();
    const Json* labels = find_path(tree, {"metadata", "labels"});
    next->namespaces[std::string(object->name())] = {
        object->is_being_deleted(),
        labels != nullptr ? security_policy_of(*labels) : SecurityPolicy()};
  }
  for (const ObjectPtr& object : store_.list("serviceaccounts", {}).objects) {
    next->service_accounts[key_of(*object)] = service_account(object->tree());
  }
  for (const ObjectPtr& object : store_.list("priorityclasses.scheduling.k8s.io", {}).objects) {
    next->priority_classes[std::string(object->name())] = priority_class(object->tree());
  }
  for (const ObjectPtr& object : store_.list("storageclasses.storage.k8s.io", {}).objects) {
    const Json tree = object->tree();
    const Json* annotations = find_path(tree, {"metadata", "annotations"});
    if (annotations != nullptr && text_at(*annotations, {kDefaultClass}) == "true")
      next->default_storage_class = object->name();
  }
  for (const ObjectPtr& object : store_.list("limitranges", {}).objects) {
    const Json tree = object->tree();
    if (const Json* limits = find_path(tree, {"spec", "limits"})) {
      next->limit_ranges[std::string(object->ns())].push_back(*limits);
    }
  }
  const std::lock_guard lock(mutex_);
  facts_ = std::move(next);
}

}  // namespace yard
