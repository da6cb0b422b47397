#include "node/simulated/played_pods.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

struct Row {
  const char* about;
  const char* text;
  const char* answer;  // length and code, or a part of the error
};

TEST(Play, TheAnnotationIsRead) {
  const Row rows[] = {
      {"nothing said", "", "10000ms 0"},
      {"a length", "run=5s", "5000ms 0"},
      {"a length and a code", "run=250ms, exit=3", "250ms 3"},
      {"only a code", "exit=1", "10000ms 1"},
      {"no end", "run=forever", "forever 0"},
      {"an unknown word", "walk=5s", "\"walk=5s\" is not understood"},
      {"a length that is none", "run=soon", "\"run=soon\" is not understood"},
      {"a negative length", "run=-1s", "is not understood"},
      {"a code too large", "exit=256", "is not understood"},
      {"no value", "run", "is not understood"},
  };
  for (const Row& row : rows) {
    const auto rule = parse_play(row.text);
    std::string answer;
    if (!rule) {
      answer = rule.error().message;
    } else if (!rule->run_for) {
      answer = "forever " + std::to_string(rule->exit_code);
    } else {
      answer = std::to_string(*rule->run_for / std::chrono::milliseconds(1)) + "ms " +
               std::to_string(rule->exit_code);
    }
    EXPECT_NE(answer.find(row.answer), std::string::npos) << row.about << ": " << answer;
  }
}

}  // namespace
}  // namespace yard
