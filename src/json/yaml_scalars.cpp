#include "json/yaml_scalars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

namespace {

struct Word {
  std::string_view text;
  enum class Meaning { True, False, Null, Infinity, MinusInfinity, NotANumber } meaning;
};

constexpr Word kWords[] = {
    {"y", Word::Meaning::True},
    {"Y", Word::Meaning::True},
    {"yes", Word::Meaning::True},
    {"Yes", Word::Meaning::True},
    {"YES", Word::Meaning::True},
    {"true", Word::Meaning::True},
    {"True", Word::Meaning::True},
    {"TRUE", Word::Meaning::True},
    {"on", Word::Meaning::True},
    {"On", Word::Meaning::True},
    {"ON", Word::Meaning::True},
    {"n", Word::Meaning::False},
    {"N", Word::Meaning::False},
    {"no", Word::Meaning::False},
    {"No", Word::Meaning::False},
    {"NO", Word::Meaning::False},
    {"false", Word::Meaning::False},
    {"False", Word::Meaning::False},
    {"FALSE", Word::Meaning::False},
    {"off", Word::Meaning::False},
    {"Off", Word::Meaning::False},
    {"OFF", Word::Meaning::False},
    {"", Word::Meaning::Null},
    {"~", Word::Meaning::Null},
    {"null", Word::Meaning::Null},
    {"Null", Word::Meaning::Null},
    {"NULL", Word::Meaning::Null},
    {".inf", Word::Meaning::Infinity},
    {".Inf", Word::Meaning::Infinity},
    {".INF", Word::Meaning::Infinity},
    {"+.inf", Word::Meaning::Infinity},
    {"+.Inf", Word::Meaning::Infinity},
    {"+.INF", Word::Meaning::Infinity},
    {"-.inf", Word::Meaning::MinusInfinity},
    {"-.Inf", Word::Meaning::MinusInfinity},
    {"-.INF", Word::Meaning::MinusInfinity},
    {".nan", Word::Meaning::NotANumber},
    {".NaN", Word::Meaning::NotANumber},
    {".NAN", Word::Meaning::NotANumber},
};
constexpr size_t kLongestWord = 5;

std::optional<Json> word_scalar(std::string_view text) {
  if (text.size() > kLongestWord) return std::nullopt;
  for (const Word& word : kWords) {
    if (word.text != text) continue;
    switch (word.meaning) {
      case Word::Meaning::True: return Json(true);
      case Word::Meaning::False: return Json(false);
      case Word::Meaning::Null: return Json(nullptr);
      case Word::Meaning::Infinity: return Json(HUGE_VAL);
      case Word::Meaning::MinusInfinity: return Json(-HUGE_VAL);
      case Word::Meaning::NotANumber: return Json(std::nan(""));
    }
  }
  return std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool skip_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count]))
    ++count;
  text.remove_prefix(count);
  return count > 0;
}

void skip_sign(std::string_view& text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
}

// [-+]? (digits [. digits?] | . digits) ([eE] [-+]? digits)?
bool is_decimal(std::string_view text) {
  skip_sign(text);
  bool has_whole = skip_digits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    bool has_fraction = skip_digits(text);
    if (!has_whole && !has_fraction) return false;
  } else if (!has_whole) {
    return false;
  }
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  skip_sign(text);
  return skip_digits(text) && text.empty();
}

std::optional<Json> float_scalar(const std::string& text) {
  if (!is_decimal(text)) return std::nullopt;
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  double number = 0;
  auto [end, problem] = std::from_chars(begin, text.data() + text.size(), number);
  if (problem == std::errc()) return Json(number);
  // Out of range: what is too small counts for Go as nearly 0, what is too large is no number at
  // all.
  number = std::strtod(begin, nullptr);
  if (std::isinf(number)) return std::nullopt;
  return Json(number);
}

struct Radix {
  int base;
  size_t prefix_size;
};

// Go's rule for integer literals with base 0.
Radix radix_of(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return {10, 0};
  switch (digits[1]) {
    case 'x':
    case 'X': return {16, 2};
    case 'o':
    case 'O': return {8, 2};
    case 'b':
    case 'B': return {2, 2};
    default: return {8, 1};
  }
}

std::optional<Json> integer_scalar(std::string_view text) {
  bool is_negative = text[0] == '-';
  bool has_sign = is_negative || text[0] == '+';
  std::string_view digits = text.substr(has_sign ? 1 : 0);
  Radix radix = radix_of(digits);
  digits.remove_prefix(radix.prefix_size);
  uint64_t size = 0;
  auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), size, radix.base);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (is_negative) {
    if (size > kLargest + 1) return std::nullopt;
    return Json(static_cast<int64_t>(0 - size));
  }
  if (size <= kLargest) return Json(static_cast<int64_t>(size));
  if (has_sign) return std::nullopt;
  return Json(size);
}

std::optional<Json> number_scalar(std::string_view text) {
  if (text[0] == '.') {
    // A dot alone is not enough of a hint: `._5` is text.
    if (text.size() < 2 || !is_digit(text[1])) return std::nullopt;
  } else if (!is_digit(text[0]) && text[0] != '+' && text[0] != '-') {
    return std::nullopt;
  }
  std::string plain(text);
  std::erase(plain, '_');
  if (plain.empty()) return std::nullopt;
  if (std::optional<Json> integer = integer_scalar(plain)) return integer;
  return float_scalar(plain);
}

// 2024-1-2 and longer forms beginning so. Go-yaml tries real dates; quoting too much does no harm.
bool looks_like_date(std::string_view text) {
  if (text.size() < 8 || text[4] != '-') return false;
  return std::all_of(text.begin(), text.begin() + 4, is_digit) && is_digit(text[5]);
}

// 12:30:45 is a number in base 60 to old readers.
bool looks_like_base60(std::string_view text) {
  skip_sign(text);
  if (text.empty() || !is_digit(text[0]) || text.find(':') == std::string_view::npos) return false;
  return text.find_first_not_of("0123456789_:.") == std::string_view::npos;
}

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

std::string_view type_name(const Json& value) {
  if (value.is_bool()) return "!!bool";
  if (value.is_null()) return "!!null";
  if (value.is_double()) return "!!float";
  return value.is_number() ? "!!int" : "!!str";
}

Result<Json> binary_scalar(std::string_view text) {
  std::string packed(text);
  std::erase_if(packed, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  std::optional<std::string> bytes = base64_decode(packed);
  if (!bytes) return error(Reason::BadRequest, "!!binary value contains invalid base64 data");
  if (!is_valid_utf8(*bytes)) {
    return error(Reason::BadRequest, "!!binary value is no UTF-8 text, which JSON cannot carry");
  }
  return Json(*bytes);
}

template <typename Float>
std::string shortest_general(Float number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  char text[512];
  auto [scientific_end, ignored] =
      std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  std::string_view scientific(text, static_cast<size_t>(scientific_end - text));
  size_t e = scientific.find('e');
  int exponent = 0;
  size_t digits_at = scientific[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(scientific.data() + digits_at, scientific.data() + scientific.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(scientific);
  auto [fixed_end, also_ignored] =
      std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
  return std::string(text, fixed_end);
}

}  // namespace

Json plain_scalar(std::string_view text) {
  if (std::optional<Json> word = word_scalar(text)) return std::move(*word);
  if (std::optional<Json> number = number_scalar(text)) return std::move(*number);
  return Json(text);
}

Result<Json> tagged_scalar(std::string_view tag, std::string_view text) {
  if (tag.substr(0, kTagPrefix.size()) != kTagPrefix) return Json(text);
  std::string_view type = tag.substr(kTagPrefix.size());
  if (type == "binary") return binary_scalar(text);
  if (type != "int" && type != "float" && type != "bool" && type != "null") return Json(text);
  Json value = plain_scalar(text);
  std::string_view found = type_name(value);
  if (found.substr(2) == type || (type == "float" && found == "!!int")) return value;
  return error(Reason::BadRequest,
               fmt::format("cannot decode {} `{}` as a !!{}", found, text.substr(0, 100), type));
}

Json whole_as_integer(Json value) {
  const double* number = value.if_double();
  bool fits = number != nullptr && *number >= -9223372036854775808.0 &&
              *number < 9223372036854775808.0 && std::trunc(*number) == *number;
  return fits ? Json(static_cast<int64_t>(*number)) : std::move(value);
}

std::string key_text(const Json& key) {
  if (key.is_string()) return std::string(key.get_string().data(), key.get_string().size());
  if (key.is_double()) return shortest_general(static_cast<float>(key.get_double()));
  return to_text(key);
}

std::string short_float(double number) {
  return shortest_general(number);
}

bool reads_as_other_type(std::string_view text) {
  return !plain_scalar(text).is_string() || looks_like_date(text) || looks_like_base60(text);
}

}  // namespace yard
