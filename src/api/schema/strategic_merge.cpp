#include "api/schema/strategic_merge.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "api/schema/go_print.h"

namespace yard {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetElementOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";

bool is_directive(std::string_view key) {
  return key == kPatch || key == kRetainKeys || key.starts_with(kSetElementOrder) ||
         key.starts_with(kDeleteFromList);
}

std::string_view patch_directive(const Json& element) {
  const Json* directive = find(element, kPatch);
  return directive != nullptr && directive->is_string() ? std::string_view(directive->get_string())
                                                        : "";
}

bool has_patch_directive(const Json& element) {
  return find(element, kPatch) != nullptr;
}

// The part of a patch that is a value: no nulls in maps, no directives; null when nothing is left.
Json plain_value(const Json& patch) {
  if (const JsonObject* object = patch.if_object()) {
    if (has_patch_directive(patch)) return nullptr;
    JsonObject plain;
    plain.reserve(object->size());
    for (const auto& member : *object) {
      if (is_directive(member.key())) continue;
      Json value = plain_value(member.value());
      if (!value.is_null()) plain.emplace(member.key(), std::move(value));
    }
    return plain;
  }
  if (const JsonArray* array = patch.if_array()) {
    JsonArray plain;
    plain.reserve(array->size());
    for (const Json& element : *array) {
      if (!has_patch_directive(element)) plain.push_back(plain_value(element));
    }
    return plain;
  }
  return patch;
}

// A patch that replaces a map: its own marker goes.
Json replacement(const JsonObject& patch) {
  JsonObject plain;
  plain.reserve(patch.size());
  for (const auto& member : patch) {
    if (is_directive(member.key())) continue;
    Json value = plain_value(member.value());
    if (!value.is_null()) plain.emplace(member.key(), std::move(value));
  }
  return plain;
}

const Schema* member_schema(const Schema* schema, std::string_view key) {
  if (schema == nullptr) return nullptr;
  if (schema->type == Schema::Type::Map) return schema->items;
  if (schema->type != Schema::Type::Struct) return nullptr;
  const Field* field = schema->field(key);
  return field != nullptr ? field->schema : nullptr;
}

// Which element of a list is which: the merge key's value, or the scalar itself.
class Identity {
 public:
  explicit Identity(const Schema& list) : key_(list.patch_merge_key) {}

  bool is_keyed() const { return !key_.empty(); }
  const std::string& key() const { return key_; }
  // Empty for an element that is not of the list's sort or lacks the key; no JSON text is empty.
  std::string of(const Json& element) const {
    if (key_.empty()) return element.is_structured() || element.is_null() ? "" : to_text(element);
    const Json* value = find(element, key_);
    return value != nullptr && !value->is_null() ? to_text(*value) : "";
  }

 private:
  const std::string& key_;
};

using Places = std::unordered_map<std::string, size_t>;

Places places_of(const JsonArray& list, const Identity& identity) {
  Places places;
  places.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    std::string id = identity.of(list[i]);
    if (!id.empty()) places.emplace(std::move(id), i);
  }
  return places;
}

constexpr size_t kNowhere = static_cast<size_t>(-1);

size_t place_in(const Places& places, const std::string& id) {
  const auto found = places.find(id);
  return found == places.end() ? kNowhere : found->second;
}

struct Ordered {
  std::string id;
  Json value;
};

// Elements the patch names follow `wanted`; those only the server has keep their place of `before`
// relative to the others, and come after where nothing relates them.
JsonArray in_order(JsonArray merged, const Places& wanted, const Places& before,
                   const Identity& identity) {
  std::vector<Ordered> named, server_only;
  for (Json& element : merged) {
    std::string id = identity.of(element);
    auto& part = wanted.contains(id) ? named : server_only;
    part.push_back({std::move(id), std::move(element)});
  }
  const auto sort_by = [](std::vector<Ordered>& part, const Places& places) {
    std::stable_sort(part.begin(), part.end(), [&](const Ordered& left, const Ordered& right) {
      return place_in(places, left.id) < place_in(places, right.id);
    });
  };
  sort_by(named, wanted);
  sort_by(server_only, before);
  JsonArray result;
  result.reserve(merged.size());
  size_t next = 0;
  for (Ordered& element : named) {
    const size_t place = place_in(before, element.id);
    while (next < server_only.size() && place != kNowhere &&
           place_in(before, server_only[next].id) < place) {
      result.push_back(std::move(server_only[next++].value));
    }
    result.push_back(std::move(element.value));
  }
  for (; next < server_only.size(); ++next)
    result.push_back(std::move(server_only[next].value));
  return result;
}

// Functions answer false once `failure` is set.
class Merger {
 public:
  // `schema` is null below what the tables describe: maps merge, lists are replaced.
  bool merge_object(JsonObject& target, const JsonObject& patch, const Schema* schema);

  Error failure;

 private:
  bool retain_keys(JsonObject& target, const JsonObject& patch, const Json& keys);
  bool merge_ordered_list(JsonObject& target, const JsonObject& patch, std::string_view name,
                          const Json& order, const Schema* schema);
  bool merge_member(JsonObject& target, std::string_view key, const Json& patch,
                    const Schema* schema);
  bool delete_from_list(JsonObject& target, std::string_view name, const Json& values);
  bool merge_list(JsonArray& target, const JsonArray& patch, const Schema& schema);
  bool merge_elements(JsonArray& target, const std::vector<const Json*>& elements,
                      const Schema& schema);
  bool checked_elements(const JsonArray& patch, const Identity& identity);
  bool follows_order(const JsonArray& patch, const JsonArray& order, const Identity& identity);

  bool fail(std::string message) {
    failure = error(Reason::BadRequest, std::move(message));
    return false;
  }
};

bool Merger::merge_object(JsonObject& target, const JsonObject& patch, const Schema* schema) {
  if (const auto marker = patch.find(kPatch); marker != patch.end()) {
    const std::string_view directive =
        marker->value().is_string() ? std::string_view(marker->value().get_string()) : "";
    if (directive != "replace" && directive != "delete") {
      return fail(fmt::format("unknown patch type: {} in map: {}", go_print(marker->value()),
                              go_print(patch)));
    }
    Json whole = directive == "replace" ? replacement(patch) : Json(JsonObject());
    target = std::move(whole.get_object());
    return true;
  }
  if (const auto keys = patch.find(kRetainKeys); keys != patch.end()) {
    if (!retain_keys(target, patch, keys->value())) return false;
  }
  for (const auto& member : patch) {
    std::string_view name = member.key();
    if (!name.starts_with(kSetElementOrder)) continue;
    name.remove_prefix(kSetElementOrder.size());
    if (!merge_ordered_list(target, patch, name, member.value(), member_schema(schema, name)))
      return false;
  }
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    if (key.starts_with(kDeleteFromList)) {
      if (!delete_from_list(target, key.substr(kDeleteFromList.size()), member.value()))
        return false;
    } else if (!is_directive(key) &&
               !patch.contains(std::string(kSetElementOrder) + std::string(key))) {
      if (!merge_member(target, key, member.value(), member_schema(schema, key))) return false;
    }
  }
  return true;
}

bool Merger::retain_keys(JsonObject& target, const JsonObject& patch, const Json& keys) {
  constexpr const char* kWrong = "invalid patch format of retainKeys";
  if (!keys.is_array()) return fail(kWrong);
  std::unordered_map<std::string_view, bool> retained;
  for (const Json& key : keys.get_array()) {
    if (key.is_string()) retained.emplace(key.get_string(), true);
  }
  for (const auto& member : patch) {
    const bool is_value = !member.value().is_null() && !is_directive(member.key());
    if (is_value && !retained.contains(member.key())) return fail(kWrong);
  }
  JsonObject kept;
  for (auto& member : target) {
    if (retained.contains(member.key())) kept.emplace(member.key(), std::move(member.value()));
  }
  target = std::move(kept);
  return true;
}

bool Merger::merge_ordered_list(JsonObject& target, const JsonObject& patch, std::string_view name,
                                const Json& order, const Schema* schema) {
  if (!order.is_array() || schema == nullptr || schema->type != Schema::Type::List ||
      !schema->patch_merge) {
    return fail("invalid patch format of setElementOrder list");
  }
  const auto live = target.find(name);
  const auto change = patch.find(name);
  const bool has_live = live != target.end();
  const bool has_change = change != patch.end();
  if (has_change && change->value().is_null()) {
    target.erase(name);
    return true;
  }
  if ((has_live && !live->value().is_array()) || (has_change && !change->value().is_array())) {
    return fail(fmt::format("expected a list for {}", name));
  }
  if (!has_live && !has_change) return true;
  const Identity identity(*schema);
  if (has_change && !follows_order(change->value().get_array(), order.get_array(), identity))
    return false;

  JsonArray merged;
  Places before;
  if (has_live) {
    before = places_of(live->value().get_array(), identity);
    merged = std::move(live->value().get_array());
    if (has_change && !merge_list(merged, change->value().get_array(), *schema)) return false;
  } else {
    if (!checked_elements(change->value().get_array(), identity)) return false;
    merged = std::move(plain_value(change->value()).get_array());
  }
  const Places wanted = places_of(order.get_array(), identity);
  target.insert_or_assign(name, in_order(std::move(merged), wanted, before, identity));
  return true;
}

// The elements a patch sets must stand in the order it asks for.
bool Merger::follows_order(const JsonArray& patch, const JsonArray& order,
                           const Identity& identity) {
  const Places places = places_of(order, identity);
  size_t last = 0;
  for (const Json& element : patch) {
    if (has_patch_directive(element)) continue;
    const size_t place = place_in(places, identity.of(element));
    if (place == kNowhere || place < last) {
      return fail(
          fmt::format("The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                      go_print(patch), go_print(order)));
    }
    last = place;
  }
  return true;
}

bool Merger::merge_member(JsonObject& target, std::string_view key, const Json& patch,
                          const Schema* schema) {
  if (patch.is_null()) {
    if (const auto found = target.find(key); found != target.end()) target.stable_erase(found);
    return true;
  }
  const auto live = target.find(key);
  const bool both_objects = live != target.end() && live->value().is_object() && patch.is_object();
  const bool both_lists = live != target.end() && live->value().is_array() && patch.is_array();
  if (both_objects) {
    if (schema != nullptr && schema->patch_replace) {
      live->value() = replacement(patch.get_object());
      return true;
    }
    return merge_object(live->value().get_object(), patch.get_object(), schema);
  }
  if (both_lists && schema != nullptr && schema->type == Schema::Type::List &&
      schema->patch_merge) {
    return merge_list(live->value().get_array(), patch.get_array(), *schema);
  }
  if (both_lists) {
    live->value() = patch;
    return true;
  }
  Json value = plain_value(patch);
  if (!value.is_null()) {
    target.insert_or_assign(key, std::move(value));
  } else if (live != target.end()) {
    target.stable_erase(live);
  }
  return true;
}

bool Merger::delete_from_list(JsonObject& target, std::string_view name, const Json& values) {
  if (!values.is_array()) return fail("invalid patch format of primitive list");
  const auto live = target.find(name);
  if (live == target.end() || !live->value().is_array()) return true;
  const Schema scalars;
  const Identity identity(scalars);
  const Places unwanted = places_of(values.get_array(), identity);
  JsonArray kept;
  for (Json& element : live->value().get_array()) {
    if (!unwanted.contains(identity.of(element))) kept.push_back(std::move(element));
  }
  live->value() = std::move(kept);
  return true;
}

bool Merger::checked_elements(const JsonArray& patch, const Identity& identity) {
  for (const Json& element : patch) {
    if (identity.is_keyed() ? !element.is_object() : element.is_structured()) {
      return fail(
          identity.is_keyed()
              ? fmt::format("expected a map, but received {}", go_print(element))
              : fmt::format("cannot merge lists without merge key for {}", go_print(element)));
    }
    if (identity.of(element).empty() && patch_directive(element) != "replace") {
      return fail(fmt::format("map: {} does not contain declared merge key: {}", go_print(element),
                              identity.key()));
    }
  }
  return true;
}

bool Merger::merge_list(JsonArray& target, const JsonArray& patch, const Schema& schema) {
  const Identity identity(schema);
  if (!checked_elements(patch, identity)) return false;
  std::vector<const Json*> elements;  // without those that carry a directive
  Places deleted;
  bool replace = false;
  for (const Json& element : patch) {
    if (!has_patch_directive(element)) {
      elements.push_back(&element);
      continue;
    }
    const std::string_view directive = patch_directive(element);
    if (directive == "replace") {
      replace = true;
    } else if (directive == "delete") {
      deleted.emplace(identity.of(element), 0);
    } else {
      return fail(fmt::format("unknown patch type: {} in map: {}", directive, go_print(element)));
    }
  }
  if (replace) {
    target.clear();
    for (const Json* element : elements)
      target.push_back(plain_value(*element));
    return true;
  }
  if (!deleted.empty()) {
    JsonArray kept;
    for (Json& element : target) {
      if (!deleted.contains(identity.of(element))) kept.push_back(std::move(element));
    }
    target = std::move(kept);
  }
  return merge_elements(target, elements, schema);
}

bool Merger::merge_elements(JsonArray& target, const std::vector<const Json*>& elements,
                            const Schema& schema) {
  const Identity identity(schema);
  const Places before = places_of(target, identity);
  Places known = before;
  Places wanted;
  for (const Json* element : elements) {
    std::string id = identity.of(*element);
    wanted.emplace(id, wanted.size());
    const size_t place = place_in(known, id);
    if (place == kNowhere) {
      known.emplace(std::move(id), target.size());
      target.push_back(plain_value(*element));
    } else if (identity.is_keyed() && target[place].is_object()) {
      if (!merge_object(target[place].get_object(), element->get_object(), schema.items))
        return false;
    }
  }
  target = in_order(std::move(target), wanted, before, identity);
  return true;
}

}  // namespace

Result<void> apply_strategic_merge_patch(Json& target, const Json& patch, const Schema& schema) {
  if (!target.is_object() || !patch.is_object())
    return error(Reason::BadRequest, "invalid JSON document");
  JsonObject merged = target.get_object();
  Merger merger;
  if (!merger.merge_object(merged, patch.get_object(), &schema)) return std::move(merger.failure);
  target = std::move(merged);
  return {};
}

}  // namespace yard
