#include "api/meta/quantity.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace yard {
namespace {

using Wide = __int128;

constexpr Wide kNanos = 1'000'000'000;
constexpr Wide kMostNanos = Wide{std::numeric_limits<int64_t>::max()} * kNanos;

constexpr const char* kWrongFormat =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr const char* kWrongSuffix = "unable to parse quantity's suffix";

// A text cut into its parts; the digits carry no leading zeros.
struct Parts {
  bool negative = false;
  std::string_view whole, fraction, suffix;
};

struct Scale {
  bool binary = false;  // 2^exponent instead of 10^exponent
  bool written_as_exponent = false;
  int exponent = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end]))
    ++end;
  return end;
}

std::optional<Parts> parts_of(std::string_view text) {
  Parts parts;
  size_t at = 0;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    parts.negative = text[0] == '-';
    at = 1;
  }
  size_t end = digits_at(text, at);
  parts.whole = text.substr(at, end - at);
  at = end;
  if (at < text.size() && text[at] == '.') {
    end = digits_at(text, at + 1);
    parts.fraction = text.substr(at + 1, end - at - 1);
    at = end;
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  parts.suffix = text.substr(at);
  size_t rest = parts.suffix.find_first_not_of("eEinumkKMGTP");
  if (rest != std::string_view::npos) {
    if (parts.suffix[rest] == '+' || parts.suffix[rest] == '-') ++rest;
    if (digits_at(parts.suffix, rest) != parts.suffix.size()) return std::nullopt;
  }
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  return parts;
}

std::optional<Scale> scale_of(std::string_view suffix) {
  struct Row {
    std::string_view suffix;
    Scale scale;
  };
  static constexpr Row kRows[] = {
      {"", {}},
      {"n", {false, false, -9}},
      {"u", {false, false, -6}},
      {"m", {false, false, -3}},
      {"k", {false, false, 3}},
      {"M", {false, false, 6}},
      {"G", {false, false, 9}},
      {"T", {false, false, 12}},
      {"P", {false, false, 15}},
      {"E", {false, false, 18}},
      {"Ki", {true, false, 10}},
      {"Mi", {true, false, 20}},
      {"Gi", {true, false, 30}},
      {"Ti", {true, false, 40}},
      {"Pi", {true, false, 50}},
      {"Ei", {true, false, 60}},
  };
  for (const Row& row : kRows) {
    if (row.suffix == suffix) return row.scale;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  const bool negative = suffix.starts_with('-');
  if (negative || suffix.starts_with('+')) suffix.remove_prefix(1);
  if (suffix.empty() || digits_at(suffix, 0) != suffix.size()) return std::nullopt;
  int exponent = 0;
  // Beyond a thousand the answer is the largest or the smallest quantity anyway.
  for (char c : suffix)
    exponent = std::min(exponent * 10 + (c - '0'), 1000);
  return Scale{false, true, negative ? -exponent : exponent};
}

// digits × 10^exponent in nano-units, rounded away from zero, at most kMostNanos.
Wide decimal_nanos(std::string_view whole, std::string_view fraction, int exponent) {
  while (fraction.ends_with('0'))
    fraction.remove_suffix(1);
  std::string digits(whole);
  digits.append(fraction);
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return 0;
  digits.erase(0, first);
  // How many of `digits` stand before the point once nano-units are counted.
  const int64_t kept =
      static_cast<int64_t>(digits.size()) - static_cast<int64_t>(fraction.size()) + exponent + 9;
  if (kept > 29) return kMostNanos;
  Wide nanos = 0;
  for (int64_t i = 0; i < kept; ++i) {
    nanos = nanos * 10 + (i < static_cast<int64_t>(digits.size()) ? digits[i] - '0' : 0);
  }
  const size_t dropped_from = static_cast<size_t>(std::max<int64_t>(kept, 0));
  if (digits.find_first_not_of('0', dropped_from) != std::string::npos) ++nanos;
  return std::min(nanos, kMostNanos);
}

Wide binary_nanos(std::string_view whole, std::string_view fraction, int exponent) {
  if (whole.size() > 19) return kMostNanos;
  Wide units = 0;
  for (char c : whole)
    units = units * 10 + (c - '0');
  if (units >> (63 - exponent) > 0) return kMostNanos;
  Wide nanos = (units << exponent) * kNanos;
  // 18 digits of the fraction fit beside 2^60; what lies beyond can only round up.
  constexpr size_t kFractionDigits = 18;
  Wide part = 0;
  for (size_t i = 0; i < kFractionDigits; ++i) {
    part = part * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  part <<= exponent;
  bool inexact = fraction.find_first_not_of('0', std::min(fraction.size(), kFractionDigits)) !=
                 std::string_view::npos;
  inexact = inexact || part % kNanos != 0;
  nanos += part / kNanos + (inexact ? 1 : 0);
  return std::min(nanos, kMostNanos);
}

std::string digits_of(Wide value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string text;
  for (Wide rest = negative ? -value : value; rest > 0; rest /= 10) {
    text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (negative) text.push_back('-');
  std::ranges::reverse(text);
  return text;
}

int64_t units_away_from_zero(Wide nanos, Wide unit) {
  const Wide away = nanos < 0 ? nanos - (unit - 1) : nanos + (unit - 1);
  const Wide units = away / unit;
  return static_cast<int64_t>(std::clamp<Wide>(units, std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max()));
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  const std::optional<Parts> parts = parts_of(text);
  if (!parts) return yard::error(Reason::BadRequest, kWrongFormat);
  const std::optional<Scale> scale = scale_of(parts->suffix);
  if (!scale) return yard::error(Reason::BadRequest, kWrongSuffix);
  Quantity quantity;
  quantity.nanos_ = scale->binary ? binary_nanos(parts->whole, parts->fraction, scale->exponent)
                                  : decimal_nanos(parts->whole, parts->fraction, scale->exponent);
  if (parts->negative) quantity.nanos_ = -quantity.nanos_;
  quantity.format_ = scale->binary                ? Format::Binary
                     : scale->written_as_exponent ? Format::Exponent
                                                  : Format::Decimal;
  return quantity;
}

Quantity Quantity::of(int64_t value) {
  Quantity quantity;
  quantity.nanos_ = std::max(Wide{value} * kNanos, -kMostNanos);
  return quantity;
}

std::string Quantity::canonical() const {
  if (nanos_ == 0) return "0";
  // Small binary quantities print as plain numbers: 512, not 0.5Ki.
  const bool binary =
      format_ == Format::Binary && (nanos_ <= -1024 * kNanos || nanos_ >= 1024 * kNanos);
  if (binary) {
    static constexpr const char* kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    Wide units = units_away_from_zero(nanos_, kNanos);
    size_t step = 0;
    for (; step < 6 && units % 1024 == 0; ++step)
      units /= 1024;
    return digits_of(units) + kSuffixes[step];
  }
  Wide mantissa = nanos_;
  int exponent = -9;
  for (; exponent < 18 && mantissa % 1000 == 0; exponent += 3)
    mantissa /= 1000;
  if (exponent == 0) return digits_of(mantissa);
  if (format_ == Format::Exponent) return digits_of(mantissa) + "e" + std::to_string(exponent);
  static constexpr const char* kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  return digits_of(mantissa) + kSuffixes[(exponent + 9) / 3];
}

int64_t Quantity::value() const {
  return units_away_from_zero(nanos_, kNanos);
}
int64_t Quantity::milli() const {
  return units_away_from_zero(nanos_, kNanos / 1000);
}

Quantity Quantity::operator+(const Quantity& other) const {
  Quantity sum = *this;
  if (sum.is_zero()) sum.format_ = other.format_;
  // Two capped values are far from the end of 128 bits; capping again keeps it so.
  sum.nanos_ = std::clamp(nanos_ + other.nanos_, -kMostNanos, kMostNanos);
  return sum;
}

Quantity Quantity::operator-(const Quantity& other) const {
  Quantity difference = *this;
  if (difference.is_zero()) difference.format_ = other.format_;
  difference.nanos_ = std::clamp(nanos_ - other.nanos_, -kMostNanos, kMostNanos);
  return difference;
}

}  // namespace yard
