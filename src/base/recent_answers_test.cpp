#include "base/recent_answers.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

using namespace std::chrono_literals;

TEST(RecentAnswers, AskAgainOnlyWhenTheyAreOld) {
  const Time start = from_unix_seconds(1'700'000'000);
  struct Row {
    const char* claim;
    Duration later;  // than the first question
    std::string_view about;
    bool asks;
  };
  const Row rows[] = {
      {"the first question is asked", 0ms, "a", true},
      {"at the same time it is known", 0ms, "a", false},
      {"a little later it is known", 99ms, "a", false},
      {"another thing is asked", 99ms, "b", true},
      {"an old answer does not count", 100ms, "a", true},
      {"the new one does", 150ms, "a", false},
      {"a clock that was set back makes no answer young", 20ms, "a", true},
      {"a third thing finds no room: all are forgotten", 150ms, "c", true},
      {"and asked again", 150ms, "a", true},
  };
  RecentAnswers answers(100ms, 2);
  for (const Row& row : rows) {
    bool asked = false;
    EXPECT_TRUE(answers.ask(row.about, start + row.later, [&] { return asked = true; }))
        << row.claim;
    EXPECT_EQ(asked, row.asks) << row.claim;
  }
}

TEST(RecentAnswers, KeepANoAsWellAsAYes) {
  RecentAnswers answers(1s, 10);
  EXPECT_FALSE(answers.ask("a", {}, [] { return false; }));
  EXPECT_FALSE(answers.ask("a", {}, [] { return true; }));
}

}  // namespace
}  // namespace yard
