#include "net/http.h"

#include "base/strings.h"

namespace yard {

std::string_view HttpRequest::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view HttpRequest::query() const {
  size_t question_mark = target.find('?');
  if (question_mark == std::string::npos) return {};
  return std::string_view(target).substr(question_mark + 1);
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignore_case(key, name)) return value;
  }
  return {};
}

namespace {

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_decode(std::string_view text, bool plus_is_space, bool* ok) {
  std::string decoded;
  decoded.reserve(text.size());
  bool well_formed = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
      continue;
    }
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      well_formed = false;
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (ok) *ok = well_formed;
  return decoded;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    size_t end = query.find('&');
    std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    // Go's url.ParseQuery drops a pair with a semicolon or a broken escape and keeps the others.
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    size_t equals = pair.find('=');
    bool key_ok = true, value_ok = true;
    std::string key = percent_decode(pair.substr(0, equals), true, &key_ok);
    std::string value;
    if (equals != std::string_view::npos) {
      value = percent_decode(pair.substr(equals + 1), true, &value_ok);
    }
    if (key_ok && value_ok) pairs.emplace_back(std::move(key), std::move(value));
  }
  return pairs;
}

}  // namespace yard
