#include "base/strings.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode64(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data();
  const auto byte = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<uint8_t>(bytes[at]));
  };
  const auto put = [&](uint32_t group, int digits) {
    for (int shift = 18; digits > 0; --digits, shift -= 6)
      *to++ = alphabet[group >> shift & 63];
  };
  size_t at = 0;
  for (; at + 3 <= bytes.size(); at += 3)
    put(byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2), 4);
  const size_t left = bytes.size() - at;
  if (left == 1) put(byte(at) << 16, 2);
  if (left == 2) put(byte(at) << 16 | byte(at + 1) << 8, 3);
  if (!pad) out.resize(static_cast<size_t>(to - out.data()));
  return out;
}

std::optional<std::string> decode64(std::string_view text, std::string_view alphabet) {
  std::array<int8_t, 256> value;
  value.fill(-1);
  for (size_t i = 0; i < alphabet.size(); ++i)
    value[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const int8_t v = value[static_cast<uint8_t>(c)];
    if (v < 0) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(v);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(group >> bits & 0xff));
    }
  }
  if (bits >= 6) return std::nullopt;  // a lone character at the end carries no byte
  return out;
}

// The code point at `at` and its length in bytes; length 0 when it is no valid UTF-8.
struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;
};
CodePoint code_point(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return {};
  uint32_t value = lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
    return {};
  return {value, length};
}

bool is_wide(uint32_t c) {
  return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf && c != 0x303f) ||
         (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
         (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
         (c >= 0x20000 && c <= 0x3fffd);
}
bool is_zero_width(uint32_t c) {
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x1160 && c <= 0x11ff) || c == 0xfeff;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool equals_ignore_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    const auto fold = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    if (fold(left[i]) != fold(right[i])) return false;
  }
  return true;
}

bool is_valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = code_point(text, at).length;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::optional<int64_t> parse_int64(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_uint64(std::string_view text) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::string base64_encode(std::string_view bytes) {
  return encode64(bytes, kBase64, true);
}
std::string base64url_encode(std::string_view bytes) {
  return encode64(bytes, kBase64Url, false);
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i)
    text.remove_suffix(1);
  return decode64(text, kBase64);
}
std::optional<std::string> base64url_decode(std::string_view text) {
  return decode64(text, kBase64Url);
}

std::string hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point(text, at);
    const auto c = static_cast<uint8_t>(text[at]);
    if (point.length == 0) {
      out += fmt::format("\\x{:02x}", c);
      ++at;
      continue;
    }
    if (point.length > 1) {
      out += text.substr(at, point.length);
    } else if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c >= 0x20 && c != 0x7f) {
      out.push_back(static_cast<char>(c));
    } else {
      static constexpr std::string_view kNamed = "abtnvfr";  // 7..13, with 11 and 12 in Go's order
      static constexpr std::string_view kCodes = "\a\b\t\n\v\f\r";
      const size_t named = kCodes.find(static_cast<char>(c));
      out += named != std::string_view::npos ? std::string{'\\', kNamed[named]}
                                             : fmt::format("\\x{:02x}", c);
    }
    at += point.length;
  }
  return out + "\"";
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (size_t at = 0; at < utf8.size();) {
    const CodePoint point = code_point(utf8, at);
    if (point.length == 0) {
      ++width;
      ++at;
      continue;
    }
    width += is_zero_width(point.value) ? 0 : is_wide(point.value) ? 2 : 1;
    at += point.length;
  }
  return width;
}

}  // namespace yard
