#include "api/content.h"

#include <fmt/format.h>

namespace yard {
namespace {

// Behind the quotation mark that ends the text whose first one stands at `at`.
size_t behind_text(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

// Whether `place` stands directly in the object that is the member `top`. Depths count from the
// members beside metadata.
bool is_member_of(std::string_view json, size_t place, std::string_view top) {
  int depth = 0;
  std::string_view member;
  size_t at = 0;
  while (at < place) {
    const char each = json[at];
    if (each == '"') {
      const size_t end = behind_text(json, at);
      if (depth == 0 && end < json.size() && json[end] == ':')
        member = json.substr(at + 1, end - at - 2);
      at = end;
      continue;
    }
    if (each == '{' || each == '[') ++depth;
    if (each == '}' || each == ']') --depth;
    ++at;
  }
  return at == place && depth == 1 && member == top;  // else it stands within a text
}

}  // namespace

std::string_view text_in_content(std::string_view content, std::string_view top,
                                 std::string_view name) {
  const std::string words = fmt::format("\"{}\":\"", name);
  for (size_t at = find_words(content, words); at != std::string_view::npos;
       at = find_words(content, words, at + 1)) {
    if (!is_member_of(content, at, top)) continue;
    const size_t value = at + words.size();
    return content.substr(value, behind_text(content, value - 1) - 1 - value);
  }
  return {};
}

}  // namespace yard
