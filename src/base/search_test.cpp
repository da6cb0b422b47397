#include "base/search.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(Search, FindsWhatFindFinds) {
  struct Row {
    const char* claim;
    std::string_view text, words;
    size_t from;
  };
  const Row rows[] = {
      {"at the beginning", R"({"a":1,"b":2})", R"({"a")", 0},
      {"at the end", R"({"a":1,"b":2})", "2}", 0},
      {"not there", R"({"a":1,"b":2})", R"("c")", 0},
      {"the first of two", R"("a","a")", R"("a")", 0},
      {"the second of two", R"("a","a")", R"("a")", 1},
      {"none behind the last", R"("a","a")", R"("a")", 5},
      {"from the end", "abc", "a", 3},
      {"from behind the end", "abc", "a", 4},
      {"nothing is everywhere", "abc", "", 2},
      {"nothing is at the end too", "abc", "", 3},
      {"nothing is not behind the end", "abc", "", 4},
      {"in nothing is nothing", "", "a", 0},
      {"longer than the text", "ab", "abc", 0},
      {"cut short at the end", R"({"type":"Comp)", R"("type":"Complete")", 0},
      {"a NUL is a character", std::string_view("a\0b", 3), std::string_view("\0b", 2), 0},
  };
  for (const Row& row : rows)
    EXPECT_EQ(find_words(row.text, row.words, row.from), row.text.find(row.words, row.from))
        << row.claim;
}

TEST(Search, SaysWhetherWordsAreThere) {
  EXPECT_TRUE(has_words(R"({"suspend":true})", R"("suspend":true)"));
  EXPECT_FALSE(has_words(R"({"suspend":false})", R"("suspend":true)"));
}

}  // namespace
}  // namespace yard
