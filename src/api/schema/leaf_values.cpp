#include "api/schema/leaf_values.h"

#include <cstdlib>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "base/strings.h"
#include "base/time.h"

namespace yard {
namespace {

std::string time_text(Time time, Schema::Type type) {
  return type == Schema::Type::MicroTime ? rfc3339_micro(time) : rfc3339(time);
}

// Time holds what 64 bits of nanoseconds do, the API the years 1 to 9999. The calendar repeats
// after 400 years: a far time is written as a near one with the years added.
constexpr int64_t kCycleYears = 400;
constexpr int64_t kCycleSeconds = 12'622'780'800;
constexpr int64_t kFirstSecond = -62'135'596'800, kLastSecond = 253'402'300'799;

std::string with_years_added(const std::string& near, int64_t years) {
  const int64_t year = std::strtoll(near.substr(0, 4).c_str(), nullptr, 10) + years;
  return year < 1 || year > 9999 ? std::string() : fmt::format("{:04}{}", year, near.substr(4));
}

std::optional<std::string> far_time(std::string_view text, Schema::Type type) {
  const std::string_view digits = text.substr(0, 4);
  if (digits.size() < 4 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const int64_t year = std::strtoll(std::string(digits).c_str(), nullptr, 10);
  const int64_t near_year = 1900 + (year + 100) % kCycleYears;  // the same days of the same months
  const std::optional<Time> time = parse_rfc3339(fmt::format("{:04}{}", near_year, text.substr(4)));
  if (!time) return std::nullopt;
  std::string far = with_years_added(time_text(*time, type), year - near_year);
  if (far.empty()) return std::nullopt;
  return far;
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
    if (auto far = far_time(text, type)) return std::move(*far);
    return error(Reason::BadRequest,
                 fmt::format("parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse it",
                             quoted(text.substr(0, 100))));
  }
  return time_text(*time, type);
}

Result<std::string> time_of_seconds(int64_t seconds, int64_t nanos, Schema::Type type) {
  if (seconds < kFirstSecond || seconds > kLastSecond || nanos < 0 || nanos > 999'999'999) {
    return error(Reason::BadRequest, fmt::format("time {}s {}ns is out of range", seconds, nanos));
  }
  if (seconds == kFirstSecond) return std::string();  // no time at all, as in normal_time
  // Cycles are counted from the middle of the one around 1970, so that what is near stays itself.
  const int64_t shifted = seconds + kCycleSeconds / 2;
  const int64_t cycles = shifted / kCycleSeconds - (shifted % kCycleSeconds < 0 ? 1 : 0);
  const Time near =
      from_unix_seconds(seconds - cycles * kCycleSeconds) + std::chrono::nanoseconds(nanos);
  const std::string text = time_text(near, type);
  return cycles == 0 ? text : with_years_added(text, cycles * kCycleYears);
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
