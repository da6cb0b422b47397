#pragma once
// Small text tools that know no Kubernetes word.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

std::vector<std::string_view> split(std::string_view text,
                                    char separator);  // "a,,b" has three parts
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);  // ASCII
bool equals_ignore_case(std::string_view left, std::string_view right);
bool is_valid_utf8(std::string_view text);

std::optional<int64_t> parse_int64(
    std::string_view text);  // the whole text, decimal, optional sign
std::optional<uint64_t> parse_uint64(std::string_view text);

std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(
    std::string_view text);                            // standard alphabet, padding required
std::string base64url_encode(std::string_view bytes);  // no padding
std::optional<std::string> base64url_decode(std::string_view text);
std::string hex(uint64_t value);  // 16 digits
uint64_t hash_bytes(
    std::string_view bytes);  // stable over runs (FNV-1a): cache keys and ETags, no security

// Go's strconv.Quote, as %q prints it: the quotes around values in Kubernetes' messages.
std::string quoted(std::string_view text);
// For strings too: where <filesystem> is included, std::quoted would be the nearer one.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string& text) { return quoted(std::string_view(text)); }
// How many terminal columns the text takes: 2 for wide East Asian characters, 0 for combining
// marks.
int display_width(std::string_view utf8);

// Lets maps keyed by std::string be searched by string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace yard
