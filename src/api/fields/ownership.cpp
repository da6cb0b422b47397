#include "api/fields/ownership.h"

#include <algorithm>
#include <array>

#include "api/fields/fields_v1.h"

namespace yard {
namespace {

bool is_object_or_nothing(const Json* value) {
  return value == nullptr || value->is_object() || value->is_null();
}

bool is_list_or_nothing(const Json* value) {
  return value == nullptr || value->is_array() || value->is_null();
}

bool is_object(const Json* value) {
  return value != nullptr && value->is_object();
}

ItemProblem name_keyed_item(const Schema& list, const Json& item, std::string& text) {
  if (item.is_null()) return ItemProblem::NullItem;
  const JsonObject* object = item.if_object();
  if (object == nullptr) return ItemProblem::NotAnObject;
  const std::vector<std::string>* keys = &list.list_keys;
  std::vector<std::string> sorted;
  if (!std::is_sorted(keys->begin(), keys->end())) {
    sorted = *keys;
    std::sort(sorted.begin(), sorted.end());
    keys = &sorted;
  }
  bool is_first = true;
  for (const std::string& key : *keys) {
    const Json* value = object->if_contains(key);
    if (value == nullptr && list.items != nullptr) {
      const Field* field = list.items->field(key);
      if (field != nullptr && field->schema != nullptr && !field->schema->default_value.is_null()) {
        value = &field->schema->default_value;
      }
    }
    if (value == nullptr) continue;
    text += is_first ? '{' : ',';
    is_first = false;
    append_quoted(text, key);
    text += ':';
    append_sorted_text(text, *value);
  }
  if (is_first) return ItemProblem::NoKeys;
  text += '}';
  return ItemProblem::None;
}

ItemProblem name_set_item(const Json& item, std::string& text) {
  if (item.is_object()) return ItemProblem::MapInSet;
  if (item.is_array()) return ItemProblem::ListInSet;
  if (item.is_null()) return ItemProblem::NullInSet;
  append_text(text, item);
  return ItemProblem::None;
}

constexpr FieldNode member(std::string_view name) {
  FieldNode node;
  node.text = name;
  node.marks = kMember;
  node.set_order();
  return node;
}

}  // namespace

Grain grain_of(const Schema* schema, const Json* left, const Json* right) {
  if (schema == nullptr || (schema->type == Schema::Type::Any && schema->preserve_unknown)) {
    const bool fits = is_object_or_nothing(left) && is_object_or_nothing(right);
    return fits && (is_object(left) || is_object(right)) ? Grain::Map : Grain::Leaf;
  }
  switch (schema->type) {
    case Schema::Type::Struct:
    case Schema::Type::Map:
      if (schema->atomic || !is_object_or_nothing(left) || !is_object_or_nothing(right)) {
        return Grain::Leaf;
      }
      return Grain::Map;
    case Schema::Type::List:
      if (schema->list_type == Schema::ListType::Atomic || !is_list_or_nothing(left) ||
          !is_list_or_nothing(right)) {
        return Grain::Leaf;
      }
      return schema->list_type == Schema::ListType::Set ? Grain::SetList : Grain::KeyedList;
    default: return Grain::Leaf;
  }
}

const Field* member_field(const Schema* schema, std::string_view name) {
  if (schema == nullptr || schema->type != Schema::Type::Struct) return nullptr;
  return schema->field(name);
}

const Schema* member_schema(const Schema* schema, const Field* field) {
  if (field != nullptr) return field->schema;
  return schema != nullptr && schema->type == Schema::Type::Map ? schema->items : nullptr;
}

ItemProblem name_item(const Schema& list, const Json& item, std::string& text) {
  text.clear();
  return list.list_type == Schema::ListType::Set ? name_set_item(item, text)
                                                 : name_keyed_item(list, item, text);
}

std::vector<NamedItem> named_items(FieldArena& arena, const Schema& list, const Json* value) {
  std::vector<NamedItem> items;
  const JsonArray* array = value == nullptr ? nullptr : value->if_array();
  if (array == nullptr) return items;
  items.reserve(array->size());
  std::string text;
  uint32_t position = 0;
  for (const Json& item : *array) {
    if (name_item(list, item, text) == ItemProblem::None) {
      items.push_back({arena.keep(text), &item, position});
    }
    ++position;
  }
  return items;
}

void sort_by_name(std::vector<NamedItem>& items) {
  std::sort(items.begin(), items.end(), [](const NamedItem& left, const NamedItem& right) {
    const int order = left.name.compare(right.name);
    return order != 0 ? order < 0 : left.position < right.position;
  });
}

ElementKind item_kind(const Schema& list) {
  return list.list_type == Schema::ListType::Set ? ElementKind::Value : ElementKind::Key;
}

FieldNodes untracked_fields() {
  static constexpr std::array kMetadata = {member("clusterName"),
                                           member("creationTimestamp"),
                                           member("generation"),
                                           member("managedFields"),
                                           member("name"),
                                           member("namespace"),
                                           member("resourceVersion"),
                                           member("selfLink"),
                                           member("uid")};
  static const std::array kRoot = [] {
    std::array root = {member("apiVersion"), member("kind"), member("metadata")};
    root[2].children = {kMetadata.data(), kMetadata.size()};
    return root;
  }();
  return {kRoot.data(), kRoot.size()};
}

}  // namespace yard
