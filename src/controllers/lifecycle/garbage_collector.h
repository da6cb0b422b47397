#pragma once
// Owner garbage collection: what has lost all its owners goes, owners that go in the foreground
// wait for what blocks them, and orphans are let go (kubernetes-core E1). Driven by events; one
// sweep in slices at the start finds what happened while nobody looked.

#include <set>
#include <string>
#include <vector>

#include "controllers/lifecycle/plan_ownership.h"
#include "controllers/runtime/controller.h"

namespace yard {

class GarbageCollector {
 public:
  GarbageCollector(Loop& loop, Client& client);
  ~GarbageCollector();

  // Nothing waits and the first sweep is over.
  bool is_idle() const { return controller_.is_idle() && !is_sweeping_; }

 private:
  struct Sweep;
  Plan plan(const ObjectKey& key);
  DependentWorld observe_dependent(const ObjectKey& key, const Object& object) const;
  OwnerWorld observe_owner(const ObjectKey& key, const Object& object) const;
  OwnerState state_of(const OwnerRef& owner, std::string_view dependent_ns) const;
  bool blocks(const Object& dependent, const Object& owner, const Resource& owner_resource) const;
  bool waits_in_circle(const ObjectKey& key, const Object& object) const;

  void hear(const ObjectEvent& event);
  void check_owners(const Resource& resource, const Object& object);
  void add_dependents(const Object& owner);
  void add_waiting_owners(const Object& dependent);
  void begin_sweep();
  void sweep_slice(const std::shared_ptr<Sweep>& sweep);

  Loop& loop_;
  Client& client_;
  std::set<ObjectKey> unresolved_;  // looked at again when a CRD changes what is served
  Controller controller_;
  Client::Subscription subscription_ = 0;
  bool is_sweeping_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
