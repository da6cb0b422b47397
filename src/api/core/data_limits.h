#pragma once
// What ConfigMap and Secret share: keys, the size limit, and `immutable`.

#include "api/validation.h"

namespace yard {

constexpr size_t kMaxDataBytes = 1024 * 1024;

size_t base64_decoded_size(std::string_view text);
// Judges the keys under object.<member>.
void check_data_keys(FieldErrors& errors, const Json& object, std::string_view member);
// With immutable: true stored, `members` and the flag itself stay as they are.
void check_immutable_data(FieldErrors& errors, const Json& object, const Json& live,
                          std::initializer_list<std::string_view> members);

}  // namespace yard
