#include "node/usage.h"

#include <filesystem>
#include <map>
#include <unistd.h>

#include "api/tree.h"
#include "base/strings.h"
#include "json/json.h"
#include "node/files.h"
#include "node/transient.h"

namespace yard {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMostText = 1 << 20, kMostLaunchFile = 16 << 20;

std::string small_file(const std::string& path) {
  return read_text(path, kMostText).value_or("");
}

// Where no group counts processor time (cpuacct may be mounted apart, and not be ours), the group's
// processes do.
int64_t processor_time_of_members(const std::string& folder) {
  const long ticks = std::max(1L, sysconf(_SC_CLK_TCK));
  int64_t sum = 0;
  for (const std::string_view pid : split(small_file(folder + "/cgroup.procs"), '\n')) {
    if (!pid.empty()) sum += processor_ticks_in(small_file("/proc/" + std::string(pid) + "/stat"));
  }
  return sum * (1'000'000'000 / ticks);
}

// Version 1 has a folder for each controller, version 2 one for all: whichever file is there
// counts.
void add_group(ContainerUsage& out, const std::string& folder) {
  if (const auto nanoseconds = parse_int64(trim(small_file(folder + "/cpuacct.usage")))) {
    out.cpu_nanoseconds += *nanoseconds;
  } else if (const std::string stat = small_file(folder + "/cpu.stat");
             stat.find("usage_usec") != std::string::npos) {
    out.cpu_nanoseconds += value_in(stat, "usage_usec") * 1000;
  }
  for (const auto& [file, droppable] : {std::pair{"/memory.usage_in_bytes", "total_inactive_file"},
                                        std::pair{"/memory.current", "inactive_file"}}) {
    const auto bytes = parse_int64(trim(small_file(folder + file)));
    if (!bytes) continue;
    const int64_t cache = value_in(small_file(folder + "/memory.stat"), droppable);
    out.memory_bytes += std::max<int64_t>(0, *bytes - cache);
  }
}

std::map<int, ProcessFacts> all_processes() {
  std::map<int, ProcessFacts> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const auto pid = parse_int64(entry.path().filename().string());
    if (pid) out[static_cast<int>(*pid)] = process_facts_in(small_file(entry.path() / "stat"));
  }
  return out;
}

void add_processes(std::vector<ContainerUsage>& usage,
                   const std::vector<ContainerProcess>& processes) {
  std::map<int, ProcessFacts> all;
  const long ticks = std::max(1L, sysconf(_SC_CLK_TCK)), page = sysconf(_SC_PAGESIZE);
  for (const ContainerProcess& process : processes) {
    for (ContainerUsage& each : usage) {
      if (each.pod_uid != process.pod_uid || each.container != process.container || each.is_counted)
        continue;
      if (all.empty()) all = all_processes();
      const ProcessFacts sum = tree_of(process.pid, all);
      each.cpu_nanoseconds = sum.ticks * (1'000'000'000 / ticks);
      each.memory_bytes = sum.resident_pages * page;
    }
  }
}

void add_pod(std::vector<ContainerUsage>& out, const std::string& uid, const fs::path& folder) {
  std::map<std::string, int> newest;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const RunFile file = run_file_named(entry.path().filename().string());
    if (file.run < 0) continue;
    int& run = newest.emplace(file.container, file.run).first->second;
    run = std::max(run, file.run);
  }
  for (const auto& [container, run] : newest) {
    const std::string path =
        folder.string() + "/" + container + "." + std::to_string(run) + ".json";
    const auto launch = parse_json(read_text(path, kMostLaunchFile).value_or(""));
    if (!launch) continue;
    ContainerUsage usage{uid, container};
    std::string last_group;
    for (const Json& group : list_at(launch->value, {"cgroups"})) {
      usage.is_counted = true;
      last_group = text_at(group, {"folder"});
      add_group(usage, last_group);
    }
    if (usage.cpu_nanoseconds == 0 && !last_group.empty())
      usage.cpu_nanoseconds = processor_time_of_members(last_group);
    out.push_back(std::move(usage));
  }
}

}  // namespace

int64_t value_in(std::string_view lines, std::string_view name) {
  for (const std::string_view line : split(lines, '\n')) {
    if (!line.starts_with(name) || line.size() <= name.size() ||
        (line[name.size()] != ' ' && line[name.size()] != ':'))
      continue;
    std::string_view number = trim(line.substr(name.size() + 1));
    number = number.substr(0, number.find(' '));
    return parse_int64(number).value_or(0);
  }
  return 0;
}

int64_t processor_ticks_in(std::string_view proc_pid_stat) {
  const size_t name_end = proc_pid_stat.rfind(')');
  if (name_end == std::string_view::npos) return 0;
  // proc(5) counts from 1: the state follows the name and is the third; utime and stime are 14, 15.
  const auto fields = split(trim(proc_pid_stat.substr(name_end + 1)), ' ');
  if (fields.size() < 13) return 0;
  return parse_int64(fields[11]).value_or(0) + parse_int64(fields[12]).value_or(0);
}

ProcessFacts process_facts_in(std::string_view proc_pid_stat) {
  const size_t name_end = proc_pid_stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  const auto fields = split(trim(proc_pid_stat.substr(name_end + 1)), ' ');
  if (fields.size() < 22) return {};
  return {static_cast<int>(parse_int64(fields[1]).value_or(0)), processor_ticks_in(proc_pid_stat),
          parse_int64(fields[21]).value_or(0)};
}

ProcessFacts tree_of(int root, const std::map<int, ProcessFacts>& processes) {
  ProcessFacts out;
  for (const auto& [pid, facts] : processes) {
    int at = pid;
    // Bounded: pids may be used anew while they are looked at, and then lead in a circle.
    for (int steps = 0; at != root && at > 1 && steps < 1000; ++steps) {
      const auto found = processes.find(at);
      at = found == processes.end() ? 0 : found->second.parent;
    }
    if (at != root) continue;
    out.ticks += facts.ticks;
    out.resident_pages += facts.resident_pages;
  }
  return out;
}

MachineUsage machine_usage_in(std::string_view proc_stat, std::string_view meminfo) {
  MachineUsage out;
  const std::string_view first = proc_stat.substr(0, proc_stat.find('\n'));
  int64_t idle = 0;
  int field = 0;
  for (const std::string_view word : split(first, ' ')) {
    const auto ticks = parse_int64(word);
    if (!ticks) continue;
    // user nice system idle iowait irq softirq steal; guests are counted in user already.
    if (field < 8) out.all_ticks += *ticks;
    if (field == 3 || field == 4) idle += *ticks;
    ++field;
  }
  out.busy_ticks = out.all_ticks - idle;
  out.memory_bytes =
      std::max<int64_t>(0, value_in(meminfo, "MemTotal") - value_in(meminfo, "MemAvailable")) *
      1024;
  return out;
}

RunFile run_file_named(std::string_view file) {
  if (!file.ends_with(".json")) return {};
  file.remove_suffix(5);
  const size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const auto run = parse_int64(file.substr(dot + 1));
  if (!run || *run < 0 || *run > 1'000'000'000) return {};
  return {std::string(file.substr(0, dot)), static_cast<int>(*run)};
}

std::vector<ContainerUsage> container_usage(const std::string& state_folder,
                                            const std::vector<ContainerProcess>& processes) {
  std::vector<ContainerUsage> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(state_folder + "/run", failed)) {
    const std::string uid = entry.path().filename().string();
    if (entry.is_directory(failed)) add_pod(out, uid, transient_of(state_folder, uid));
  }
  add_processes(out, processes);
  return out;
}

MachineUsage machine_usage() {
  return machine_usage_in(small_file("/proc/stat"), small_file("/proc/meminfo"));
}

}  // namespace yard
