#pragma once
// Keeps AccessRules true: listens to the roles and bindings of the store.

#include <memory>
#include <mutex>

#include "apiserver/access/rbac.h"
#include "store/store.h"

namespace yard {

class AccessKeeper {
 public:
  explicit AccessKeeper(Store& store);
  ~AccessKeeper();
  AccessKeeper(const AccessKeeper&) = delete;
  AccessKeeper& operator=(const AccessKeeper&) = delete;
  std::shared_ptr<const AccessRules> rules() const;  // any thread

 private:
  void publish(AccessRules next);
  void read_cluster_role(AccessRules& next, std::string_view name) const;
  void read_cluster_bindings(AccessRules& next) const;
  void read_namespace(AccessRules& next, std::string_view ns) const;

  Store& store_;
  std::vector<Store::ListenerId> listeners_;
  mutable std::mutex mutex_;
  std::shared_ptr<const AccessRules> rules_;
};

}  // namespace yard
