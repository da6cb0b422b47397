#pragma once
// A reader of the JSON our own server writes: small enough for an executable of which hundreds run
// at once.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shim {

struct Value {
  // Defined where Value is complete: clang looks into its own members' pair before that.
  Value();
  ~Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;

  enum class Type { Null, Bool, Number, Text, List, Object };
  Type type = Type::Null;
  bool boolean = false;
  int64_t number = 0;  // whole numbers only: the server writes no others
  std::string text;
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> members;
  const Value& operator[](std::string_view key) const;  // Null where there is none
};

bool parse(std::string_view text, Value& out);

}  // namespace shim
