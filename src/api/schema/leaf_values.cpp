#include "api/schema/leaf_values.h"

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "base/strings.h"
#include "base/time.h"

namespace yard {
namespace {

std::string time_text(Time time, Schema::Type type) {
  return type == Schema::Type::MicroTime ? rfc3339_micro(time) : rfc3339(time);
}

bool is_base64_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

}  // namespace

Result<std::string> normal_time(std::string_view text, Schema::Type type) {
  if (text.starts_with("0001-01-01T00:00:00")) return std::string();
  const std::optional<Time> time = parse_rfc3339(text);
  if (!time) {
    return error(Reason::BadRequest,
                 fmt::format("parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse it",
                             quoted(text.substr(0, 100))));
  }
  return time_text(*time, type);
}

Result<std::string> time_of_seconds(int64_t seconds, int64_t nanos, Schema::Type type) {
  constexpr int64_t kReach = 9'000'000'000;  // what 64 bits of nanoseconds hold, and a little less
  if (seconds < -kReach || seconds > kReach || nanos < 0 || nanos > 999'999'999) {
    return error(Reason::BadRequest, fmt::format("time {}s {}ns is out of range", seconds, nanos));
  }
  return time_text(from_unix_seconds(seconds) + std::chrono::nanoseconds(nanos), type);
}

Result<std::string> normal_quantity(std::string_view text) {
  const Quantity quantity = TRY(Quantity::parse(text));
  return quantity.canonical();
}

std::optional<size_t> wrong_base64_byte(std::string_view text) {
  size_t characters = 0;
  size_t padding = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r' || c == '\n') continue;
    if (c == '=') {
      ++padding;
      const bool fits =
          (characters + padding) % 4 == 0 ? padding <= 2 : padding == 1 && characters % 4 == 2;
      if (!fits) return i;
    } else {
      if (padding != 0 || !is_base64_character(c)) return i;
      ++characters;
    }
  }
  if ((characters + padding) % 4 != 0) return text.size();
  return std::nullopt;
}

std::string without_line_ends(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (const char c : text) {
    if (c != '\r' && c != '\n') kept.push_back(c);
  }
  return kept;
}

Json zero_value(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::String:
    case Schema::Type::Bytes: return Json("");
    case Schema::Type::Integer:
    case Schema::Type::IntOrString: return Json(int64_t{0});
    case Schema::Type::Number: return Json(0.0);
    case Schema::Type::Boolean: return Json(false);
    case Schema::Type::Quantity: return Json("0");
    case Schema::Type::Struct:
    case Schema::Type::Map: return Json(JsonObject());
    case Schema::Type::List: return Json(JsonArray());
    case Schema::Type::Time:
    case Schema::Type::MicroTime:
    case Schema::Type::Any: break;
  }
  return Json(nullptr);
}

}  // namespace yard
