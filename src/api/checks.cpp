#include "api/checks.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace yard {

int64_t int_of(const Json& value) {
  if (const int64_t* number = value.if_int64()) return *number;
  if (const uint64_t* number = value.if_uint64()) {
    return static_cast<int64_t>(std::min<uint64_t>(*number, std::numeric_limits<int64_t>::max()));
  }
  return 0;
}

std::string_view text_in(const JsonObject& object, std::string_view key) {
  const Json* member = object.if_contains(key);
  return member ? text_of(*member) : std::string_view();
}

bool bool_in(const JsonObject& object, std::string_view key) {
  const Json* member = object.if_contains(key);
  const bool* value = member ? member->if_bool() : nullptr;
  return value && *value;
}

const JsonArray& array_at(const Json& value, std::string_view key) {
  static const JsonArray kNone;
  const Json* member = find(value, key);
  const JsonArray* array = member ? member->if_array() : nullptr;
  return array ? *array : kNone;
}

const JsonObject& members_of(const Json* value) {
  static const JsonObject kNone;
  const JsonObject* object = value ? value->if_object() : nullptr;
  return object ? *object : kNone;
}

const JsonObject& members_at(const Json& value, std::string_view key) {
  return members_of(find(value, key));
}

void check_not_negative(FieldErrors& errors, const Json& parent, const char* key,
                        const FieldPath& path) {
  if (int_at(parent, {key}) >= 0) return;
  errors.push_back(invalid(path.child(key), *find(parent, key), kNotNegative));
}

void check_within(FieldErrors& errors, const Json& parent, const char* key, const FieldPath& path,
                  int64_t least, int64_t most) {
  const Json* value = find(parent, key);
  if (!value) return;
  const int64_t number = int_at(parent, {key});
  if (number >= least && number <= most) return;
  errors.push_back(invalid(path.child(key), *value,
                           fmt::format("must be between {} and {}, inclusive", least, most)));
}

void check_supported(FieldErrors& errors, const Json& parent, const char* key,
                     const FieldPath& path, const std::vector<std::string>& supported) {
  const Json* value = find(parent, key);
  if (!value || std::ranges::find(supported, text_of(*value)) != supported.end()) return;
  errors.push_back(not_supported(path.child(key), *value, supported));
}

void require_supported(FieldErrors& errors, const Json& parent, const char* key,
                       const FieldPath& path, const std::vector<std::string>& supported) {
  if (text_at(parent, {key}).empty()) {
    errors.push_back(required(path.child(key)));
  } else {
    check_supported(errors, parent, key, path, supported);
  }
}

void require_member(FieldErrors& errors, const Json& parent, const char* key,
                    const FieldPath& path) {
  if (text_at(parent, {key}).empty()) errors.push_back(required(path.child(key)));
}

void check_immutable(FieldErrors& errors, const Json& parent, const Json& live, const char* key,
                     const FieldPath& path) {
  const Json* value = find(parent, key);
  if (same(value, find(live, key))) return;
  errors.push_back(invalid(path.child(key), value ? *value : Json(), kFieldIsImmutable));
}

}  // namespace yard
