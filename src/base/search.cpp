#include "base/search.h"

#include <cstring>

namespace yard {

// The C library's search skips by what the end of the words allows, about their length at a time.
size_t find_words(std::string_view text, std::string_view words, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (words.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, words.data(), words.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace yard
