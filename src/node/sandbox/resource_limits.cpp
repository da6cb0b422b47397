#include "node/sandbox/resource_limits.h"

#include <algorithm>
#include <sys/resource.h>

#include "node/sandbox/user_namespace.h"

namespace shim {
namespace {

constexpr rlim_t kMostFiles = 1 << 20;

}  // namespace

void set_resource_limits(const Container& container) {
  rlimit files{kMostFiles, kMostFiles};
  // Raising the bound is root's; up to the bound is everybody's.
  if (setrlimit(RLIMIT_NOFILE, &files) != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (!in_user_namespace() || container.processes_limit == 0) return;
  rlimit processes{};
  if (getrlimit(RLIMIT_NPROC, &processes) != 0) return;
  processes.rlim_max = std::min<rlim_t>(processes.rlim_max, container.processes_limit);
  processes.rlim_cur = processes.rlim_max;
  setrlimit(RLIMIT_NPROC, &processes);
}

}  // namespace shim
