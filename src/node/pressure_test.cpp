#include "node/pressure.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

constexpr int64_t kMi = 1 << 20, kGi = int64_t{1} << 30;

MachineRoom plenty() {
  return {8 * kGi, 100 * kGi, 200 * kGi, 900'000, 1'000'000};
}

TEST(Pressure, WhatIsShort) {
  const struct {
    const char* about;
    MachineRoom room;
    Shortage shortage;
  } cases[] = {
      {"plenty of all", plenty(), Shortage::None},
      {"a little memory", {99 * kMi, 100 * kGi, 200 * kGi, 1, 1}, Shortage::Memory},
      {"a tenth of a small disk", {kGi, 900 * kMi, 10 * kGi, 0, 0}, Shortage::Disk},
      {"nine tenths of a large disk are used, but there is room",
       {kGi, 5 * kGi, 500 * kGi, 0, 0},
       Shortage::None},
      {"less than two GiB", {kGi, 2 * kGi - 1, 500 * kGi, 0, 0}, Shortage::Disk},
      {"few inodes", {kGi, 100 * kGi, 200 * kGi, 49'999, 1'000'000}, Shortage::Inodes},
      {"nothing is known of the disk", {kGi, 0, 0, 0, 0}, Shortage::None},
  };
  for (const auto& row : cases)
    EXPECT_EQ(shortage_of(row.room), row.shortage) << row.about;
}

TEST(Pressure, AConditionStaysFiveMinutes) {
  const Time begin = from_unix_seconds(1'700'000'000);
  MachineRoom low = plenty();
  low.memory_available = 50 * kMi;
  NodePressure now = next_pressure({}, low, begin);
  EXPECT_TRUE(now.has_memory(begin));
  EXPECT_FALSE(now.has_disk(begin));
  now = next_pressure(now, plenty(), begin + std::chrono::minutes(4));
  EXPECT_TRUE(now.has_memory(begin + std::chrono::minutes(4)));
  now = next_pressure(now, plenty(), begin + std::chrono::minutes(5));
  EXPECT_FALSE(now.memory_seen);
  now = next_pressure(next_pressure({}, low, begin), plenty(), begin - std::chrono::hours(1));
  EXPECT_FALSE(now.memory_seen) << "the clock was set back";
}

Json pod(const char* spec) {
  return yaml(
      std::string("spec: {containers: [{name: c, resources: {requests: {memory: 100Mi}}}], ") +
      spec + "}");
}

TEST(Pressure, WhoGoes) {
  const Json plain = pod("priority: 0"), low = pod("priority: -5"),
             critical = pod("priority: 2000001000");
  const struct {
    const char* about;
    std::vector<PressedPod> pods;
    const char* uid;
  } cases[] = {
      {"above its request before one within, whatever it is worth",
       {{"within", &low, {{"c", 90 * kMi}}, 0}, {"above", &plain, {{"c", 101 * kMi}}, 0}},
       "above"},
      {"the less important of two above",
       {{"a", &plain, {{"c", 900 * kMi}}, 0}, {"b", &low, {{"c", 101 * kMi}}, 0}},
       "b"},
      {"the greedier of two alike",
       {{"a", &plain, {{"c", 200 * kMi}}, 0}, {"b", &plain, {{"c", 300 * kMi}}, 0}},
       "b"},
      {"never the system's own", {{"a", &critical, {{"c", 900 * kMi}}, 0}}, ""},
      {"nobody is there", {}, ""},
  };
  for (const auto& row : cases) {
    const auto gone = pressure_eviction(Shortage::Memory, plenty(), row.pods);
    EXPECT_EQ(gone ? gone->uid : "", row.uid) << row.about;
  }
}

TEST(Pressure, TheWordsAreKubelets) {
  const Json greedy = yaml(
      "spec: {containers: [{name: a}, {name: b, resources: {requests: {memory: 1Gi, "
      "ephemeral-storage: 1Ki}}}]}");
  const std::vector<PressedPod> pods{{"u", &greedy, {{"a", kGi}, {"b", kGi}}, 0}};
  MachineRoom room = plenty();
  room.memory_available = 50 * kMi;
  EXPECT_EQ(pressure_eviction(Shortage::Memory, room, pods)->message,
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
            "Container a was using 1Gi, request is 0, has larger consumption of memory. ");
  room.disk_available = kGi;
  EXPECT_EQ(pressure_eviction(Shortage::Disk, room, pods)->message,
            "The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: "
            "1Gi. Container a was using 1Gi, request is 0, has larger consumption of "
            "ephemeral-storage. Container b was using 1Gi, request is 1Ki, has larger consumption "
            "of ephemeral-storage. ");
}

}  // namespace
}  // namespace yard
