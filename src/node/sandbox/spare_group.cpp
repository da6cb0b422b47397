#include "node/sandbox/spare_group.h"

#include <algorithm>
#include <cerrno>
#include <stdio.h>
#include <sys/stat.h>

#include "node/shim/files.h"

namespace shim {
namespace {

// More than run at a time for a moment only; 16 empty groups of two sorts weigh 100 kB.
constexpr int kSlots = 16;

std::string spare_of(const Cgroup& cgroup, int slot) {
  return parent_of(cgroup.folder) + "/spare-" + std::to_string(slot);
}

// No process in it, and no group below it.
bool is_empty(const std::string& folder) {
  struct stat facts;
  std::string members;
  return stat(folder.c_str(), &facts) == 0 && facts.st_nlink == 2 &&
         read_whole((folder + "/cgroup.procs").c_str(), members) && members.empty();
}

// Where the processor time is counted in the same tree, the next run begins with none.
bool forget_processor_time(const std::string& folder) {
  return write_file((folder + "/cpuacct.usage").c_str(), "0") || errno == ENOENT;
}

}  // namespace

int spare_slot(int born_before) {
  return born_before < 0 ? -1 : born_before % kSlots;
}

bool can_be_spare(const Cgroup& cgroup, const std::vector<Cgroup>& all) {
  const auto is_written_each_time = [](const auto& limit) {
    return limit.first == "cpu.shares" || limit.first == "pids.max";
  };
  // A tree of several controllers is said several times.
  return !cgroup.unified && !cgroup.limits.empty() &&
         std::all_of(cgroup.limits.begin(), cgroup.limits.end(), is_written_each_time) &&
         std::count_if(all.begin(), all.end(),
                       [&](const Cgroup& each) { return each.folder == cgroup.folder; }) == 1;
}

bool take_spare(const Cgroup& cgroup, int slot) {
  return slot >= 0 && rename(spare_of(cgroup, slot).c_str(), cgroup.folder.c_str()) == 0;
}

bool keep_spare(const Cgroup& cgroup, int slot) {
  return slot >= 0 && is_empty(cgroup.folder) && forget_processor_time(cgroup.folder) &&
         rename(cgroup.folder.c_str(), spare_of(cgroup, slot).c_str()) == 0;
}

}  // namespace shim
