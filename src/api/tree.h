#pragma once
// Reading and filling of trees that may lack anything: what printers, defaults and validation
// share.

#include <optional>
#include <string_view>

#include "base/time.h"
#include "json/json.h"

namespace yard {

// Empty where there is none; the reference lives as long as the tree.
const JsonArray& list_at(const Json& value, std::initializer_list<std::string_view> path);
const JsonObject& map_at(const Json& value, std::initializer_list<std::string_view> path);
std::optional<Time> time_at(const Json& value, std::initializer_list<std::string_view> path);
std::string_view text_of(const Json& value);  // "" for what is no string

std::string_view name_of(const Json& object);
std::optional<Time> created_at(const Json& object);
bool is_being_deleted(const Json& object);
// status of the condition of that type: True, False, Unknown, or "".
std::string_view condition_status(const Json& object, std::string_view type);

// Writes `value` where the member is absent or null; answers the member.
Json& set_missing(JsonObject& parent, std::string_view key, Json value);
// Members of the object's top, made where missing: spec, metadata, status.
JsonObject& section(Json& object, std::string_view name);
// Appends a text to the list under `key` unless it is there; makes the list.
void add_text_once(JsonObject& parent, std::string_view key, std::string_view text);
void add_finalizer(Json& object, std::string_view finalizer);
// Absent, null and empty count as one another.
bool same(const Json* left, const Json* right);

}  // namespace yard
