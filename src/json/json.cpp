#include "json/json.h"

#include <cmath>
#include <limits>
#include <optional>

namespace yard {

namespace {

bool equal_objects(const JsonObject& left, const JsonObject& right) {
  if (left.size() != right.size()) return false;
  auto guess = right.begin();  // two that are equal mostly list their members in one order
  for (const auto& member : left) {
    const Json* other =
        guess->key() == member.key() ? &guess->value() : right.if_contains(member.key());
    ++guess;
    if (other == nullptr || !equal(member.value(), *other)) return false;
  }
  return true;
}

bool equal_arrays(const JsonArray& left, const JsonArray& right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!equal(left[i], right[i])) return false;
  }
  return true;
}

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

// Exact: a double beside an integer is equal only when it is that very integer, also above 2^53.
bool equal_numbers(const Json& left, const Json& right) {
  if (left.is_double() && right.is_double()) return left.get_double() == right.get_double();
  if (right.is_double()) return equal_numbers(right, left);
  if (left.is_double()) {
    double number = left.get_double();
    if (std::trunc(number) != number) return false;
    if (const int64_t* integer = right.if_int64()) {
      return number >= -kTwoTo63 && number < kTwoTo63 && static_cast<int64_t>(number) == *integer;
    }
    return number >= 0 && number < kTwoTo64 && static_cast<uint64_t>(number) == right.get_uint64();
  }
  if (left.is_int64() && right.is_int64()) return left.get_int64() == right.get_int64();
  if (left.is_uint64() && right.is_uint64()) return left.get_uint64() == right.get_uint64();
  const Json& with_sign = left.is_int64() ? left : right;
  const Json& without_sign = left.is_int64() ? right : left;
  return with_sign.get_int64() >= 0 &&
         static_cast<uint64_t>(with_sign.get_int64()) == without_sign.get_uint64();
}

std::optional<int64_t> whole_number(const Json& value) {
  if (const int64_t* number = value.if_int64()) return *number;
  if (const uint64_t* number = value.if_uint64()) {
    if (*number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(*number);
  }
  if (const double* number = value.if_double()) {
    bool fits = *number >= -kTwoTo63 && *number < kTwoTo63 && std::trunc(*number) == *number;
    if (fits) return static_cast<int64_t>(*number);
  }
  return std::nullopt;
}

}  // namespace

bool equal(const Json& left, const Json& right) {
  if (left.is_number() && right.is_number()) return equal_numbers(left, right);
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case boost::json::kind::object: return equal_objects(left.get_object(), right.get_object());
    case boost::json::kind::array: return equal_arrays(left.get_array(), right.get_array());
    case boost::json::kind::string: return left.get_string() == right.get_string();
    case boost::json::kind::bool_: return left.get_bool() == right.get_bool();
    default: return true;
  }
}

const Json* find(const Json& value, std::string_view key) {
  const JsonObject* object = value.if_object();
  if (object == nullptr) return nullptr;
  // Most objects have a few members. The library looks at them one by one as well, and asks
  // memcmp about each name of the same length.
  constexpr size_t kFew = 16;
  if (object->size() > kFew || key.empty()) return object->if_contains(key);
  for (const auto& member : *object) {
    const std::string_view name = member.key();
    if (name.size() == key.size() && name.back() == key.back() && name == key)
      return &member.value();
  }
  return nullptr;
}

Json* find(Json& value, std::string_view key) {
  return const_cast<Json*>(find(std::as_const(value), key));
}

const Json* find_path(const Json& value, std::initializer_list<std::string_view> keys) {
  const Json* here = &value;
  for (std::string_view key : keys) {
    here = find(*here, key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

Json* find_path(Json& value, std::initializer_list<std::string_view> keys) {
  return const_cast<Json*>(find_path(std::as_const(value), keys));
}

std::string_view text_at(const Json& value, std::initializer_list<std::string_view> keys,
                         std::string_view otherwise) {
  const Json* found = find_path(value, keys);
  if (found == nullptr || !found->is_string()) return otherwise;
  return std::string_view(found->get_string().data(), found->get_string().size());
}

int64_t int_at(const Json& value, std::initializer_list<std::string_view> keys, int64_t otherwise) {
  const Json* found = find_path(value, keys);
  return found == nullptr ? otherwise : whole_number(*found).value_or(otherwise);
}

bool bool_at(const Json& value, std::initializer_list<std::string_view> keys, bool otherwise) {
  const Json* found = find_path(value, keys);
  return found == nullptr || !found->is_bool() ? otherwise : found->get_bool();
}

JsonObject& object_at(JsonObject& parent, std::string_view key) {
  Json& value = parent[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

}  // namespace yard
