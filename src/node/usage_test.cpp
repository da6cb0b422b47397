#include "node/usage.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(Usage, ValuesInKernelTexts) {
  EXPECT_EQ(value_in("a 1\ninactive_file 20\n", "inactive_file"), 20);
  EXPECT_EQ(value_in("total_inactive_file 20\n", "inactive_file"), 0);
  EXPECT_EQ(value_in("MemTotal:       100 kB\n", "MemTotal"), 100);
  EXPECT_EQ(value_in("", "x"), 0);
}

TEST(Usage, OfTheMachine) {
  const MachineUsage got =
      machine_usage_in("cpu  10 1 5 70 4 0 2 8 3 0\ncpu0 1 1 1 1\n",
                       "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 60 kB\n");
  EXPECT_EQ(got.all_ticks, 100);
  EXPECT_EQ(got.busy_ticks, 26);
  EXPECT_EQ(got.memory_bytes, 40 * 1024);
}

TEST(Usage, OfAProcess) {
  EXPECT_EQ(processor_ticks_in("7 (a ) b) R 1 7 7 0 -1 4194560 103 0 0 0 20 5 9 9 20 0 1 0"), 25);
  EXPECT_EQ(processor_ticks_in("7 (a"), 0);
  EXPECT_EQ(processor_ticks_in(""), 0);
}

TEST(Usage, RunFiles) {
  struct Case {
    const char* file;
    const char* container;
    int run;
  };
  const Case cases[] = {{"main.0.json", "main", 0}, {"my.c.12.json", "my.c", 12},
                        {"launch.json", "", -1},    {"main.0.log", "", -1},
                        {".1.json", "", -1},        {"main.x.json", "", -1}};
  for (const Case& each : cases) {
    const RunFile got = run_file_named(each.file);
    EXPECT_EQ(got.container, each.container) << each.file;
    EXPECT_EQ(got.run, each.run) << each.file;
  }
}

}  // namespace
}  // namespace yard
