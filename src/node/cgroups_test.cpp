#include "node/cgroups.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

constexpr const char* kV1Mounts =
    "20 1 0:20 / /proc rw - proc proc rw\n"
    "31 30 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 30 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "33 30 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "34 30 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
constexpr const char* kV2Mounts =
    "20 1 0:20 / /proc rw - proc proc rw\n"
    "30 20 0:27 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroups, WhereOurGroupsGo) {
  struct Row {
    const char *about, *cgroup, *mountinfo;
    const char *memory, *cpu, *pids, *unified;
  };
  const Row rows[] = {
      {"v1: below the own group of each controller",
       "4:memory:/a/b\n3:cpu,cpuacct:/\n2:pids:/x\n0::/\n", kV1Mounts, "/sys/fs/cgroup/memory/a/b",
       "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/pids/x", ""},
      {"v2 alone", "0::/user.slice/user-1000.slice/session-3.scope\n", kV2Mounts, "", "", "",
       "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"},
      {"v2 at its root", "0::/\n", kV2Mounts, "", "", "", "/sys/fs/cgroup"},
      {"v2 whose mount shows a part of the tree", "0::/docker/abc/inner\n",
       "30 20 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "", "", "",
       "/sys/fs/cgroup/inner"},
      {"a group outside of what is mounted", "0::/../other\n", kV2Mounts, "", "", "", ""},
      {"a path with a colon", "0::/a:b\n", kV2Mounts, "", "", "", "/sys/fs/cgroup/a:b"},
      {"nothing mounted", "0::/\n", "20 1 0:20 / /proc rw - proc proc rw\n", "", "", "", ""},
      {"nothing readable", "", "", "", "", "", ""},
  };
  for (const Row& row : rows) {
    const CgroupRoots roots = own_cgroups(row.cgroup, row.mountinfo);
    EXPECT_EQ(roots.memory, row.memory) << row.about;
    EXPECT_EQ(roots.cpu, row.cpu) << row.about;
    EXPECT_EQ(roots.pids, row.pids) << row.about;
    EXPECT_EQ(roots.unified, row.unified) << row.about;
  }
}

TEST(Cgroups, AV2GroupThatHoldsProcessesAsksItsParents) {
  CgroupRoots roots;
  EXPECT_TRUE(unified_candidates(roots).empty());
  roots.unified_mount = roots.unified = "/sys/fs/cgroup";
  EXPECT_EQ(unified_candidates(roots), (std::vector<std::string>{"/sys/fs/cgroup"}));
  roots.unified = "/sys/fs/cgroup/a.slice/b.scope";
  EXPECT_EQ(unified_candidates(roots),
            (std::vector<std::string>{"/sys/fs/cgroup/a.slice/b.scope", "/sys/fs/cgroup/a.slice",
                                      "/sys/fs/cgroup"}));
}

TEST(Cgroups, ControllersThatLimitsNeed) {
  EXPECT_EQ(enabling_text(wanted_controllers("cpuset cpu io memory hugetlb pids rdma\n")),
            "+cpu +memory +pids");
  EXPECT_EQ(enabling_text(wanted_controllers("memory pids")), "+memory +pids");
  EXPECT_EQ(enabling_text(wanted_controllers("")), "");
}

std::string text_of_groups(const std::vector<CgroupFolder>& groups) {
  std::string out;
  for (const CgroupFolder& group : groups) {
    out += (group.unified ? "v2 " : "v1 ") + group.folder + "\n";
    for (const auto& [file, text] : group.limits)
      out += "  " + file + "=" + text + "\n";
  }
  return out;
}

ContainerLaunch launch(std::optional<int64_t> memory, std::optional<int64_t> cpu_limit,
                       int64_t cpu_request) {
  ContainerLaunch out;
  out.container = "c";
  out.run = 2;
  out.memory_limit_bytes = memory;
  out.cpu_limit_milli = cpu_limit;
  out.cpu_request_milli = cpu_request;
  out.processes_limit = 100;
  return out;
}

TEST(Cgroups, LimitsAsFiles) {
  CgroupRoots v1;
  v1.memory = "/m";
  v1.cpu = "/c";
  v1.pids = "/p";
  CgroupRoots v2;
  v2.unified = "/u";
  v2.controllers = {"cpu", "memory", "pids"};
  CgroupRoots v2_without_cpu = v2;
  v2_without_cpu.controllers = {"memory"};
  struct Row {
    const char* about;
    CgroupRoots roots;
    ContainerLaunch launch;
    const char* groups;
  };
  const Row rows[] = {
      {"v1 with all limits", v1, launch(1 << 20, 1500, 500),
       "v1 /m/yard/uid.c.2\n  memory.limit_in_bytes=1048576\n"
       "v1 /c/yard/uid.c.2\n  cpu.shares=512\n  cpu.cfs_period_us=100000\n  "
       "cpu.cfs_quota_us=150000\n"
       "v1 /p/yard/uid.c.2\n  pids.max=100\n"},
      {"v1 with none", v1, launch({}, {}, 0),
       "v1 /m/yard/uid.c.2\nv1 /c/yard/uid.c.2\n  cpu.shares=2\nv1 /p/yard/uid.c.2\n  "
       "pids.max=100\n"},
      {"v2 with all limits", v2, launch(1 << 20, 1500, 1000),
       "v2 /u/yard/uid.c.2\n  ../cgroup.subtree_control=+cpu +memory +pids\n  memory.oom.group=1\n"
       "  memory.max=1048576\n  cpu.weight=39\n  cpu.max=150000 100000\n  pids.max=100\n"},
      {"v2, a sliver of a cpu", v2, launch({}, 1, 0),
       "v2 /u/yard/uid.c.2\n  ../cgroup.subtree_control=+cpu +memory +pids\n  memory.oom.group=1\n"
       "  cpu.weight=1\n  cpu.max=1000 100000\n  pids.max=100\n"},
      {"v2, more cpus than the weight can say", v2, launch({}, {}, 1'000'000),
       "v2 /u/yard/uid.c.2\n  ../cgroup.subtree_control=+cpu +memory +pids\n  memory.oom.group=1\n"
       "  cpu.weight=10000\n  pids.max=100\n"},
      {"v2 with memory alone", v2_without_cpu, launch(4096, 1500, 1000),
       "v2 /u/yard/uid.c.2\n  ../cgroup.subtree_control=+memory\n  memory.oom.group=1\n  "
       "memory.max=4096\n"},
      {"no groups at all", CgroupRoots{}, launch(4096, 1, 1), ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(text_of_groups(container_cgroups(row.roots, "yard", "uid", row.launch)), row.groups)
        << row.about;
}

}  // namespace
}  // namespace yard
