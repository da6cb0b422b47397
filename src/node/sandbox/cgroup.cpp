#include "node/sandbox/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/sandbox/spare_group.h"
#include "node/shim/files.h"

namespace shim {
namespace {

constexpr int kMostKillRounds = 50, kMostMakeRounds = 10;

std::string refusal(const std::string& what) {
  return what + ": " + strerror(errno);
}

}  // namespace

std::vector<std::string> make_cgroups(std::vector<Cgroup>& cgroups, int slot) {
  std::vector<std::string> refusals;
  for (Cgroup& cgroup : cgroups)
    cgroup.is_new = can_be_spare(cgroup, cgroups) && take_spare(cgroup, slot);
  std::erase_if(cgroups, [&](Cgroup& cgroup) {
    if (cgroup.is_new) return false;
    // Another pod that ends may take an empty parent away in between.
    for (int round = 0; round < kMostMakeRounds; ++round) {
      cgroup.is_new = mkdir(cgroup.folder.c_str(), 0755) == 0;
      if (cgroup.is_new || make_folders(cgroup.folder)) return false;
      if (errno != ENOENT) break;
    }
    refusals.push_back(refusal("cannot make the control group " + cgroup.folder));
    return true;
  });
  for (const Cgroup& cgroup : cgroups) {
    for (const auto& [file, text] : cgroup.limits) {
      if (!write_file((cgroup.folder + "/" + file).c_str(), text))
        refusals.push_back(refusal("cannot set " + file + " to " + text));
    }
  }
  return refusals;
}

std::string open_cgroups(const std::vector<Cgroup>& cgroups, std::vector<int>& ways) {
  for (const Cgroup& cgroup : cgroups) {
    if (cgroup.unified) continue;
    ways.push_back(open((cgroup.folder + "/tasks").c_str(), O_WRONLY | O_CLOEXEC));
    if (ways.back() < 0) return refusal("cannot enter the control group " + cgroup.folder);
  }
  return "";
}

std::string enter_cgroups(const std::vector<int>& ways) {
  for (const int way : ways) {
    if (!write_all(way, "0", 1)) return refusal("cannot enter a control group");
    close(way);
  }
  return "";
}

bool has_unified(const std::vector<Cgroup>& cgroups) {
  return std::any_of(cgroups.begin(), cgroups.end(),
                     [](const Cgroup& each) { return each.unified; });
}

std::string join_unified_cgroup(const std::vector<Cgroup>& cgroups) {
  for (const Cgroup& cgroup : cgroups) {
    if (cgroup.unified && !write_file((cgroup.folder + "/cgroup.procs").c_str(), "0"))
      return refusal("cannot enter the control group " + cgroup.folder);
  }
  return "";
}

int open_unified_cgroup(const std::vector<Cgroup>& cgroups) {
  for (const Cgroup& cgroup : cgroups) {
    if (cgroup.unified) return open(cgroup.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  return -1;
}

long oom_kills(const std::vector<Cgroup>& cgroups) {
  for (const Cgroup& cgroup : cgroups) {
    std::string text;
    const char* file = cgroup.unified ? "/memory.events" : "/memory.oom_control";
    if (!read_whole((cgroup.folder + file).c_str(), text)) continue;
    const size_t at = text.find("oom_kill ");
    if (at != std::string::npos) return strtol(text.c_str() + at + 9, nullptr, 10);
  }
  return 0;
}

void signal_cgroup(const std::string& folder, int signal) {
  // v2 kills a group whole, and those below it.
  if (signal == SIGKILL && write_file((folder + "/cgroup.kill").c_str(), "1")) return;
  std::string text;
  if (!read_whole((folder + "/cgroup.procs").c_str(), text)) return;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const long pid = strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 1) kill(static_cast<pid_t>(pid), signal);
    at = *end == '\n' ? end + 1 : end;
  }
}

void end_cgroup(const std::string& folder) {
  for (int round = 0; rmdir(folder.c_str()) != 0 && errno == EBUSY && round < kMostKillRounds;
       ++round) {
    signal_cgroup(folder, SIGKILL);
    usleep(1000);  // a killed task leaves its group a moment later, without telling
  }
}

void remove_cgroups(const std::vector<Cgroup>& cgroups, int slot) {
  for (const Cgroup& cgroup : cgroups) {
    if (can_be_spare(cgroup, cgroups) && keep_spare(cgroup, slot)) continue;
    end_cgroup(cgroup.folder);  // that of all pods stays for the next
  }
}

}  // namespace shim
