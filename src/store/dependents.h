#pragma once
// Who names whom as its owner, over all storages. Part of the store.

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "store/table.h"

namespace yard {

class Dependents {
 public:
  // Keeps the index true when the object at `place` goes from `previous` to `next`; either may be
  // null. Call before the place is erased.
  void change(const Table& table, const ObjectMap::value_type& place, const Object* previous,
              const Object* next);
  std::vector<std::pair<Key, ObjectPtr>> of(std::string_view owner_uid) const;

 private:
  // Nodes of a std::map never move, so a place is two pointers; the order is the keys', not the
  // addresses'.
  struct Place {
    const Table* table;
    const ObjectMap::value_type* object;
    bool operator<(const Place& other) const;
  };
  std::unordered_map<std::string, std::set<Place>, StringHash, std::equal_to<>> places_;
};

}  // namespace yard
