#include "store/dependents.h"

#include <algorithm>

namespace yard {
namespace {

std::vector<std::string_view> owner_uids(const Object* object) {
  std::vector<std::string_view> uids;
  if (!object || !object->has_owners()) return uids;
  for (const OwnerRef& owner : object->owners())
    uids.push_back(owner.uid);
  return uids;
}

}  // namespace

bool Dependents::Place::operator<(const Place& other) const {
  if (table != other.table) return table->storage() < other.table->storage();
  return ObjectNameLess{}(object->first, other.object->first);
}

void Dependents::change(const Table& table, const ObjectMap::value_type& place,
                        const Object* previous, const Object* next) {
  const auto before = owner_uids(previous), after = owner_uids(next);
  if (before == after) return;
  for (const std::string_view uid : before) {
    const auto found = places_.find(uid);
    if (found == places_.end()) continue;
    found->second.erase({&table, &place});
    if (found->second.empty()) places_.erase(found);
  }
  for (const std::string_view uid : after)
    places_[std::string(uid)].insert({&table, &place});
}

std::vector<std::pair<Key, ObjectPtr>> Dependents::of(std::string_view owner_uid) const {
  std::vector<std::pair<Key, ObjectPtr>> objects;
  const auto found = places_.find(owner_uid);
  if (found == places_.end()) return objects;
  objects.reserve(found->second.size());
  for (const Place& place : found->second) {
    const ObjectNameView name = place.object->first.text;
    objects.emplace_back(Key{place.table->storage(), std::string(name.ns), std::string(name.name)},
                         place.object->second);
  }
  return objects;
}

}  // namespace yard
