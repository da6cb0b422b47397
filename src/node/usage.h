#pragma once
// What the containers of this machine use, as their control groups count it. Read from the files
// the shims were given, so nobody has to be asked. Small blocking reads.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

struct ContainerUsage {
  std::string pod_uid, container;
  int64_t cpu_nanoseconds = 0;  // since it began
  int64_t memory_bytes = 0;     // without what the kernel could drop at once, as kubelet counts
  bool is_counted = false;      // by a control group
};

struct ContainerProcess {
  std::string pod_uid, container;
  int pid = 0;  // its first
};

// Of the newest run of each container of each pod below <state>/run. Where no control group counts,
// the processes that came of `processes` do.
std::vector<ContainerUsage> container_usage(const std::string& state_folder,
                                            const std::vector<ContainerProcess>& processes = {});

struct MachineUsage {
  int64_t busy_ticks = 0, all_ticks = 0;  // of all processors, since boot
  int64_t memory_bytes = 0;
};
MachineUsage machine_usage();

// The parts that are text. Pure.
int64_t value_in(std::string_view lines, std::string_view name);  // `name 123` in one of the lines
int64_t processor_ticks_in(std::string_view proc_pid_stat);
struct ProcessFacts {
  int parent = 0;
  int64_t ticks = 0, resident_pages = 0;
};
ProcessFacts process_facts_in(std::string_view proc_pid_stat);
// All that came of `root`, itself included.
ProcessFacts tree_of(int root, const std::map<int, ProcessFacts>& processes);
MachineUsage machine_usage_in(std::string_view proc_stat, std::string_view meminfo);
// <container>.<run>.json → container and run; run -1 for any other file.
struct RunFile {
  std::string container;
  int run = -1;
};
RunFile run_file_named(std::string_view file);

}  // namespace yard
