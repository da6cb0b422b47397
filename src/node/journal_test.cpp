#include "node/journal.h"

#include <gtest/gtest.h>

#include "node/cgroups.h"

namespace yard {
namespace {

TEST(Journal, TellsWhatBecameOfEachRun) {
  PodRecord record;
  for (const char* line :
       {"refused no ipc namespace: Operation not permitted", "start c 0 41 900 1000000000",
        "exit c 0 137 1 2000000000", "start c 1 42 950 3000000000",
        "failed d 0 4000000000 exec: \"x\": not found", "lost c 1 5000000000"}) {
    add_journal_line(record, line);
  }
  ASSERT_EQ(record.runs.size(), 3u);
  EXPECT_EQ(record.runs[0].exit->code, 137);
  EXPECT_TRUE(record.runs[0].exit->out_of_memory);
  EXPECT_EQ(record.runs[0].started, from_unix_seconds(1));
  EXPECT_EQ(record.runs[1].pid, 42);
  EXPECT_TRUE(record.runs[1].exit->lost);
  EXPECT_EQ(record.runs[2].failure, "exec: \"x\": not found");
  EXPECT_EQ(record.runs[2].exit->code, 128);
  EXPECT_EQ(record.refusals.front(), "no ipc namespace: Operation not permitted");
}

TEST(Journal, LinesItCannotReadSayNothing) {
  PodRecord record;
  for (const char* line : {"", "start", "start c", "start c x 1 2 3", "exit c 0", "failed c 0",
                           "later c 0 1", "lost c"})
    add_journal_line(record, line);
  EXPECT_TRUE(record.runs.empty());
}

TEST(Journal, WhatRanWithoutAShimIsLost) {
  PodRecord record;
  add_journal_line(record, "start c 0 41 900 1000000000");
  mark_lost(record, from_unix_seconds(9));
  EXPECT_TRUE(record.runs[0].exit->lost);
  EXPECT_EQ(record.runs[0].exit->at, from_unix_seconds(9));
}

TEST(Cgroups, NestUnderTheServersOwn) {
  const char* cgroup = "4:memory:/a/b\n2:cpu,cpuacct:/\n0::/\n";
  const char* mounts =
      "30 23 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "31 23 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
  const CgroupRoots roots = own_cgroups(cgroup, mounts);
  EXPECT_EQ(roots.memory, "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(roots.cpu, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(roots.pids, "");
  ContainerLaunch launch;
  launch.container = "c";
  launch.memory_limit_bytes = 1000;
  launch.cpu_limit_milli = 1500;
  launch.cpu_request_milli = 500;
  const auto folders = container_cgroups(roots, "ty", "u", launch);
  ASSERT_EQ(folders.size(), 2u);
  EXPECT_EQ(folders[0].folder, "/sys/fs/cgroup/memory/a/b/ty/u.c.0");
  EXPECT_EQ(folders[0].limits.front(),
            (std::pair<std::string, std::string>{"memory.limit_in_bytes", "1000"}));
  EXPECT_EQ(folders[1].limits[0].second, "512");
  EXPECT_EQ(folders[1].limits[2].second, "150000");
}

}  // namespace
}  // namespace yard
