#include "node/shim/commands.h"

#include <algorithm>
#include <cerrno>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/sandbox/cgroup.h"
#include "node/shim/command.h"
#include "node/shim/descriptors.h"

namespace shim {
namespace {

constexpr size_t kMostCommands = 256;

void close_all(const std::vector<int>& descriptors) {
  for (const int fd : descriptors)
    close(fd);
}

}  // namespace

// Below the container's own group, so that its limits hold; what the command starts can then be
// told from the rest.
std::string Commands::make_group(const Container& container) {
  if (container.cgroups.empty()) return "";
  const std::string folder =
      container.cgroups.back().folder + "/command-" + std::to_string(++number_);
  return mkdir(folder.c_str(), 0755) == 0 ? folder : "";
}

void Commands::start(const Container* container, pid_t main, const std::vector<int>& descriptors) {
  if (descriptors.size() < 2) return close_all(descriptors);
  Command command;
  CommandRequest request;
  command.answers = descriptors[0];
  std::string problem = read_command(descriptors[1], request);
  const std::vector<int> others(descriptors.begin() + 1, descriptors.end());
  CommandDescriptors streams{command.answers};
  if (container == nullptr) {
    problem = "the container is not running";
  } else if (running_.size() >= kMostCommands) {
    problem = "too many commands run in this pod";
  } else if (problem.empty() && !request.terminal && descriptors.size() < 5) {
    problem = "the command has no streams";
  } else if (!request.terminal && problem.empty()) {
    streams.in = descriptors[2];
    streams.out = descriptors[3];
    streams.err = descriptors[4];
  }
  if (problem.empty()) {
    command.group = make_group(*container);
    command.kill_when_left = request.kill_when_left;
    command.pid = start_command(*container, main, request, streams, command.group, problem);
    if (command.pid < 0 && !command.group.empty()) end_cgroup(command.group);
  }
  close_all(others);
  send_message(command.answers, problem.empty() ? "started" : "failed " + problem);
  if (problem.empty()) {
    running_.push_back(std::move(command));
  } else {
    close(command.answers);
  }
}

void Commands::add_to(std::vector<pollfd>& waiting) const {
  for (const Command& command : running_)
    waiting.push_back({command.answers, POLLIN, 0});  // -1, which poll skips, once it was left
}

void Commands::add_pids(std::vector<pid_t>& pids) const {
  for (const Command& command : running_)
    pids.push_back(command.pid);
}

void Commands::read_caller(int fd) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Command& command) { return command.answers == fd; });
  if (found == running_.end()) return;
  char message[64];
  std::vector<int> none;
  const ssize_t size = receive_message(fd, message, sizeof message, none);
  close_all(none);
  if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return;
  leave(*found);
}

void Commands::leave(Command& command) {
  close(command.answers);
  command.answers = -1;
  const int signal = command.kill_when_left ? SIGKILL : SIGHUP;
  kill(-command.pid, signal);
  if (command.group.empty()) return;
  if (command.kill_when_left) {
    end_cgroup(command.group);
  } else {
    signal_cgroup(command.group, signal);
  }
}

bool Commands::reap(pid_t pid, int status) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Command& command) { return command.pid == pid; });
  if (found == running_.end()) return false;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (found->answers >= 0) {
    send_message(found->answers, "exit " + std::to_string(code));
    close(found->answers);
  }
  if (!found->group.empty() && rmdir(found->group.c_str()) != 0 && errno == EBUSY)
    left_groups_.push_back(std::move(found->group));
  running_.erase(found);
  std::erase_if(left_groups_, [](const std::string& group) {
    return rmdir(group.c_str()) == 0 || errno != EBUSY;
  });
  return true;
}

void Commands::forget_groups_below(const std::vector<Cgroup>& cgroups) {
  if (cgroups.empty()) return;
  const std::string above = cgroups.back().folder + "/";
  std::erase_if(left_groups_, [&](const std::string& group) {
    if (group.compare(0, above.size(), above) != 0) return false;
    end_cgroup(group);
    return true;
  });
}

}  // namespace shim
