#include <gtest/gtest.h>

#include "node/usage_meter.h"

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

TEST(Usage, WithoutControlGroupsProcessesCount) {
  const std::string stat =
      "7 (a) b) S 5 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 100 2000000 321 "
      "18446744073709551615";
  const ProcessFacts facts = process_facts_in(stat);
  EXPECT_EQ(facts.parent, 5);
  EXPECT_EQ(facts.ticks, 42);
  EXPECT_EQ(facts.resident_pages, 321);
  EXPECT_EQ(process_facts_in("no process").ticks, 0);
  const std::map<int, ProcessFacts> processes{{5, {1, 1, 10}}, {7, {5, 2, 20}},  {8, {7, 4, 40}},
                                              {9, {1, 8, 80}}, {10, {11, 1, 1}}, {11, {10, 1, 1}}};
  const ProcessFacts tree = tree_of(5, processes);
  EXPECT_EQ(tree.ticks, 7);
  EXPECT_EQ(tree.resident_pages, 70);
}

TEST(Usage, BetweenTwoLooks) {
  UsageSample before, after;
  before.at = from_unix_seconds(1000);
  after.at = from_unix_seconds(1002);
  before.containers = {{"u", "c", 1'000'000'000, 5, true}, {"u", "again", 9'000'000'000, 5, true}};
  after.containers = {{"u", "c", 2'000'000'000, 7, true},
                      {"u", "again", 400'000'000, 5, true},
                      {"u", "new", 200'000'000, 5, true}};
  before.machine = {100, 1000, 0};
  after.machine = {150, 1200, 77};
  const UsageReport report = usage_between(before, after, 4);
  EXPECT_EQ(report.window, std::chrono::seconds(2));
  EXPECT_EQ(report.pods.at("u").at("c").nanocores, 500'000'000);
  EXPECT_EQ(report.pods.at("u").at("c").memory_bytes, 7);
  EXPECT_EQ(report.pods.at("u").at("again").nanocores, 200'000'000) << "it began anew";
  EXPECT_EQ(report.pods.at("u").at("new").nanocores, 100'000'000);
  EXPECT_EQ(report.machine.nanocores, 1'000'000'000) << "a quarter of four processors";
  EXPECT_EQ(report.machine.memory_bytes, 77);
}

}  // namespace
}  // namespace yard
