#include "api/schema/go_print.h"

#include <algorithm>

namespace yard {
namespace {

constexpr size_t kMostBytes = 500;

void append(std::string& out, const Json& value) {
  if (out.size() > kMostBytes) return;
  if (const JsonObject* object = value.if_object()) {
    std::vector<const JsonObject::value_type*> members;
    members.reserve(object->size());
    for (const auto& member : *object)
      members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](auto* left, auto* right) { return left->key() < right->key(); });
    out += "map[";
    for (size_t i = 0; i < members.size() && out.size() <= kMostBytes; ++i) {
      if (i > 0) out += ' ';
      out.append(members[i]->key().data(), members[i]->key().size());
      out += ':';
      append(out, members[i]->value());
    }
    out += ']';
  } else if (const JsonArray* array = value.if_array()) {
    out += '[';
    for (size_t i = 0; i < array->size() && out.size() <= kMostBytes; ++i) {
      if (i > 0) out += ' ';
      append(out, (*array)[i]);
    }
    out += ']';
  } else if (value.is_string()) {
    out.append(value.get_string().data(), std::min<size_t>(value.get_string().size(), kMostBytes));
  } else {
    out += value.is_null() ? "<nil>" : to_text(value);
  }
}

}  // namespace

std::string go_print(const Json& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace yard
