#pragma once
// A command beside a container's first process, in its namespaces and as its user: kubectl exec,
// probes, hooks. Its input and output are descriptors that came with the request; the shim moves no
// byte of it.

#include <string>
#include <sys/types.h>
#include <vector>

#include "node/shim/launch.h"
#include "node/shim/order.h"

namespace shim {

// `answers` hears `terminal` with the terminal's other end when one was asked for; the three
// streams are used when none was.
struct CommandDescriptors {
  int answers = -1, in = -1, out = -1, err = -1;
};

// An empty text is success.
std::string read_command(int fd, CommandRequest& request);
// `main` is the container's first process; `group` a control group below the container's last one
// that holds what the command starts ("": none). Returns when the command has been executed, or -1
// and why not.
pid_t start_command(const Container& container, pid_t main, const CommandRequest& request,
                    const CommandDescriptors& descriptors, const std::string& group,
                    std::string& problem);

// A TCP socket in the pod's network that connects to a numeric address; -1 and errno.
int dial(const char* host, int port);

}  // namespace shim
