#pragma once
// Looks for words in long texts. `string_view::find` stops at every occurrence of the first
// character, and in JSON every word begins with a quotation mark: in an encoded Job of 4 kB it is
// fifteen times slower than this.

#include <string_view>

namespace yard {

// Where `words` stands in `text` at `from` or behind it; npos where it does not.
size_t find_words(std::string_view text, std::string_view words, size_t from = 0);

inline bool has_words(std::string_view text, std::string_view words) {
  return find_words(text, words) != std::string_view::npos;
}

}  // namespace yard
