#include "node/sandbox/network.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"
#include "node/shim/files.h"

namespace shim {
namespace {

bool has_own_network = false;

}  // namespace

std::string join_network(const NetworkDescriptors& descriptors) {
  if (descriptors.net < 0) return "";
  if (descriptors.user >= 0) {
    if (std::string problem = join_user_namespace(descriptors.user); !problem.empty())
      return problem;
  }
  if (setns(descriptors.net, CLONE_NEWNET) != 0)
    return std::string("cannot enter the pod's network namespace: ") + strerror(errno);
  close(descriptors.net);  // we are in it
  has_own_network = true;
  for (const int fd : {descriptors.island, descriptors.user}) {
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  return "";
}

bool is_network_own() {
  return has_own_network;
}

void open_low_ports(const Pod& pod, const Container& container) {
  constexpr uint64_t kNeeded = 1ULL << CAP_NET_BIND_SERVICE | 1ULL << CAP_NET_RAW;
  const bool may_already =
      container.uid == 0 && !in_user_namespace() && (container.capabilities & kNeeded) == kNeeded;
  if (may_already || !has_own_network) return;
  for (const auto& [file, text] : {std::pair{"net/ipv4/ip_unprivileged_port_start", "0"},
                                   {"net/ipv4/ping_group_range", "0 2147483647"}}) {
    const bool said = std::any_of(pod.sysctls.begin(), pod.sysctls.end(),
                                  [&](const auto& sysctl) { return sysctl.first == file; });
    if (!said) write_file((std::string("/proc/sys/") + file).c_str(), text);
  }
}

}  // namespace shim
