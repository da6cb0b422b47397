// The `format`s of JSON schema strings that are checked; any other is a note to readers.

#include <algorithm>
#include <array>
#include <charconv>

#include <re2/re2.h>

#include "api/crd/constraints.h"
#include "api/validation.h"
#include "base/strings.h"
#include "base/time.h"

namespace yard {
namespace {

bool matches(std::string_view text, const re2::RE2& pattern) {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

bool is_date(std::string_view text) {
  return text.size() == 10 && parse_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

bool is_cidr(std::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == text.npos) return false;
  const std::string_view address = text.substr(0, slash);
  const auto bits = parse_int64(text.substr(slash + 1));
  return is_ip(address) && bits && *bits >= 0 && *bits <= (is_ipv4(address) ? 32 : 128);
}

bool is_base64(std::string_view text) {
  return base64_decode(text).has_value();
}

bool is_uuid(std::string_view text) {
  static const re2::RE2 pattern(
      "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  return matches(text, pattern);
}

bool is_email(std::string_view text) {
  static const re2::RE2 pattern(R"([^@\s<>]+@[^@\s<>]+)");
  return matches(text, pattern);
}

bool is_uri(std::string_view text) {
  static const re2::RE2 pattern(R"([A-Za-z][A-Za-z0-9+.\-]*:[^\s]+)");
  return matches(text, pattern);
}

bool is_hostname(std::string_view text) {
  static const re2::RE2 pattern(
      R"([A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9\-]{0,61}[A-Za-z0-9])?)*\.?)");
  return text.size() <= 255 && matches(text, pattern);
}

bool is_mac(std::string_view text) {
  static const re2::RE2 pattern("[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,7}");
  return matches(text, pattern);
}

bool is_duration(std::string_view text) {
  static const re2::RE2 in_words(
      R"(\s*\d+\s*(ns|us|µs|ms|s|m|h|d|w|hours?|minutes?|seconds?|days?|weeks?)\s*)");
  return parse_go_duration(text).has_value() || matches(text, in_words);
}

struct Format {
  std::string_view name;
  bool (*accepts)(std::string_view text);
};

constexpr Format kFormats[] = {
    {"date-time", [](std::string_view text) { return parse_rfc3339(text).has_value(); }},
    {"datetime", [](std::string_view text) { return parse_rfc3339(text).has_value(); }},
    {"date", is_date},
    {"duration", is_duration},
    {"byte", is_base64},
    {"uuid", is_uuid},
    {"uuid3", is_uuid},
    {"uuid4", is_uuid},
    {"uuid5", is_uuid},
    {"email", is_email},
    {"uri", is_uri},
    {"hostname", is_hostname},
    {"ipv4", [](std::string_view text) { return is_ipv4(text); }},
    {"ipv6", [](std::string_view text) { return is_ip(text) && !is_ipv4(text); }},
    {"cidr", is_cidr},
    {"mac", is_mac},
};

// Known, and nothing to check in a text.
constexpr std::array<std::string_view, 14> kUnchecked = {
    "int32", "int64",  "float",  "double",     "password", "binary",   "bsonobjectid",
    "isbn",  "isbn10", "isbn13", "creditcard", "ssn",      "hexcolor", "rgbcolor"};

}  // namespace

bool has_format(std::string_view format, std::string_view text) {
  const auto* found = std::ranges::find(kFormats, format, &Format::name);
  return found == std::end(kFormats) || found->accepts(text);
}

bool is_known_format(std::string_view format) {
  return std::ranges::find(kFormats, format, &Format::name) != std::end(kFormats) ||
         std::ranges::find(kUnchecked, format) != kUnchecked.end();
}

}  // namespace yard
