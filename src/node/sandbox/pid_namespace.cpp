#include "node/sandbox/pid_namespace.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {
namespace {

constexpr int kMostStrayRounds = 50;
constexpr int kMostDepth = 64;

enum class Pids { Each, Shared, Machine };
Pids pids = Pids::Each;
pid_t reaper = -1;

[[noreturn]] void reap_for_ever() {
  prctl(PR_SET_NAME, "pause", 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // and with it dies all of the namespace
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    close(fd);
  close_range(3, ~0U, 0);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  for (;;) {
    int number = 0;
    sigwait(&children, &number);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> out;
  std::string text;
  const std::string id = std::to_string(process);
  if (!read_whole(("/proc/" + id + "/task/" + id + "/children").c_str(), text)) return out;
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const long pid = strtol(at, &end, 10);
    if (end == at) return out;
    if (pid > 1) out.push_back(static_cast<pid_t>(pid));
  }
}

uint64_t kilobytes_after(const std::string& text, const char* label) {
  const size_t at = text.find(label);
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + strlen(label), nullptr, 10);
}

uint64_t memory_below(pid_t process, int depth) {
  std::string text;
  if (depth > kMostDepth ||
      !read_whole(("/proc/" + std::to_string(process) + "/status").c_str(), text))
    return 0;
  uint64_t bytes = (kilobytes_after(text, "RssAnon:") + kilobytes_after(text, "RssShmem:")) * 1024;
  for (const pid_t child : children_of(process))
    bytes += memory_below(child, depth + 1);
  return bytes;
}

}  // namespace

std::string prepare_pid_namespace(const Pod& pod) {
  if (pod.host_pid) {
    pids = Pids::Machine;
    return "";
  }
  if (!pod.share_pid) return "";
  if (unshare(CLONE_NEWPID) != 0)
    return std::string("no pid namespace for the pod, each container has its own: ") +
           strerror(errno);
  reaper = fork();
  if (reaper == 0) reap_for_ever();
  if (reaper < 0) return std::string("the pod's pid namespace has no reaper: ") + strerror(errno);
  pids = Pids::Shared;
  return "";
}

bool has_pid_namespace_each() {
  return pids == Pids::Each;
}

pid_t clone_beside(int process, clone_args arguments, std::string& problem) {
  if (pids != Pids::Each) {  // our children see those processes anyway
    arguments.exit_signal = SIGCHLD;
    const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid < 0) problem = std::string("cannot start another process: ") + strerror(errno);
    return static_cast<pid_t>(pid);
  }
  struct Told {
    long pid = -1;
    int error = 0;
  };
  int answer[2];
  if (pipe2(answer, O_CLOEXEC) != 0) {
    problem = std::string("cannot make pipes: ") + strerror(errno);
    return -1;
  }
  const pid_t between = fork();
  if (between == 0) {
    Told told;
    if (setns(process, CLONE_NEWPID) == 0) {
      arguments.flags |= CLONE_PARENT;
      arguments.exit_signal = 0;  // as ours
      told.pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    }
    told.error = errno;
    if (told.pid != 0) {
      write_all(answer[1], reinterpret_cast<const char*>(&told), sizeof told);
      _exit(0);
    }
    close(answer[0]), close(answer[1]);
    return 0;
  }
  Told told{-1, errno};
  close(answer[1]);
  if (between > 0) {
    while (read(answer[0], &told, sizeof told) < 0 && errno == EINTR) {
    }
    waitpid(between, nullptr, 0);
  }
  close(answer[0]);
  if (told.pid < 0)
    problem = std::string("cannot enter the container's processes: ") + strerror(told.error);
  return static_cast<pid_t>(told.pid);
}

bool sees_machine_processes() {
  return pids == Pids::Machine;
}

void kill_strays(const std::vector<pid_t>& mains) {
  if (pids != Pids::Machine) return;
  for (int round = 0; round < kMostStrayRounds; ++round) {
    bool found = false;
    for (const pid_t child : children_of(getpid())) {
      if (std::find(mains.begin(), mains.end(), child) != mains.end()) continue;
      found = true;
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);  // its own children come to us then
    }
    if (!found) return;
  }
}

uint64_t memory_in_use(pid_t process) {
  return memory_below(process, 0);
}

}  // namespace shim
