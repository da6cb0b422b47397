#include "api/tree.h"

#include <algorithm>

namespace yard {

const JsonArray& list_at(const Json& value, std::initializer_list<std::string_view> path) {
  static const JsonArray empty;
  const Json* found = find_path(value, path);
  return found != nullptr && found->is_array() ? found->get_array() : empty;
}

const JsonObject& map_at(const Json& value, std::initializer_list<std::string_view> path) {
  static const JsonObject empty;
  const Json* found = find_path(value, path);
  return found != nullptr && found->is_object() ? found->get_object() : empty;
}

std::optional<Time> time_at(const Json& value, std::initializer_list<std::string_view> path) {
  std::string_view text = text_at(value, path);
  if (text.empty()) return std::nullopt;
  return parse_rfc3339(text);
}

std::string_view text_of(const Json& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view();
}

std::string_view name_of(const Json& object) {
  return text_at(object, {"metadata", "name"});
}

std::optional<Time> created_at(const Json& object) {
  return time_at(object, {"metadata", "creationTimestamp"});
}

bool is_being_deleted(const Json& object) {
  return !text_at(object, {"metadata", "deletionTimestamp"}).empty();
}

std::string_view condition_status(const Json& object, std::string_view type) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == type) return text_at(condition, {"status"});
  }
  return "";
}

Json& set_missing(JsonObject& parent, std::string_view key, Json value) {
  Json& member = parent[key];
  if (member.is_null()) member = std::move(value);
  return member;
}

JsonObject& section(Json& object, std::string_view name) {
  if (!object.is_object()) object.emplace_object();
  return object_at(object.get_object(), name);
}

void add_text_once(JsonObject& parent, std::string_view key, std::string_view text) {
  Json& member = parent[key];
  if (!member.is_array()) member.emplace_array();
  JsonArray& list = member.get_array();
  bool present = std::ranges::any_of(list, [&](const Json& item) { return text_of(item) == text; });
  if (!present) list.emplace_back(text);
}

void add_finalizer(Json& object, std::string_view finalizer) {
  add_text_once(section(object, "metadata"), "finalizers", finalizer);
}

bool same(const Json* left, const Json* right) {
  auto is_empty = [](const Json* value) {
    return value == nullptr || value->is_null() ||
           (value->is_string() && value->get_string().empty()) ||
           (value->is_array() && value->get_array().empty()) ||
           (value->is_object() && value->get_object().empty());
  };
  if (is_empty(left) || is_empty(right)) return is_empty(left) && is_empty(right);
  return equal(*left, *right);
}

}  // namespace yard
