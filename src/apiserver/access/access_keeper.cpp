#include "apiserver/access/access_keeper.h"

#include <set>

namespace yard {
namespace {

constexpr const char* kRoles = "roles.rbac.authorization.k8s.io";
constexpr const char* kBindings = "rolebindings.rbac.authorization.k8s.io";
constexpr const char* kClusterRoles = "clusterroles.rbac.authorization.k8s.io";
constexpr const char* kClusterBindings = "clusterrolebindings.rbac.authorization.k8s.io";

std::shared_ptr<const PolicyRules> rules_in(const Object& role) {
  const Json tree = role.tree();
  return std::make_shared<const PolicyRules>(policy_rules(find(tree, "rules")));
}

}  // namespace

AccessKeeper::AccessKeeper(Store& store) : store_(store) {
  for (const char* storage : {kRoles, kBindings}) {
    listeners_.push_back(store_.listen(storage, [this](const StoreEventPtr& event) {
      AccessRules next = *rules();
      read_namespace(next, event->object->ns());
      publish(std::move(next));
    }));
  }
  listeners_.push_back(store_.listen(kClusterRoles, [this](const StoreEventPtr& event) {
    AccessRules next = *rules();
    read_cluster_role(next, event->object->name());
    publish(std::move(next));
  }));
  listeners_.push_back(store_.listen(kClusterBindings, [this](const StoreEventPtr&) {
    AccessRules next = *rules();
    read_cluster_bindings(next);
    publish(std::move(next));
  }));
  AccessRules all;
  auto roles = std::make_shared<AccessRules::Roles>();
  for (const ObjectPtr& role : store_.list(kClusterRoles, {}).objects)
    roles->emplace(role->name(), rules_in(*role));
  all.cluster_roles = std::move(roles);
  read_cluster_bindings(all);
  std::set<std::string> namespaces;
  for (const char* storage : {kRoles, kBindings}) {
    for (const ObjectPtr& object : store_.list(storage, {}).objects)
      namespaces.emplace(object->ns());
  }
  for (const std::string& ns : namespaces)
    read_namespace(all, ns);
  publish(std::move(all));
}

AccessKeeper::~AccessKeeper() {
  for (const Store::ListenerId listener : listeners_)
    store_.forget(listener);
}

std::shared_ptr<const AccessRules> AccessKeeper::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

void AccessKeeper::publish(AccessRules next) {
  auto made = std::make_shared<const AccessRules>(std::move(next));
  const std::lock_guard lock(mutex_);
  rules_ = std::move(made);
}

void AccessKeeper::read_cluster_role(AccessRules& next, std::string_view name) const {
  auto roles = std::make_shared<AccessRules::Roles>(*next.cluster_roles);
  const ObjectPtr role = store_.get(Key{kClusterRoles, "", std::string(name)});
  if (role == nullptr) {
    roles->erase(std::string(name));
  } else {
    (*roles)[std::string(name)] = rules_in(*role);
  }
  next.cluster_roles = std::move(roles);
}

void AccessKeeper::read_cluster_bindings(AccessRules& next) const {
  auto bindings = std::make_shared<std::vector<RoleBindingFacts>>();
  for (const ObjectPtr& binding : store_.list(kClusterBindings, {}).objects)
    bindings->push_back(binding_facts(binding->tree()));
  next.cluster_bindings = std::move(bindings);
}

void AccessKeeper::read_namespace(AccessRules& next, std::string_view ns) const {
  auto in = std::make_shared<AccessRules::InNamespace>();
  const ListRange range{.ns = std::string(ns)};
  for (const ObjectPtr& role : store_.list(kRoles, range).objects)
    in->roles.emplace(role->name(), rules_in(*role));
  for (const ObjectPtr& binding : store_.list(kBindings, range).objects)
    in->bindings.push_back(binding_facts(binding->tree()));
  if (in->roles.empty() && in->bindings.empty()) {
    next.namespaces.erase(std::string(ns));
  } else {
    next.namespaces[std::string(ns)] = std::move(in);
  }
}

}  // namespace yard
