#pragma once
// The commands that run beside a pod's containers. Each has a socket of its own to whoever asked:
//   terminal        with the descriptor, when one was asked for
//   started | failed <why>
//   exit <code>
// When that socket's other end closes first, the command is told or killed, as its request says.

#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "node/shim/launch.h"

namespace shim {

class Commands {
 public:
  // `descriptors`: answers, the request's file, then input, output and errors unless it asks for a
  // terminal. All become ours to close. `main` is -1 when the container does not run.
  void start(const Container* container, pid_t main, const std::vector<int>& descriptors);
  void add_to(std::vector<pollfd>& waiting) const;
  void add_pids(std::vector<pid_t>& pids) const;
  void read_caller(int fd);          // one of those has something
  bool reap(pid_t pid, int status);  // false: not a command's
  // The container has ended, and every process of it: its commands' groups are removed.
  void forget_groups_below(const std::vector<Cgroup>& cgroups);

 private:
  struct Command {
    pid_t pid = -1;
    int answers = -1;
    std::string group;
    bool kill_when_left = false;
  };
  void leave(Command& command);
  std::string make_group(const Container& container);

  std::vector<Command> running_;
  std::vector<std::string> left_groups_;  // of commands that have ended before what they started
  unsigned number_ = 0;
};

}  // namespace shim
