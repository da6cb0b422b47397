// Json to text. Our own writer: shorter than driving boost::json::serializer through a buffer, and
// numbers come out as Go prints them (1, not 1E0), which is what clients of Kubernetes compare
// with.

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json/json.h"

namespace yard {

namespace {

constexpr size_t kLikelySize = 512;

// What stands after the backslash: 0 for a byte that is written as it is, 'u' for \u00XX.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> escapes{};
  for (int byte = 0; byte < 0x20; ++byte)
    escapes[static_cast<size_t>(byte)] = 'u';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  return escapes;
}();

void append_escape(std::string& out, unsigned char byte) {
  char escape = kEscapes[byte];
  out += '\\';
  out += escape;
  if (escape != 'u') return;
  constexpr char kHexDigits[] = "0123456789abcdef";
  out += "00";
  out += kHexDigits[byte >> 4];
  out += kHexDigits[byte & 15];
}

// How many bytes at its beginning are written as they are.
size_t plain_bytes(std::string_view text) {
  size_t at = 0;
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'),
                last_escaped = _mm_set1_epi8(0x1f);
  for (; at + sizeof(__m128i) <= text.size(); at += sizeof(__m128i)) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i below = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_escaped), bytes);
    const __m128i named =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    const int escaped = _mm_movemask_epi8(_mm_or_si128(below, named));
    if (escaped != 0) return at + static_cast<size_t>(std::countr_zero(unsigned(escaped)));
  }
#endif
  while (at < text.size() && kEscapes[static_cast<unsigned char>(text[at])] == 0)
    ++at;
  return at;
}

// A member's name with what stands around it, in one piece.
void append_name(std::string& out, char before, std::string_view name) {
  if (plain_bytes(name) != name.size()) {
    out += before;
    append_quoted(out, name);
    out += ':';
    return;
  }
  const size_t at = out.size();
  out.append(name.size() + 4, '"');
  out[at] = before;
  name.copy(out.data() + at + 2, name.size());
  out.back() = ':';
}

template <typename Number>
void append_integer(std::string& out, Number number) {
  char digits[24];
  auto [end, problem] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

// The digits of `12345e+20` written out; to_chars would print such a number's exact value, which
// has more digits than it takes to read it back.
void append_large_whole(std::string& out, std::string_view scientific) {
  size_t e = scientific.find('e');
  size_t exponent = 0;
  std::from_chars(scientific.data() + e + 2, scientific.data() + scientific.size(), exponent);
  size_t digit_count = 0;
  for (char c : scientific.substr(0, e)) {
    if (c == '.') continue;
    out += c;
    if (c != '-') ++digit_count;
  }
  out.append(exponent + 1 - digit_count, '0');
}

// Go's encoding/json: shortest digits that read back to the same number, an exponent only below
// 1e-6 and from 1e21, and that without a leading zero.
void append_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";  // JSON has no word for it; the parsers let none in
    return;
  }
  if (number == 0) {
    out += '0';  // also for -0.0, which a reader of -0 would take for the integer 0
    return;
  }
  constexpr double kTwoTo53 = 9007199254740992.0;
  double size = std::fabs(number);
  bool has_small_exponent = size >= 1e-6 && size < kTwoTo53;
  char digits[64];
  auto [end, problem] =
      std::to_chars(digits, digits + sizeof digits, number,
                    has_small_exponent ? std::chars_format::fixed : std::chars_format::scientific);
  std::string_view text(digits, static_cast<size_t>(end - digits));
  bool has_leading_zero = text.size() >= 4 && text.substr(text.size() - 4, 3) == "e-0";
  // Whole digits only where no 64-bit integer can be read from them: an integer would be another
  // number.
  constexpr double kTwoTo64 = 18446744073709551616.0;
  if (size >= kTwoTo64 && size < 1e21) {
    append_large_whole(out, text);
  } else if (!has_small_exponent && has_leading_zero) {
    out += text.substr(0, text.size() - 2);
    out += text.back();
  } else {
    out += text;
  }
}

void append_scalar(std::string& out, const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null: out += "null"; break;
    case boost::json::kind::bool_: out += value.get_bool() ? "true" : "false"; break;
    case boost::json::kind::int64: append_integer(out, value.get_int64()); break;
    case boost::json::kind::uint64: append_integer(out, value.get_uint64()); break;
    case boost::json::kind::double_: append_double(out, value.get_double()); break;
    case boost::json::kind::string:
      append_quoted(out, {value.get_string().data(), value.get_string().size()});
      break;
    default: break;
  }
}

void start_line(std::string& out, int depth) {
  out += '\n';
  out.append(static_cast<size_t>(depth) * 2, ' ');
}

void append_pretty(std::string& out, const Json& value, int depth) {
  if (const JsonObject* object = value.if_object(); object != nullptr && !object->empty()) {
    char separator = '{';
    for (const auto& member : *object) {
      out += separator;
      separator = ',';
      start_line(out, depth + 1);
      append_quoted(out, member.key());
      out += ": ";
      append_pretty(out, member.value(), depth + 1);
    }
    start_line(out, depth);
    out += '}';
  } else if (const JsonArray* array = value.if_array(); array != nullptr && !array->empty()) {
    char separator = '[';
    for (const Json& item : *array) {
      out += separator;
      separator = ',';
      start_line(out, depth + 1);
      append_pretty(out, item, depth + 1);
    }
    start_line(out, depth);
    out += ']';
  } else {
    append_text(out, value);
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  const size_t plain = plain_bytes(text);
  if (plain == text.size()) {
    // Nearly every text: one look at the room that is left, where three appends would be three.
    const size_t at = out.size();
    out.append(text.size() + 2, '"');
    text.copy(out.data() + at + 1, text.size());
    return;
  }
  out += '"';
  size_t written = 0;
  for (size_t i = plain; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (kEscapes[byte] == 0) continue;
    out.append(text, written, i - written);
    append_escape(out, byte);
    written = i + 1;
  }
  out.append(text, written);
  out += '"';
}

void append_text(std::string& out, const Json& value) {
  if (const JsonObject* object = value.if_object()) {
    if (object->empty()) out += '{';
    char before = '{';
    for (const auto& member : *object) {
      append_name(out, std::exchange(before, ','), member.key());
      append_text(out, member.value());
    }
    out += '}';
  } else if (const JsonArray* array = value.if_array()) {
    out += '[';
    bool first = true;
    for (const Json& item : *array) {
      if (!first) out += ',';
      first = false;
      append_text(out, item);
    }
    out += ']';
  } else {
    append_scalar(out, value);
  }
}

std::string to_text(const Json& value) {
  std::string out;
  if (value.is_structured()) out.reserve(kLikelySize);
  append_text(out, value);
  return out;
}

std::string to_pretty_text(const Json& value) {
  std::string out;
  append_pretty(out, value, 0);
  return out;
}

}  // namespace yard
