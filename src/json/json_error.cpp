#include "json/json_error.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace yard {

namespace {

namespace bj = boost::json;

// Where in the grammar a text stands after the bytes read so far.
class Place {
 public:
  void read(char byte) {
    if (in_string_) return read_in_string(byte);
    switch (byte) {
      case ' ':
      case '\t':
      case '\n':
      case '\r': end_literal(); break;
      case '"':
        end_literal();
        in_string_ = true;
        break;
      case '{':
      case '[':
        open_.push_back(byte);
        expected_ = byte == '{' ? Expected::Key : Expected::Value;
        break;
      case '}':
      case ']':
        end_literal();
        if (!open_.empty()) open_.pop_back();
        expected_ = Expected::CommaOrEnd;
        break;
      case ':': expected_ = Expected::Value; break;
      case ',':
        end_literal();
        expected_ = in_object() ? Expected::Key : Expected::Value;
        break;
      default: in_literal_ = true; break;
    }
  }

  std::string_view words() const {
    if (in_string_) return in_escape_ ? "in string escape code" : "in string literal";
    if (in_literal_) return "in literal or number";
    switch (expected_) {
      case Expected::Value: return "looking for beginning of value";
      case Expected::Key: return "looking for beginning of object key string";
      case Expected::Colon: return "after object key";
      case Expected::CommaOrEnd: break;
    }
    if (open_.empty()) return "after top-level value";
    return in_object() ? "after object key:value pair" : "after array element";
  }

  bool in_string() const { return in_string_; }

 private:
  enum class Expected { Value, Key, Colon, CommaOrEnd };

  void read_in_string(char byte) {
    if (in_escape_) {
      in_escape_ = false;
    } else if (byte == '\\') {
      in_escape_ = true;
    } else if (byte == '"') {
      in_string_ = false;
      expected_ = expected_ == Expected::Key ? Expected::Colon : Expected::CommaOrEnd;
    }
  }
  void end_literal() {
    if (in_literal_) expected_ = Expected::CommaOrEnd;
    in_literal_ = false;
  }
  bool in_object() const { return !open_.empty() && open_.back() == '{'; }

  std::vector<char> open_;
  Expected expected_ = Expected::Value;
  bool in_string_ = false;
  bool in_escape_ = false;
  bool in_literal_ = false;
};

std::string shown_character(char byte) {
  if (byte == '\'') return "'\\''";
  auto code = static_cast<unsigned char>(byte);
  if (code < 0x20 || code >= 0x7f) return fmt::format("'\\x{:02x}'", code);
  return fmt::format("'{}'", byte);
}

std::string syntax_words(std::string_view text, size_t offset) {
  Place place;
  for (char byte : text.substr(0, offset))
    place.read(byte);
  if (offset >= text.size()) return "unexpected end of JSON input";
  if (place.in_string() && static_cast<unsigned char>(text[offset]) >= 0x80) {
    return "invalid UTF-8 in string literal";
  }
  return fmt::format("invalid character {} {}", shown_character(text[offset]), place.words());
}

std::string words_for(std::string_view text, size_t offset, const bj::error_code& problem,
                      int max_depth) {
  if (problem == bj::error::incomplete) return "unexpected end of JSON input";
  if (problem == bj::error::too_deep) {
    return fmt::format("exceeded max depth of {}", max_depth);
  }
  if (problem == bj::error::exponent_overflow) return "number is too large for a 64-bit float";
  if (problem == bj::error::illegal_leading_surrogate ||
      problem == bj::error::illegal_trailing_surrogate ||
      problem == bj::error::expected_utf16_escape) {
    return "\\u escape is half of a surrogate pair";
  }
  if (problem == bj::error::syntax || problem == bj::error::extra_data ||
      problem == bj::error::expected_hex_digit) {
    return syntax_words(text, offset);
  }
  return problem.message();
}

}  // namespace

Error json_error(std::string_view text, size_t offset, const bj::error_code& problem,
                 int max_depth) {
  if (problem == bj::error::incomplete || offset > text.size()) offset = text.size();
  std::string words = words_for(text, offset, problem, max_depth);
  size_t line = 1;
  size_t line_start = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] != '\n') continue;
    ++line;
    line_start = i + 1;
  }
  return error(Reason::BadRequest,
               fmt::format("{} (line {}, column {})", words, line, offset - line_start + 1));
}

}  // namespace yard
