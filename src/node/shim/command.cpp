#include "node/shim/command.h"

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/sandbox/cgroup.h"
#include "node/sandbox/pid_namespace.h"
#include "node/sandbox/privileges.h"
#include "node/sandbox/user_namespace.h"
#include "node/shim/descriptors.h"
#include "node/shim/files.h"
#include "node/shim/spawn.h"
#include "node/shim/terminal.h"

namespace shim {
namespace {

constexpr size_t kMostRequest = 4 << 20;

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

std::string join_and_execute(const Container& container, int main, const CommandRequest& request,
                             const CommandDescriptors& descriptors) {
  std::vector<int> ways;
  if (std::string problem = open_cgroups(container.cgroups, ways); !problem.empty()) return problem;
  if (std::string problem = enter_cgroups(ways); !problem.empty()) return problem;
  if (std::string problem = join_unified_cgroup(container.cgroups); !problem.empty())
    return problem;
  write_file("/proc/self/oom_score_adj", std::to_string(container.oom_score_adjust));
  if (setns(main, CLONE_NEWNS) != 0) return failure("cannot enter the container's files");
  if (request.terminal) {
    if (std::string problem = open_terminal(container, descriptors.answers); !problem.empty())
      return problem;
  } else {
    dup2(descriptors.in, STDIN_FILENO);
    dup2(descriptors.out, STDOUT_FILENO);
    dup2(descriptors.err, STDERR_FILENO);
  }
  const char* folder = container.working_folder.empty() ? "/" : container.working_folder.c_str();
  if (chdir(folder) != 0) return failure(std::string("cannot enter the working folder ") + folder);
  if (std::string problem = drop_privileges(container); !problem.empty()) return problem;
  return execute(container);
}

[[noreturn]] void run_command(const Container& container, int main, const CommandRequest& request,
                              const CommandDescriptors& descriptors, int report) {
  setsid();
  restore_signals();
  umask(022);
  const std::string problem = join_and_execute(container, main, request, descriptors);
  write_all(report, problem.data(), problem.size());
  _exit(127);
}

// The child is born in the container's pid namespace, and still ours to wait for.
pid_t fork_into(int main, std::string& problem) {
  // Until it executes the command the child holds our descriptors and rights: whoever is root in
  // the container must not look into it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  clone_args arguments{};
  const pid_t pid = clone_beside(main, arguments, problem);
  if (pid != 0) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return pid;
}

}  // namespace

std::string read_command(int fd, CommandRequest& request) {
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while (text.size() < kMostRequest &&
         (count = pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0)
    text.append(buffer, static_cast<size_t>(count));
  return count == 0 ? read_command(text, request) : "the command could not be read";
}

pid_t start_command(const Container& container, pid_t main, const CommandRequest& request,
                    const CommandDescriptors& descriptors, const std::string& group,
                    std::string& problem) {
  int report[2];
  const int main_fd = static_cast<int>(syscall(SYS_pidfd_open, main, 0));
  if (main_fd < 0 || pipe2(report, O_CLOEXEC) != 0) {
    problem = failure("cannot reach the container");
    if (main_fd >= 0) close(main_fd);
    return -1;
  }
  Container as = container;
  as.argv = request.argv;
  if (request.terminal) as.env.push_back("TERM=xterm");
  if (!group.empty()) as.cgroups.back().folder = group;
  const pid_t pid = fork_into(main_fd, problem);
  if (pid == 0) run_command(as, main_fd, request, descriptors, report[1]);
  close(main_fd);
  close(report[1]);
  if (pid > 0) problem = read_report(report[0]);
  close(report[0]);
  if (pid > 0 && !problem.empty()) waitpid(pid, nullptr, 0);
  return problem.empty() ? pid : -1;
}

int dial(const char* host, int port) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(static_cast<uint16_t>(port));
  const bool is_four = inet_pton(AF_INET, host, &four.sin_addr) == 1;
  if (!is_four && inet_pton(AF_INET6, host, &six.sin6_addr) != 1) {
    errno = EINVAL;
    return -1;
  }
  const int fd =
      socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int begun = is_four ? connect(fd, reinterpret_cast<sockaddr*>(&four), sizeof four)
                            : connect(fd, reinterpret_cast<sockaddr*>(&six), sizeof six);
  if (begun == 0 || errno == EINPROGRESS) return fd;
  const int problem = errno;
  close(fd);
  errno = problem;
  return -1;
}

}  // namespace shim
