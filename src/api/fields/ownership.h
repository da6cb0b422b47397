#pragma once
// How one node of a schema is owned: as one leaf, or by its members or items; and what an item of a
// list is called.

#include <string>
#include <string_view>
#include <vector>

#include "api/fields/field_set.h"
#include "api/schema/schema.h"

namespace yard {

enum class Grain { Leaf, Map, KeyedList, SetList };

// A null schema means that nothing is known (below x-kubernetes-preserve-unknown-fields): objects
// are then owned by their members and lists whole. A value of another type than the schema says is
// one leaf. Either value may be null (absent), not both.
Grain grain_of(const Schema* schema, const Json* left, const Json* right);

// The schema of a member of an object; null when nothing is known of it.
const Schema* member_schema(const Schema* schema, const Field* field);
// The declared field of that name; null for maps and unknown members.
const Field* member_field(const Schema* schema, std::string_view name);

// Why an item of an associative list has no name.
enum class ItemProblem { None, NullItem, NotAnObject, NoKeys, MapInSet, ListInSet, NullInSet };
// `text` becomes the item's path element: {"port":80,"protocol":"TCP"} or "a".
ItemProblem name_item(const Schema& list, const Json& item, std::string& text);

// An item of an associative list, and its name.
struct NamedItem {
  std::string_view name;
  const Json* value = nullptr;
  uint32_t position = 0;
};
// The items that have a name, in the order of the list. `list` may be null or of another type: no
// items.
std::vector<NamedItem> named_items(FieldArena& arena, const Schema& list, const Json* value);
// By name, those of one name in the order of the list.
void sort_by_name(std::vector<NamedItem>& items);

ElementKind item_kind(const Schema& list);

// The never tracked paths: apiVersion, kind, metadata itself and what the server fills there.
FieldNodes untracked_fields();

inline std::string_view plain_view(boost::json::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view plain_view(const boost::json::string& text) {
  return {text.data(), text.size()};
}

}  // namespace yard
