#include "node/filter_tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "node/seccomp_testing.h"

namespace yard {
namespace {

std::vector<FilterStep> giving(uint32_t answer) {
  FilterProgram out;
  out.give(answer);
  return out.steps;
}

size_t end_of(const std::vector<NumberRange>& ranges, uint32_t number) {
  const auto after = std::find_if(ranges.begin(), ranges.end(),
                                  [&](const NumberRange& range) { return range.first > number; });
  return std::prev(after)->end;
}

TEST(FilterTree, FindsWhatAListFinds) {
  struct Row {
    const char* about;
    std::vector<NumberRange> ranges;
  };
  Row many{"a hundred of them", {}};
  for (uint32_t i = 0; i < 100; ++i)
    many.ranges.push_back({i * i / 10 + i, i * 7 % 3});
  const Row rows[] = {
      {"all lead to one", {{0, 1}}},
      {"two halves", {{0, 0}, {200, 1}}},
      {"one number by itself", {{0, 0}, {7, 2}, {8, 0}}},
      {"the first and the last", {{0, 1}, {1, 0}, {~0U, 2}}},
      {"beside each other", {{0, 0}, {5, 1}, {6, 2}, {7, 0}, {9, 1}}},
      many,
  };
  for (const Row& row : rows) {
    FilterProgram program;
    program.load_number();
    for (const FilterStep& step : number_tree(row.ranges, {giving(10), giving(11), giving(12)}))
      program.steps.push_back(step);
    std::vector<uint32_t> numbers{~0U, ~0U - 1, 1U << 30, (1U << 30) - 1};
    for (uint32_t number = 0; number < 1200; ++number)
      numbers.push_back(number);
    for (const uint32_t number : numbers) {
      seccomp_data call{};
      call.nr = static_cast<int>(number);
      EXPECT_EQ(verdict(program.steps, call), 10 + end_of(row.ranges, number))
          << row.about << ", " << number;
    }
  }
}

}  // namespace
}  // namespace yard
