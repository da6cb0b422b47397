#include "api/fields/object_fields.h"

#include <algorithm>

namespace yard {
namespace {

class Collector {
 public:
  explicit Collector(FieldArena& arena) : arena_(arena) {}

  void collect(const Schema* schema, const Json& value, FieldNode& node) {
    switch (grain_of(schema, &value, nullptr)) {
      case Grain::Leaf: node.marks = kMember; return;
      case Grain::Map: node.children = members(schema, value); return;
      case Grain::KeyedList:
      case Grain::SetList: node.children = items(*schema, value); return;
    }
  }

  FieldNodes members(const Schema* schema, const Json& value) {
    const JsonObject* object = value.if_object();
    if (object == nullptr) return {};
    const size_t level = arena_.level();
    for (const auto& member : *object) {
      FieldNode node;
      node.text = plain_view(member.key());
      const Field* field = member_field(schema, node.text);
      collect(member_schema(schema, field), member.value(), node);
      if (field == nullptr || is_empty(member.value())) node.marks = kMember;
      arena_.push(node);
    }
    return arena_.take(level);
  }

 private:
  static bool is_empty(const Json& value) {
    return value.is_null() || (value.is_object() && value.get_object().empty());
  }

  FieldNodes items(const Schema& list, const Json& value) {
    std::vector<NamedItem> named = named_items(arena_, list, &value);
    sort_by_name(named);
    const size_t level = arena_.level();
    for (size_t i = 0; i < named.size();) {
      size_t next = i + 1;
      while (next < named.size() && named[next].name == named[i].name)
        ++next;
      FieldNode node;
      node.kind = item_kind(list);
      node.text = named[i].name;
      if (next == i + 1) collect(list.items, *named[i].value, node);
      node.marks = kMember;
      arena_.push(node);
      i = next;
    }
    return arena_.take_sorted(level);
  }

  FieldArena& arena_;
};

bool is_emptied(const Json& value) {
  return (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

void remove_members(JsonObject& object, FieldNodes set, const Schema* schema) {
  for (const FieldNode& node : set) {
    if (node.kind != ElementKind::Field) continue;
    const auto found = object.find(node.text);
    if (found == object.end()) continue;
    if (node.marks != 0) {
      object.stable_erase(found);
      continue;
    }
    if (is_emptied(found->value())) continue;
    remove_fields(found->value(), node.children,
                  member_schema(schema, member_field(schema, node.text)));
    if (is_emptied(found->value())) object.stable_erase(found);
  }
}

void remove_items(JsonArray& array, FieldNodes set, const Schema& list) {
  std::string name;
  JsonArray kept(array.storage());
  kept.reserve(array.size());
  for (Json& item : array) {
    const bool has_name = name_item(list, item, name) == ItemProblem::None;
    const FieldNode* node = has_name ? find_node(set, item_kind(list), name) : nullptr;
    if (node != nullptr && node->marks != 0) continue;
    if (node != nullptr) remove_fields(item, node->children, list.items);
    kept.push_back(std::move(item));
  }
  array = std::move(kept);
}

}  // namespace

FieldNodes fields_of(FieldArena& arena, const Json& object, const Schema& schema) {
  return Collector(arena).members(&schema, object);
}

FieldNodes with_structs(FieldArena& arena, FieldNodes set, const Schema* schema) {
  if (set.empty()) return set;
  const size_t level = arena.level();
  for (FieldNode node : set) {
    const Schema* below = nullptr;
    if (node.kind == ElementKind::Field) {
      const Field* field = member_field(schema, node.text);
      if (field != nullptr) node.marks |= kMember;
      below = member_schema(schema, field);
    } else if (schema != nullptr && schema->type == Schema::Type::List) {
      below = schema->items;
    }
    node.children = with_structs(arena, node.children, below);
    arena.push(node);
  }
  return arena.take_sorted(level);
}

void remove_fields(Json& value, FieldNodes set, const Schema* schema) {
  if (set.empty()) return;
  switch (grain_of(schema, &value, nullptr)) {
    case Grain::Leaf: return;
    case Grain::Map:
      if (JsonObject* object = value.if_object()) remove_members(*object, set, schema);
      return;
    case Grain::KeyedList:
    case Grain::SetList:
      if (JsonArray* array = value.if_array()) remove_items(*array, set, *schema);
      return;
  }
}

}  // namespace yard
