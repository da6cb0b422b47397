// Json to text. Our own writer: shorter than driving boost::json::serializer through a buffer, and
// numbers come out as Go prints them (1, not 1E0), which is what clients of Kubernetes compare
// with.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json/json.h"

namespace yard {

namespace {

constexpr size_t kLikelySize = 512;  // of a text that is begun

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

// Writes onto the end of a text without asking it for room at each piece: what is too much is cut
// off in the end.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out), at_(out.data() + out.size()) {
    make_room(kLikelySize);
  }
  ~TextWriter() { out_.resize(size()); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  // Where so many bytes may be written; `written` says behind which of them it goes on.
  char* room(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) make_room(bytes);
    return at_;
  }
  void written(char* to) { at_ = to; }
  void put(char byte) { *room(1) = byte, ++at_; }
  void put(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    at_ += text.size();
  }

 private:
  size_t size() const { return static_cast<size_t>(at_ - out_.data()); }
  void make_room(size_t bytes) {
    const size_t size_now = size();
    out_.resize(size_now + std::max({bytes, size_now / 2, kLikelySize}));
    at_ = out_.data() + size_now;
    end_ = out_.data() + out_.size();
  }

  std::string& out_;
  char *at_, *end_ = nullptr;
};

char* write_escape(char* to, unsigned char byte) {
  const char escape = kEscapes[byte];
  *to++ = '\\';
  *to++ = escape;
  if (escape != 'u') return to;
  constexpr char kHexDigits[] = "0123456789abcdef";
  *to++ = '0';
  *to++ = '0';
  *to++ = kHexDigits[byte >> 4];
  *to++ = kHexDigits[byte & 15];
  return to;
}

#ifdef __SSE2__
// Bit i: byte i is not written as it is.
unsigned escaped_among(__m128i bytes) {
  const __m128i below = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i named = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(below, named)));
}
#endif

// True where all of it is written as it is, as nearly every text is.
bool is_plain(std::string_view text) {
  const char* at = text.data();
  size_t left = text.size();
#ifdef __SSE2__
  if (left >= sizeof(__m128i)) {
    const char* last = at + left - sizeof(__m128i);
    for (; at < last; at += sizeof(__m128i)) {
      if (escaped_among(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) != 0) return false;
    }
    // The last piece may show some bytes a second time.
    return escaped_among(_mm_loadu_si128(reinterpret_cast<const __m128i*>(last))) == 0;
  }
  if (left >= 8) {
    const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    const __m128i last = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + left - 8));
    return escaped_among(_mm_unpacklo_epi64(first, last)) == 0;
  }
#endif
  for (; left > 0; ++at, --left) {
    if (kEscapes[static_cast<unsigned char>(*at)] != 0) return false;
  }
  return true;
}

void write_escaped(TextWriter& out, std::string_view text) {
  constexpr size_t kPiece = 128, kLongestEscape = 6;
  for (size_t begin = 0; begin < text.size(); begin += kPiece) {
    const std::string_view piece = text.substr(begin, kPiece);
    char* to = out.room(piece.size() * kLongestEscape);
    for (const char each : piece) {
      const auto byte = static_cast<unsigned char>(each);
      if (kEscapes[byte] == 0) {
        *to++ = each;
      } else {
        to = write_escape(to, byte);
      }
    }
    out.written(to);
  }
}

void write_quoted(TextWriter& out, std::string_view text) {
  if (!is_plain(text)) {
    out.put('"');
    write_escaped(out, text);
    out.put('"');
    return;
  }
  char* to = out.room(text.size() + 2);
  *to++ = '"';
  std::memcpy(to, text.data(), text.size());
  to += text.size();
  *to++ = '"';
  out.written(to);
}

// A member's name with what stands around it.
void write_name(TextWriter& out, char before, std::string_view name) {
  out.put(before);
  write_quoted(out, name);
  out.put(':');
}

template <typename Number>
void write_integer(TextWriter& out, Number number) {
  constexpr size_t kMostDigits = 24;
  char* to = out.room(kMostDigits);
  out.written(std::to_chars(to, to + kMostDigits, number).ptr);
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

void write_scalar(TextWriter& out, const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null: out.put("null"); break;
    case boost::json::kind::bool_: out.put(value.get_bool() ? "true" : "false"); break;
    case boost::json::kind::int64: write_integer(out, value.get_int64()); break;
    case boost::json::kind::uint64: write_integer(out, value.get_uint64()); break;
    case boost::json::kind::double_: {
      std::string digits;
      append_double(digits, value.get_double());
      out.put(digits);
    } break;
    case boost::json::kind::string:
      write_quoted(out, {value.get_string().data(), value.get_string().size()});
      break;
    default: break;
  }
}

void write_text(TextWriter& out, const Json& value) {
  if (const JsonObject* object = value.if_object()) {
    if (object->empty()) out.put('{');
    char before = '{';
    for (const auto& member : *object) {
      write_name(out, std::exchange(before, ','), member.key());
      write_text(out, member.value());
    }
    out.put('}');
  } else if (const JsonArray* array = value.if_array()) {
    if (array->empty()) out.put('[');
    char before = '[';
    for (const Json& item : *array) {
      out.put(std::exchange(before, ','));
      write_text(out, item);
    }
    out.put(']');
  } else {
    write_scalar(out, value);
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
  if (is_plain(text)) {
    // One look at the room that is left, where three appends would be three.
    const size_t at = out.size();
    out.append(text.size() + 2, '"');
    text.copy(out.data() + at + 1, text.size());
    return;
  }
  TextWriter writer(out);
  write_quoted(writer, text);
}

void append_text(std::string& out, const Json& value) {
  if (value.is_string()) return append_quoted(out, value.get_string());
  TextWriter writer(out);
  write_text(writer, value);
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
