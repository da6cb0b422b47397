#include "node/sandbox/network.h"

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"

namespace shim {

std::string join_network(const NetworkDescriptors& descriptors) {
  if (descriptors.net < 0) return "";
  if (descriptors.user >= 0) {
    if (std::string problem = join_user_namespace(descriptors.user); !problem.empty())
      return problem;
  }
  if (setns(descriptors.net, CLONE_NEWNET) != 0)
    return std::string("cannot enter the pod's network namespace: ") + strerror(errno);
  close(descriptors.net);  // we are in it
  for (const int fd : {descriptors.island, descriptors.user}) {
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  return "";
}

}  // namespace shim
