#include "api/core/data_limits.h"

#include <algorithm>

namespace yard {

size_t base64_decoded_size(std::string_view text) {
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  return text.size() / 4 * 3 - std::min(padding, text.size() / 4 * 3);
}

void check_data_keys(FieldErrors& errors, const Json& object, std::string_view member) {
  for (const auto& entry : map_at(object, {member})) {
    std::string_view key(entry.key());
    add_problems(errors, FieldPath(std::string(member)).key(key), key, config_key_problems(key));
  }
}

void check_immutable_data(FieldErrors& errors, const Json& object, const Json& live,
                          std::initializer_list<std::string_view> members) {
  constexpr std::string_view kDetail = "field is immutable when `immutable` is set";
  if (!bool_at(live, {"immutable"})) return;
  if (!bool_at(object, {"immutable"})) errors.push_back(forbidden(FieldPath("immutable"), kDetail));
  for (std::string_view member : members) {
    if (same(find(object, member), find(live, member))) continue;
    errors.push_back(forbidden(FieldPath(std::string(member)), kDetail));
  }
}

}  // namespace yard
