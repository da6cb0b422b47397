#include "node/stray_processes.h"

#include <filesystem>
#include <signal.h>
#include <unistd.h>

#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

constexpr size_t kMostMountinfo = 4 << 20;
constexpr int kMostRounds = 20;  // one that forks while we look is found in the next

bool kill_once(const std::string& needle) {
  bool found = false;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", code)) {
    const auto pid = parse_int64(entry.path().filename().string());
    if (!pid || *pid <= 1 || *pid == getpid()) continue;
    const auto mounts = read_text(entry.path().string() + "/mountinfo", kMostMountinfo);
    if (!mounts || mounts->find(needle) == std::string::npos) continue;
    found = kill(static_cast<pid_t>(*pid), SIGKILL) == 0 || found;
  }
  return found;
}

}  // namespace

void kill_processes_mounting(const std::string& folder) {
  for (int round = 0; round < kMostRounds && kill_once(folder + "/"); ++round) {
  }
}

}  // namespace yard
