#include "node/sandbox/spare_group.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace shim {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* about;
  std::vector<Cgroup> groups;
  bool can;  // of the first
};

TEST(SpareGroup, IsOneWhoseEverySettingIsWrittenAgain) {
  const Cgroup cpu{"/cpu/a", {{"cpu.shares", "2"}}}, pids{"/pids/a", {{"pids.max", "9"}}},
      memory{"/memory/a", {}};
  const Case cases[] = {
      {"of cpu", {cpu, memory, pids}, true},
      {"of processes", {pids, cpu, memory}, true},
      {"of memory, which keeps what it was charged with", {memory, cpu, pids}, false},
      {"a quota, which the next may not write",
       {{"/c", {{"cpu.shares", "2"}, {"cpu.cfs_quota_us", "1"}}}},
       false},
      {"of version 2, which knows no renaming", {{"/u", {{"cpu.shares", "2"}}, true}}, false},
      {"of a tree that has two of them", {cpu, {"/cpu/a", {}}}, false},
  };
  for (const Case& each : cases)
    EXPECT_EQ(can_be_spare(each.groups[0], each.groups), each.can) << each.about;
}

TEST(SpareGroup, SlotsGoRound) {
  EXPECT_EQ(spare_slot(-1), -1) << "without a template nobody counts";
  EXPECT_EQ(spare_slot(0), 0);
  EXPECT_EQ(spare_slot(17), 1);
}

class SpareGroupFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(base_);
    make("first");
  }
  void TearDown() override { fs::remove_all(base_); }
  Cgroup group(const std::string& name) const {
    return {base_ + "/" + name, {{"cpu.shares", "2"}}};
  }
  void make(const std::string& name, const std::string& members = "") const {
    fs::create_directories(base_ + "/" + name);
    std::ofstream(base_ + "/" + name + "/cgroup.procs") << members;
  }
  std::string base_ = testing::TempDir() + "yard-spare-" + std::to_string(getpid());
};

TEST_F(SpareGroupFolder, AnEmptyOneBecomesTheNextRuns) {
  EXPECT_FALSE(take_spare(group("next"), 3)) << "there is none yet";
  EXPECT_TRUE(keep_spare(group("first"), 3));
  EXPECT_FALSE(fs::exists(base_ + "/first"));
  EXPECT_FALSE(take_spare(group("next"), 4)) << "another's slot";
  EXPECT_TRUE(take_spare(group("next"), 3));
  EXPECT_TRUE(fs::exists(base_ + "/next/cgroup.procs"));
  EXPECT_FALSE(take_spare(group("third"), 3)) << "once";
}

TEST_F(SpareGroupFolder, OneWithAProcessOrAGroupBelowIsNotKept) {
  make("busy", "1\n");
  EXPECT_FALSE(keep_spare(group("busy"), 0));
  make("first/command-1");
  EXPECT_FALSE(keep_spare(group("first"), 0));
}

TEST_F(SpareGroupFolder, WithoutASlotNothingIsKeptOrTaken) {
  EXPECT_FALSE(keep_spare(group("first"), -1));
  EXPECT_FALSE(take_spare(group("next"), -1));
}

TEST_F(SpareGroupFolder, ProcessorTimeCountedInTheSameTreeIsForgotten) {
  std::ofstream(base_ + "/first/cpuacct.usage") << "7";
  EXPECT_TRUE(keep_spare(group("first"), 0));
  std::ifstream time(base_ + "/spare-0/cpuacct.usage");
  std::string text;
  time >> text;
  EXPECT_EQ(text, "0");
}

}  // namespace
}  // namespace shim
