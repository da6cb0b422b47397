#include "node/network/namespace_reuse.h"

#include <linux/capability.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr uint64_t bit(int capability) {
  return uint64_t{1} << capability;
}

// NET_ADMIN changes addresses, routes and filters; the others lead to it.
constexpr uint64_t kChangesNetworks =
    bit(CAP_NET_ADMIN) | bit(CAP_SYS_ADMIN) | bit(CAP_SYS_PTRACE) | bit(CAP_BPF);

}  // namespace

bool ends_with_its_shim(const PodLaunch& launch) {
  // With a pid namespace of all its containers, or none, others than the shim's children end later.
  return !launch.host_network && !launch.host_pid && !launch.share_pid && launch.sysctls.empty();
}

bool leaves_network_as_found(const ContainerLaunch& launch) {
  // Where /proc is not masked, root may write to /proc/sys/net without any capability.
  return !launch.privileged && launch.masked_proc && (launch.capabilities & kChangesNetworks) == 0;
}

bool has_no_sockets(std::string_view sockstat) {
  bool counted = false, lingering = true;
  for (const std::string_view line : split(sockstat, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 3 && words[0] == "sockets:") counted = words[2] == "0";
    for (size_t at = 1; words[0] == "TCP:" && at + 1 < words.size(); ++at) {
      if (words[at] == "tw") lingering = words[at + 1] != "0";
    }
  }
  return counted && !lingering;
}

}  // namespace yard
