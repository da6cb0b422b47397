#include "api/int_or_percent.h"

#include <algorithm>
#include <optional>

#include "api/checks.h"
#include "base/strings.h"

namespace yard {
namespace {

std::optional<int64_t> percent_of(const Json* value) {
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const std::string_view text = value->get_string();
  if (text.size() < 2 || text.back() != '%') return std::nullopt;
  const std::string_view digits = text.substr(0, text.size() - 1);
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return parse_int64(digits);
}

}  // namespace

void check_int_or_percent(FieldErrors& errors, const FieldPath& path, const Json* value) {
  if (value == nullptr || value->is_null()) return;
  if (value->is_int64()) {
    if (value->get_int64() < 0) errors.push_back(invalid(path, *value, kNotNegative));
  } else if (!percent_of(value)) {
    errors.push_back(invalid(path, *value,
                             "a valid percent string must be a numeric string followed by an "
                             "ending '%' (e.g. '1%',  or '93%', regex used for validation is "
                             "'[0-9]+%')"));
  }
}

void check_not_above_all(FieldErrors& errors, const FieldPath& path, const Json* value) {
  const std::optional<int64_t> percent = percent_of(value);
  if (percent && *percent > 100)
    errors.push_back(invalid(path, *value, "must not be greater than 100%"));
}

bool is_some(const Json* int_or_percent) {
  if (int_or_percent == nullptr) return false;
  if (int_or_percent->is_int64()) return int_or_percent->get_int64() != 0;
  return percent_of(int_or_percent).value_or(0) != 0;
}

}  // namespace yard
