#include "node/shim/spawn.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "node/sandbox/cgroup.h"
#include "node/sandbox/namespaces.h"
#include "node/sandbox/pid_namespace.h"
#include "node/sandbox/pod_memory.h"
#include "node/sandbox/privileges.h"
#include "node/sandbox/resource_limits.h"
#include "node/sandbox/root.h"
#include "node/sandbox/user_namespace.h"
#include "node/shim/borrowed_memory.h"
#include "node/shim/descriptors.h"
#include "node/shim/files.h"
#include "node/shim/terminal.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts)
    out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string path_of(const Container& container) {
  for (const std::string& entry : container.env) {
    if (entry.compare(0, 5, "PATH=") == 0) return entry.substr(5);
  }
  return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

// Both ends of what the container's first process reads and writes.
struct Streams {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  int terminal[2] = {-1, -1};  // a socket on which the terminal comes
  int gate[2] = {-1, -1};      // and one for the questions of a container that waits for a port
};

std::string confine_and_execute(const Container& container, const PodPlaces& places,
                                const Streams& streams) {
  std::vector<int> ways;
  if (std::string problem = open_cgroups(container.cgroups, ways); !problem.empty()) return problem;
  // A shim that holds its pod's memory has no mounts of its own: ours were the host's until now.
  if (pod_memory() >= 0) {
    if (std::string problem = part_mounts(); !problem.empty()) return problem;
  }
  // Raising the score needs no right; lowering it does, and a pod without it is merely more likely
  // to be chosen.
  write_file("/proc/self/oom_score_adj", std::to_string(container.oom_score_adjust));
  set_resource_limits(container);
  const std::string name = container.name + "." + std::to_string(container.run);
  // The root covers its own upper layer, in this process's mounts alone.
  const RootFolders folders{places.run + "/upper." + name,
                            places.run + "/upper." + name,
                            places.run + "/work." + name,
                            places.transient + "/mountpoints/" + name,
                            container.host_ipc ? "/dev/shm" : places.transient + "/shm",
                            parent_of(parent_of(places.run)) + "/skeleton",
                            container.host_ipc ? -1 : pod_memory()};
  if (std::string problem = build_root(container, folders); !problem.empty()) return problem;
  if (container.terminal) {
    if (std::string problem = open_terminal(container, streams.terminal[1]); !problem.empty())
      return problem;
  }
  // Only now: what the kernel keeps of the root's mounts would be charged to the container's group
  // of memory, and its share of the processor may be small where its start is awaited.
  if (std::string problem = enter_cgroups(ways); !problem.empty()) return problem;
  const char* working_folder =
      container.working_folder.empty() ? "/" : container.working_folder.c_str();
  if (chdir(working_folder) != 0)
    return failure(std::string("cannot enter the working folder ") + working_folder);
  if (std::string problem = drop_privileges(container, streams.gate[1]); !problem.empty())
    return problem;
  return execute(container);
}

// Returns only when it failed, and why.
std::string become(const Container& container, const PodPlaces& places, const Streams& streams) {
  setsid();
  restore_signals();
  if (!container.terminal) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(container.input ? streams.in[0] : null, STDIN_FILENO);
    dup2(streams.out[1], STDOUT_FILENO);
    dup2(streams.err[1], STDERR_FILENO);
  }
  umask(022);
  return confine_and_execute(container, places, streams);
}

// A pid namespace, so that whatever the container starts dies with its first process; mounts of its
// own.
pid_t clone_child(const Container& container, pid_t beside, std::string& problem) {
  clone_args arguments{};
  const bool joins = has_pid_namespace_each() && beside > 0;
  arguments.flags = CLONE_NEWNS | (has_pid_namespace_each() && !joins ? CLONE_NEWPID : 0);
  arguments.exit_signal = SIGCHLD;
  const int cgroup = open_unified_cgroup(container.cgroups);
  if (cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(cgroup);
  }
  long pid = -1;
  if (joins) {
    const int process = static_cast<int>(syscall(SYS_pidfd_open, beside, 0));
    pid = clone_beside(process, arguments, problem);
    if (process >= 0 && pid != 0) close(process);
  } else {
    pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid < 0) problem = failure("cannot make the container's namespaces");
  }
  if (cgroup >= 0 && pid != 0) close(cgroup);
  return static_cast<pid_t>(pid);
}

bool make_pipe(int (&ends)[2]) {
  return pipe2(ends, O_CLOEXEC) == 0;
}

// Where nobody else is beside the child, where it is not the one that is killed for want of memory
// (the kernel would kill us with it), and once: what it allocates is left to us.
bool can_live_in_our_memory(const Container& container, pid_t beside) {
  const auto has_memory_limit = [](const Cgroup& cgroup) {
    return std::any_of(cgroup.limits.begin(), cgroup.limits.end(),
                       [](const auto& limit) { return limit.first.starts_with("memory."); });
  };
  return !in_user_namespace() && has_pid_namespace_each() && beside < 0 && container.run == 0 &&
         !container.terminal && container.awaited.address.empty() &&
         !has_unified(container.cgroups) &&
         std::none_of(container.cgroups.begin(), container.cgroups.end(), has_memory_limit);
}

pid_t start_apart(const Container& container, const PodPlaces& places, const Streams& streams,
                  pid_t beside, std::string& problem) {
  int report[2] = {-1, -1};
  if (!make_pipe(report)) {
    problem = failure("cannot make pipes");
    return -1;
  }
  const pid_t pid = clone_child(container, beside, problem);
  if (pid == 0) {
    const std::string failed = become(container, places, streams);
    write_all(report[1], failed.data(), failed.size());
    _exit(127);
  }
  close(report[1]);
  if (pid > 0) {
    problem = read_report(report[0]);
    if (!problem.empty()) waitpid(pid, nullptr, 0);
  }
  close(report[0]);
  return pid;
}

// -1: the child could not make one, and has waited itself.
int received_gate(int (&ends)[2]) {
  close(std::exchange(ends[1], -1));
  char word[16];
  std::vector<int> descriptors;
  receive_message(ends[0], word, sizeof word, descriptors);
  return descriptors.empty() ? -1 : descriptors[0];
}

void close_both(const int (&ends)[2]) {
  for (const int end : ends) {
    if (end >= 0) close(end);
  }
}

}  // namespace

// execve along PATH; the words are those container runtimes use.
std::string execute(const Container& container) {
  const std::vector<char*> argv = pointers(container.argv), env = pointers(container.env);
  const std::string& command = container.argv[0];
  if (command.find('/') != std::string::npos) {
    execve(command.c_str(), argv.data(), env.data());
    return "exec: \"" + command + "\": " + strerror(errno);
  }
  const std::string path = path_of(container);
  int problem = ENOENT;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = (end == begin ? "." : path.substr(begin, end - begin)) + "/" + command;
    execve(file.c_str(), argv.data(), env.data());
    if (errno != ENOENT && errno != ENOTDIR) problem = errno;
    begin = end + 1;
  }
  return "exec: \"" + command +
         "\": " + (problem == ENOENT ? "executable file not found in $PATH" : strerror(problem));
}

void forget_ignored_signals() {
  for (int number = 1; number < NSIG; ++number)
    signal(number, SIG_DFL);
}

void restore_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string read_report(int fd) {
  // The write end closes on exec.
  std::string out;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof buffer)) > 0 || (count < 0 && errno == EINTR)) {
    if (count > 0) out.append(buffer, static_cast<size_t>(count));
  }
  return out;
}

unsigned long long start_ticks(pid_t pid) {
  std::string text;
  if (!read_whole(("/proc/" + std::to_string(pid) + "/stat").c_str(), text)) return 0;
  size_t at = text.rfind(')');
  // Field 22; field 3 follows the command's name.
  for (int field = 3; at != std::string::npos && field <= 22; ++field)
    at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + 1, nullptr, 10);
}

Spawned spawn(const Container& container, const PodPlaces& places, pid_t beside) {
  Spawned out;
  Streams streams;
  const auto close_all = [&] {
    close_both(streams.in), close_both(streams.out), close_both(streams.err);
    close_both(streams.terminal), close_both(streams.gate);
  };
  const auto make_sockets = [](int(&ends)[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
  };
  const bool made = container.terminal ? make_sockets(streams.terminal)
                                       : make_pipe(streams.out) && make_pipe(streams.err) &&
                                             (!container.input || make_pipe(streams.in));
  if (!made || (!container.awaited.address.empty() && !make_sockets(streams.gate))) {
    out.problem = failure("cannot make pipes");
    close_all();
    return out;
  }
  const pid_t pid = can_live_in_our_memory(container, beside)
                        ? clone_in_our_memory(
                              CLONE_NEWNS | CLONE_NEWPID,
                              [&] { return become(container, places, streams); }, out.problem)
                        : start_apart(container, places, streams, beside, out.problem);
  if (out.problem.empty()) {
    out.pid = pid;
    if (container.terminal) {
      char word[16];
      std::vector<int> descriptors;
      receive_message(streams.terminal[0], word, sizeof word, descriptors);
      if (!descriptors.empty()) out.out = descriptors[0];
      out.in = dup(out.out);
      fcntl(out.in, F_SETFD, FD_CLOEXEC);
    } else {
      out.in = std::exchange(streams.in[1], -1);
      out.out = std::exchange(streams.out[0], -1);
      out.err = std::exchange(streams.err[0], -1);
    }
    for (const int end : {out.out, out.err}) {
      if (end >= 0) fcntl(end, F_SETFL, O_NONBLOCK);
    }
    if (streams.gate[0] >= 0) out.gate = received_gate(streams.gate);
  }
  close_all();
  return out;
}

}  // namespace shim
