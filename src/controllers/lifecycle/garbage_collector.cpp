#include "controllers/lifecycle/garbage_collector.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "api/tree.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMostOrphansPerPass = 500;
constexpr size_t kObjectsPerSlice = 500;  // of the sweep, a turn of the loop
constexpr size_t kMostInCircle = 10'000;  // objects followed to find a circle of waiting owners
constexpr Duration kOwnerDelay = 5ms;  // many dependents go at once; their owner is looked at once
constexpr Duration kServedDelay = 1s;  // from a changed CRD to its kind being served
constexpr Duration kLongestRetry = 30s;

std::vector<std::string> texts(const JsonArray& list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const Json& item : list)
    out.emplace_back(text_of(item));
  return out;
}

// Only metadata is parsed: bodies may be large.
Json metadata_of(const Object& object) {
  auto parsed = parse_json(object.metadata());
  return parsed ? std::move(parsed->value) : Json(JsonObject());
}

bool has_finalizer(const Object& object, std::string_view finalizer) {
  if (!object.has_finalizers()) return false;
  const Json metadata = metadata_of(object);
  return std::ranges::any_of(list_at(metadata, {"finalizers"}),
                             [&](const Json& item) { return text_of(item) == finalizer; });
}

bool waits_for_dependents(const Object& object) {
  return object.is_being_deleted() && has_finalizer(object, kForegroundFinalizer);
}

bool same_owner(const OwnerRef& left, const OwnerRef& right) {
  return left.uid == right.uid && left.name == right.name && left.kind == right.kind &&
         left.api_version == right.api_version &&
         left.block_owner_deletion == right.block_owner_deletion;
}

std::string_view group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : api_version.substr(0, slash);
}

Resource resource_of(const OwnerRef& owner) {
  return {std::string(owner.api_version), std::string(owner.kind)};
}

ObjectKey key_of(const Resource& resource, const Object& object) {
  return {resource, std::string(object.ns()), std::string(object.name())};
}

}  // namespace

GarbageCollector::GarbageCollector(Loop& loop, Client& client)
    : loop_(loop),
      client_(client),
      controller_(loop, client,
                  {.name = "garbage collector",
                   .plan = [this](const ObjectKey& key) { return plan(key); },
                   .add_all = [this] { begin_sweep(); },
                   .limits = {.longest_retry = kLongestRetry}}) {
  subscription_ = client_.follow({}, [this](const ObjectEvent& event) { hear(event); });
  begin_sweep();
}

GarbageCollector::~GarbageCollector() {
  client_.unfollow(subscription_);
}

Plan GarbageCollector::plan(const ObjectKey& key) {
  unresolved_.erase(key);
  const ObjectPtr object = client_.get(key.resource, key.ns, key.name);
  if (object == nullptr) return {};
  if (object->is_being_deleted()) {
    return object->has_finalizers() ? plan_owner(observe_owner(key, *object)) : Plan{};
  }
  if (!object->has_owners()) return {};
  const DependentWorld world = observe_dependent(key, *object);
  if (std::ranges::find(world.owners, OwnerState::Unresolved) != world.owners.end())
    unresolved_.insert(key);
  return plan_dependent(world);
}

DependentWorld GarbageCollector::observe_dependent(const ObjectKey& key,
                                                   const Object& object) const {
  const Json metadata = metadata_of(object);
  DependentWorld world{.key = key,
                       .uid = std::string(object.uid()),
                       .revision = object.revision(),
                       .finalizers = texts(list_at(metadata, {"finalizers"})),
                       .owner_references = list_at(metadata, {"ownerReferences"}),
                       .owners = {},
                       .has_dependents = !client_.dependents(object.uid()).empty()};
  for (const OwnerRef& owner : object.owners())
    world.owners.push_back(state_of(owner, object.ns()));
  check(world.owners.size() == world.owner_references.size(), "every owner reference is known");
  return world;
}

OwnerWorld GarbageCollector::observe_owner(const ObjectKey& key, const Object& object) const {
  const Json metadata = metadata_of(object);
  OwnerWorld world{.key = key,
                   .uid = std::string(object.uid()),
                   .revision = object.revision(),
                   .finalizers = texts(list_at(metadata, {"finalizers"})),
                   .owner_references = list_at(metadata, {"ownerReferences"}),
                   .dependents = {}};
  const bool orphans =
      std::ranges::find(world.finalizers, kOrphanFinalizer) != world.finalizers.end();
  if (!orphans &&
      std::ranges::find(world.finalizers, kForegroundFinalizer) == world.finalizers.end())
    return world;
  for (const Client::Dependent& dependent : client_.dependents(object.uid())) {
    if (blocks(*dependent.object, object, key.resource)) ++world.blocking_dependents;
    if (!orphans || world.dependents.size() >= kMostOrphansPerPass) continue;
    const Json its_metadata = metadata_of(*dependent.object);
    world.dependents.push_back({key_of(dependent.resource, *dependent.object),
                                std::string(dependent.object->uid()), dependent.object->revision(),
                                list_at(its_metadata, {"ownerReferences"})});
  }
  if (!orphans && world.blocking_dependents > 0)
    world.waits_in_circle = waits_in_circle(key, object);
  return world;
}

OwnerState GarbageCollector::state_of(const OwnerRef& owner, std::string_view dependent_ns) const {
  const Resource resource = resource_of(owner);
  const auto served = client_.served(resource);
  if (!served) return OwnerState::Unresolved;
  // A cluster-scoped object cannot say which namespace it means; upstream (1.20) leaves it alone.
  if (served->namespaced && dependent_ns.empty()) return OwnerState::Unresolved;
  const ObjectPtr found = client_.get(resource, served->namespaced ? dependent_ns : "", owner.name);
  if (found == nullptr || found->uid() != owner.uid) return OwnerState::Absent;
  return waits_for_dependents(*found) ? OwnerState::WaitsForDependents : OwnerState::Solid;
}

// A reference that names another kind, name or namespace than this owner's does not lead to it,
// whatever its uid says; its dependent is judged by what it does lead to.
bool GarbageCollector::blocks(const Object& dependent, const Object& owner,
                              const Resource& owner_resource) const {
  if (!owner.ns().empty() && owner.ns() != dependent.ns()) return false;
  return std::ranges::any_of(dependent.owners(), [&](const OwnerRef& reference) {
    return reference.block_owner_deletion && reference.uid == owner.uid() &&
           reference.name == owner.name() && reference.kind == owner_resource.kind &&
           group_of(reference.api_version) == group_of(owner_resource.api_version) &&
           client_.served(resource_of(reference)).has_value();
  });
}

bool GarbageCollector::waits_in_circle(const ObjectKey& key, const Object& object) const {
  struct Waiting {
    Resource resource;
    ObjectPtr object;
  };
  std::deque<Waiting> left;
  std::unordered_set<std::string> seen;
  const auto follow = [&](const Object& owner, const Resource& resource) {
    for (Client::Dependent& dependent : client_.dependents(owner.uid())) {
      if (!blocks(*dependent.object, owner, resource) || !waits_for_dependents(*dependent.object))
        continue;
      if (dependent.object->uid() == object.uid()) return true;
      if (seen.size() < kMostInCircle && seen.emplace(dependent.object->uid()).second) {
        left.push_back({std::move(dependent.resource), std::move(dependent.object)});
      }
    }
    return false;
  };
  if (follow(object, key.resource)) return true;
  while (!left.empty()) {
    const Waiting next = std::move(left.front());
    left.pop_front();
    if (follow(*next.object, next.resource)) return true;
  }
  return false;
}

void GarbageCollector::hear(const ObjectEvent& event) {
  const Object& object = *event.object;
  if (event.resource.kind == "CustomResourceDefinition") {
    for (const ObjectKey& key : unresolved_)
      controller_.add_after(key, kServedDelay);
  }
  if (event.type == ObjectEvent::Type::Deleted) {
    add_dependents(object);
    add_waiting_owners(object);
    return;
  }
  if (object.is_being_deleted()) {
    if (object.has_finalizers()) {
      controller_.add(key_of(event.resource, object));
      const bool waited = event.previous != nullptr && waits_for_dependents(*event.previous);
      if (!waited && waits_for_dependents(object)) add_dependents(object);
    }
  }
  const auto owners_before =
      event.previous != nullptr ? event.previous->owners() : std::vector<OwnerRef>();
  if (std::ranges::equal(owners_before, object.owners(), same_owner)) return;
  check_owners(event.resource, object);
  if (event.previous != nullptr) add_waiting_owners(*event.previous);
}

// Most objects come with owners that are there: they cost a look and no place in the queue.
void GarbageCollector::check_owners(const Resource& resource, const Object& object) {
  for (const OwnerRef& owner : object.owners()) {
    if (state_of(owner, object.ns()) == OwnerState::Solid) continue;
    controller_.add(key_of(resource, object));
    return;
  }
}

void GarbageCollector::add_dependents(const Object& owner) {
  for (const Client::Dependent& dependent : client_.dependents(owner.uid()))
    controller_.add(key_of(dependent.resource, *dependent.object));
}

void GarbageCollector::add_waiting_owners(const Object& dependent) {
  for (const OwnerRef& owner : dependent.owners()) {
    const Resource resource = resource_of(owner);
    const auto served = client_.served(resource);
    if (!served) continue;
    const std::string_view ns = served->namespaced ? dependent.ns() : "";
    const ObjectPtr found = client_.get(resource, ns, owner.name);
    if (found == nullptr || !found->is_being_deleted() || !found->has_finalizers()) continue;
    controller_.add_after({resource, std::string(ns), std::string(owner.name)}, kOwnerDelay);
  }
}

struct GarbageCollector::Sweep {
  std::vector<Resource> resources;
  std::vector<ObjectPtr> objects;  // of the last resource, what is left
};

void GarbageCollector::begin_sweep() {
  if (is_sweeping_) return;
  is_sweeping_ = true;
  const auto sweep = std::make_shared<Sweep>(Sweep{client_.resources(false), {}});
  loop_.post([this, sweep, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) sweep_slice(sweep);
  });
}

void GarbageCollector::sweep_slice(const std::shared_ptr<Sweep>& sweep) {
  for (size_t seen = 0; seen < kObjectsPerSlice;) {
    if (sweep->objects.empty()) {
      if (sweep->resources.empty()) {
        is_sweeping_ = false;
        return;
      }
      sweep->objects = client_.list(sweep->resources.back());
      if (sweep->objects.empty()) sweep->resources.pop_back();
      ++seen;
      continue;
    }
    const Resource& resource = sweep->resources.back();
    for (; seen < kObjectsPerSlice && !sweep->objects.empty(); ++seen) {
      const Object& object = *sweep->objects.back();
      if (object.is_being_deleted() && object.has_finalizers())
        controller_.add(key_of(resource, object));
      if (object.has_owners()) check_owners(resource, object);
      sweep->objects.pop_back();
    }
    if (sweep->objects.empty()) sweep->resources.pop_back();
  }
  loop_.post([this, sweep, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) sweep_slice(sweep);
  });
}

}  // namespace yard
