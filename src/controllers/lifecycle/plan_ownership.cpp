#include "controllers/lifecycle/plan_ownership.h"

#include <algorithm>

namespace yard {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// Nothing is changed that is not exactly what was observed.
ClientWrite patch_metadata(const ObjectKey& key, const std::string& uid, Revision revision,
                           JsonObject metadata) {
  metadata["uid"] = uid;
  metadata["resourceVersion"] = std::to_string(revision);
  return {ClientWrite::Verb::MergePatch, key.resource, key.ns, key.name,
          JsonObject{{"metadata", std::move(metadata)}}};
}

ClientWrite remove_finalizer(const OwnerWorld& world, std::string_view finalizer) {
  JsonArray left;
  for (const std::string& kept : world.finalizers) {
    if (kept != finalizer) left.emplace_back(kept);
  }
  return patch_metadata(world.key, world.uid, world.revision, {{"finalizers", std::move(left)}});
}

ClientWrite remove_owner(const OwnerWorld::Dependent& dependent, std::string_view owner_uid) {
  JsonArray left;
  for (const Json& reference : dependent.owner_references) {
    if (text_at(reference, {"uid"}) != owner_uid) left.push_back(reference);
  }
  return patch_metadata(dependent.key, dependent.uid, dependent.revision,
                        {{"ownerReferences", std::move(left)}});
}

ClientWrite keep_solid_owners(const DependentWorld& world) {
  JsonArray left;
  for (size_t i = 0; i < world.owners.size(); ++i) {
    if (world.owners[i] == OwnerState::Solid) left.push_back(world.owner_references[i]);
  }
  return patch_metadata(world.key, world.uid, world.revision,
                        {{"ownerReferences", std::move(left)}});
}

ClientWrite stop_blocking_owners(const OwnerWorld& world) {
  JsonArray references = world.owner_references;
  for (Json& reference : references) {
    if (reference.is_object()) reference.get_object()["blockOwnerDeletion"] = false;
  }
  return patch_metadata(world.key, world.uid, world.revision,
                        {{"ownerReferences", std::move(references)}});
}

const char* policy_of(const DependentWorld& world, bool owner_waits) {
  // Its own dependents must go before it, as it must before its owner.
  if (owner_waits && world.has_dependents) return "Foreground";
  if (contains(world.finalizers, kOrphanFinalizer)) return "Orphan";
  if (contains(world.finalizers, kForegroundFinalizer)) return "Foreground";
  return "Background";
}

}  // namespace

Plan plan_dependent(const DependentWorld& world) {
  const auto count = [&](OwnerState state) { return std::ranges::count(world.owners, state); };
  if (world.owners.empty() || count(OwnerState::Unresolved) > 0) return {};
  const auto solid = count(OwnerState::Solid);
  if (solid == static_cast<std::ptrdiff_t>(world.owners.size())) return {};
  if (solid > 0) return {.writes = {keep_solid_owners(world)}, .last = {}, .requeue_after = {}};
  const bool owner_waits = count(OwnerState::WaitsForDependents) > 0;
  JsonObject options{
      {"propagationPolicy", policy_of(world, owner_waits)},
      {"preconditions",
       JsonObject{{"uid", world.uid}, {"resourceVersion", std::to_string(world.revision)}}}};
  return {.writes = {{ClientWrite::Verb::Delete, world.key.resource, world.key.ns, world.key.name,
                      std::move(options)}},
          .last = {},
          .requeue_after = {}};
}

Plan plan_owner(const OwnerWorld& world) {
  Plan plan;
  if (contains(world.finalizers, kOrphanFinalizer)) {
    // The finalizer goes in a pass that sees no dependent left, not together with the last of them:
    // one may have failed.
    for (const OwnerWorld::Dependent& dependent : world.dependents)
      plan.writes.push_back(remove_owner(dependent, world.uid));
    if (plan.writes.empty()) {
      plan.writes.push_back(remove_finalizer(world, kOrphanFinalizer));
    } else {
      plan.requeue_after = Duration::zero();
    }
    return plan;
  }
  if (!contains(world.finalizers, kForegroundFinalizer)) return plan;
  if (world.blocking_dependents == 0) {
    plan.writes.push_back(remove_finalizer(world, kForegroundFinalizer));
  } else if (world.waits_in_circle) {
    plan.writes.push_back(stop_blocking_owners(world));
  }
  return plan;
}

}  // namespace yard
