#include "node/shim/borrowed_memory.h"

#include <cerrno>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shim {
namespace {

// Of which only what is used is ever there. A path of a thousand folders is made a step deep each.
constexpr size_t kStackBytes = 1 << 20, kGuardBytes = 64 << 10;

struct Call {
  const std::function<std::string()>& body;
  std::string& problem;
};

int begin(void* given) {
  Call& call = *static_cast<Call*>(given);
  call.problem = call.body();
  _exit(127);
}

}  // namespace

pid_t clone_in_our_memory(int namespaces, const std::function<std::string()>& body,
                          std::string& problem) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, kGuardBytes, PROT_NONE) != 0) {
    problem = std::string("cannot make a stack: ") + strerror(errno);
    return -1;
  }
  Call call{body, problem};
  // Rights it has given up are no longer in the way of another process that has no more.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const pid_t pid = clone(begin, static_cast<char*>(stack) + kStackBytes,
                          CLONE_VM | CLONE_VFORK | namespaces | SIGCHLD, &call);
  if (pid < 0) problem = std::string("cannot make the container's namespaces: ") + strerror(errno);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  munmap(stack, kStackBytes);
  if (pid > 0 && !problem.empty()) waitpid(pid, nullptr, 0);
  return pid;
}

}  // namespace shim
