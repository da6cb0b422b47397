#include "node/shim/json.h"

namespace shim {
namespace {

constexpr int kMostDepth = 32;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool whole(Value& out) {
    if (!value(out, 0)) return false;
    skip_space();
    return at_ == text_.size();
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool value(Value& out, int depth) {
    if (depth > kMostDepth) return false;
    skip_space();
    if (at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{': return object(out, depth);
      case '[': return list(out, depth);
      case '"': out.type = Value::Type::Text; return string(out.text);
      case 't':
        out.type = Value::Type::Bool;
        out.boolean = true;
        return word("true");
      case 'f': out.type = Value::Type::Bool; return word("false");
      case 'n': return word("null");
      default: out.type = Value::Type::Number; return number(out.number);
    }
  }

  bool object(Value& out, int depth) {
    out.type = Value::Type::Object;
    ++at_;
    if (take('}')) return true;
    do {
      skip_space();
      out.members.emplace_back();
      if (at_ >= text_.size() || text_[at_] != '"' || !string(out.members.back().first) ||
          !take(':'))
        return false;
      if (!value(out.members.back().second, depth + 1)) return false;
    } while (take(','));
    return take('}');
  }

  bool list(Value& out, int depth) {
    out.type = Value::Type::List;
    ++at_;
    if (take(']')) return true;
    do {
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool number(int64_t& out) {
    const bool negative = take('-');
    const size_t begin = at_;
    uint64_t amount = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(amount, uint64_t{10}, &amount) ||
          __builtin_add_overflow(amount, static_cast<uint64_t>(text_[at_] - '0'), &amount)) {
        return false;
      }
      ++at_;
    }
    out = static_cast<int64_t>(negative ? -amount : amount);
    return at_ > begin;
  }

  bool hex4(uint32_t& out) {
    out = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size()) return false;
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      out = out * 16 + static_cast<uint32_t>(digit);
    }
    return true;
  }

  static void append_utf8(std::string& out, uint32_t code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  bool escape(std::string& out) {
    if (at_ >= text_.size()) return false;
    const char c = text_[at_++];
    switch (c) {
      case 'n': out += '\n'; return true;
      case 't': out += '\t'; return true;
      case 'r': out += '\r'; return true;
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case '"':
      case '\\':
      case '/': out += c; return true;
      case 'u': break;
      default: return false;
    }
    uint32_t code = 0;
    if (!hex4(code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
      uint32_t low = 0;
      if (!word("\\u") || !hex4(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
    return true;
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Value::Value() = default;
Value::~Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;

const Value& Value::operator[](std::string_view key) const {
  static const Value kNull;
  for (const auto& [name, value] : members) {
    if (name == key) return value;
  }
  return kNull;
}

bool parse(std::string_view text, Value& out) {
  return Reader(text).whole(out);
}

}  // namespace shim
