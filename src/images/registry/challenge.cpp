#include "images/registry/challenge.h"

#include <cstring>
#include <optional>

#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kLongestHeader = 16 * 1024, kMostChallenges = 16, kMostValues = 32;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text.substr(0, kLongestHeader)) {}

  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_spaces() {
    while (take(' ') || take('\t')) {
    }
  }
  void skip_separators() {
    do {
      skip_spaces();
    } while (take(','));
  }
  void skip_one() {
    if (!rest_.empty()) rest_.remove_prefix(1);
  }
  std::string token() {
    size_t size = 0;
    while (size < rest_.size() && is_token(rest_[size]))
      ++size;
    std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }
  // What follows an `=`: a token, or a text in quotes; an unclosed one ends with the header.
  std::string value() {
    if (!take('"')) return token();
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      out += rest_.front();
      rest_.remove_prefix(1);
    }
    take('"');
    return out;
  }

 private:
  static bool is_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && std::strchr("!#$%&'*+-.^_`|~/:", c) != nullptr);
  }
  std::string_view rest_;
};

}  // namespace

std::string Challenge::value(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> out;
  Reader reader(header);
  while (true) {
    reader.skip_separators();
    if (reader.at_end()) return out;
    const std::string word = lower(reader.token());
    if (word.empty()) {
      reader.skip_one();
      continue;
    }
    reader.skip_spaces();
    // `name=value` goes on with the challenge before it; a word alone begins the next.
    if (!reader.take('=')) {
      if (out.size() == kMostChallenges) return out;
      out.push_back({word, {}});
      continue;
    }
    reader.skip_spaces();
    std::string value = reader.value();
    if (!out.empty() && out.back().values.size() < kMostValues)
      out.back().values.emplace(word, std::move(value));
  }
}

}  // namespace yard
