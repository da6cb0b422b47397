#include "node/cgroup_folders.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMostProcText = 4 << 20;
constexpr int kMostSweepRounds = 200, kSweepPauseMicros = 5000;

bool write_control(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int problem = errno;
  close(fd);
  errno = problem;
  return ok;
}

bool make_group(const std::string& folder) {
  return mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST;
}

// A v1 root that does not let us make a group is given up.
void try_root(std::string& root, const char* what, CgroupPlace& place) {
  if (root.empty()) {
    place.refusals.push_back(fmt::format("{}: no control group for it is mounted", what));
    return;
  }
  if (make_group(root + "/" + place.name)) return;
  place.refusals.push_back(fmt::format("{}: {} in {}", what, std::strerror(errno), root));
  root.clear();
}

// A group of our own alone can hand its controllers down once we have stepped into a leaf of it.
bool can_take_groups(const std::string& group, const std::string& enable) {
  if (write_control(group + "/cgroup.subtree_control", enable)) return true;
  if (errno != EBUSY) return false;
  const std::string leaf = group + "/trainyard-server";
  if (!make_group(leaf) || !write_control(leaf + "/cgroup.procs", std::to_string(getpid())))
    return false;
  if (write_control(group + "/cgroup.subtree_control", enable)) return true;
  // Others live there too: back, as if nothing had been tried.
  write_control(group + "/cgroup.procs", std::to_string(getpid()));
  rmdir(leaf.c_str());
  errno = EBUSY;
  return false;
}

void try_unified(CgroupPlace& place) {
  std::string why = "no controllers";
  for (const std::string& group : unified_candidates(place.roots)) {
    const auto controllers =
        wanted_controllers(read_text(group + "/cgroup.controllers", kMostProcText).value_or(""));
    if (controllers.empty()) continue;
    if (can_take_groups(group, enabling_text(controllers)) &&
        make_group(group + "/" + place.name)) {
      place.roots.unified = group;
      place.roots.controllers = controllers;
      for (const char* name : {"memory", "cpu", "pids"}) {
        if (std::ranges::find(controllers, name) == controllers.end())
          place.refusals.push_back(
              fmt::format("limits of {}: {} does not hand that controller down", name, group));
      }
      return;
    }
    why = std::strerror(errno);
  }
  place.refusals.push_back(
      fmt::format("limits of memory, cpu and processes: {} below {} (start the server with "
                  "`systemd-run --user --scope -p Delegate=yes trainyard up`, and `loginctl "
                  "enable-linger` keeps it over a logout)",
                  why, place.roots.unified));
  // Without controllers a group still holds a pod's processes together.
  for (const std::string& group : unified_candidates(place.roots)) {
    if (!make_group(group + "/" + place.name)) continue;
    place.roots.unified = group;
    return;
  }
  place.roots.unified.clear();
}

std::string note_path(const std::string& state_folder) {
  return state_folder + "/cgroups";
}

void note(const std::string& state_folder, const std::vector<std::string>& bases) {
  std::vector<std::string> all = noted_cgroups(state_folder);
  // What an earlier server noted stays while it is there.
  std::erase_if(all, [](const std::string& base) {
    std::error_code code;
    return !fs::is_directory(base, code);
  });
  for (const std::string& base : bases) {
    if (std::ranges::find(all, base) == all.end()) all.push_back(base);
  }
  std::string text;
  for (const std::string& base : all)
    text += base + "\n";
  if (auto written = write_text(note_path(state_folder), text, 0600); !written)
    log_warning("{}", written.error().message);
}

void kill_all_in(const std::string& group) {
  if (write_control(group + "/cgroup.kill", "1")) return;  // v2
  const auto left = read_text(group + "/cgroup.procs", kMostProcText).value_or("");
  for (const std::string_view word : split(left, '\n')) {
    if (const auto pid = parse_int64(word); pid && *pid > 1)
      kill(static_cast<pid_t>(*pid), SIGKILL);
  }
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (entry.is_directory(code)) out.push_back(entry.path().string());
  }
  return out;
}

void remove_group(const std::string& group) {
  for (const std::string& below : folders_in(group))  // of commands, of containers
    remove_group(below);
  for (int round = 0; rmdir(group.c_str()) != 0 && errno == EBUSY && round < kMostSweepRounds;
       ++round) {
    kill_all_in(group);
    usleep(kSweepPauseMicros);  // a killed task leaves its group a moment later, without telling
  }
}

// Of a container's group <uid>.<container>.<run>, or of a pod's, <uid>, as former versions made
// them.
std::string_view uid_in(std::string_view group) {
  group.remove_prefix(group.find_last_of('/') + 1);
  return group.substr(0, group.find('.'));
}

}  // namespace

CgroupPlace prepare_cgroups(const std::string& state_folder) {
  CgroupPlace place;
  place.name = "trainyard-" + hex(hash_bytes(state_folder));
  place.roots = own_cgroups(read_text("/proc/self/cgroup", kMostProcText).value_or(""),
                            read_text("/proc/self/mountinfo", kMostProcText).value_or(""));
  if (!place.roots.unified.empty()) {
    try_unified(place);
  } else {
    try_root(place.roots.memory, "memory limits", place);
    try_root(place.roots.cpu, "cpu limits", place);
    try_root(place.roots.pids, "limits of the number of processes", place);
  }
  const auto bases = cgroup_bases(place.roots, place.name);
  note(state_folder, bases);
  return place;
}

std::vector<std::string> noted_cgroups(const std::string& state_folder) {
  std::vector<std::string> out;
  const auto text = read_text(note_path(state_folder), kMostProcText).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    // Only groups of ours are ever killed, whatever the file says.
    if (line.starts_with('/') && line.find("/trainyard-") != std::string_view::npos)
      out.emplace_back(line);
  }
  return out;
}

void sweep_pod_cgroups(const std::vector<std::string>& bases, const std::string& uid) {
  for (const std::string& base : bases) {
    for (const std::string& group : folders_in(base)) {
      if (uid_in(group) == uid) remove_group(group);
    }
  }
}

void sweep_lost_cgroups(const std::string& state_folder) {
  for (const std::string& base : noted_cgroups(state_folder)) {
    for (const std::string& group : folders_in(base)) {
      std::error_code code;
      if (!fs::exists(fmt::format("{}/run/{}", state_folder, uid_in(group)), code))
        remove_group(group);
    }
  }
}

void remove_spare_cgroups(const std::string& base) {
  for (const std::string& group : folders_in(base)) {
    if (group.starts_with(base + "/spare-")) rmdir(group.c_str());
  }
  rmdir(base.c_str());  // stays while there are pods in it
}

void sweep_all_cgroups(const std::string& state_folder) {
  for (const std::string& base : noted_cgroups(state_folder)) {
    for (const std::string& group : folders_in(base))
      remove_group(group);
    rmdir(base.c_str());
    // Where the server had to step aside, its leaf is empty by now.
    rmdir((base.substr(0, base.find_last_of('/')) + "/trainyard-server").c_str());
  }
}

}  // namespace yard
