#include "node/network/island.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>

#include "node/files.h"
#include "node/network/namespace_maker.h"

namespace yard {
namespace {

constexpr std::string_view kBridge = "pods";
constexpr int kLoopbackInterface = 1;

Result<void> write_proc(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool ok =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const Error problem = system_error(std::string("cannot write ") + path);
  if (fd >= 0) close(fd);
  if (!ok) return problem;
  return {};
}

}  // namespace

Result<void> enter_own_user_namespace() {
  const unsigned uid = geteuid(), gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return system_error("cannot make a user namespace");
  TRY(write_proc("/proc/self/setgroups", "deny"));
  TRY(write_proc("/proc/self/uid_map", fmt::format("0 {} 1", uid)));
  return write_proc("/proc/self/gid_map", fmt::format("0 {} 1", gid));
}

Result<Island> enter_island(int known) {
  Island out;
  if (known >= 0 ? setns(known, CLONE_NEWNET) != 0 : unshare(CLONE_NEWNET) != 0)
    return system_error(known >= 0 ? "cannot enter the island's network namespace"
                                   : "cannot make a network namespace");
  out.net = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (out.net < 0) return system_error("cannot open the island's network namespace");
  // Before anything is made there (node-facts).
  write_sysctl("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  write_sysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  write_sysctl("/proc/sys/net/ipv4/ip_forward", "1");
  NetlinkSocket netlink = TRY(NetlinkSocket::open());
  out.bridge = netlink.index_of(kBridge);
  if (out.bridge == 0) {
    NetlinkBatch bridge;
    add_bridge(bridge, kBridge);
    TRY(netlink.send(bridge, "cannot make a bridge"));
    out.bridge = netlink.index_of(kBridge);
  }
  NetlinkBatch addresses;
  add_link_up(addresses, kLoopbackInterface);
  add_link_up(addresses, out.bridge);
  add_address(addresses, out.bridge, kGateway, kPodRange.prefix);
  add_local_range(addresses, kLoopbackInterface, kServiceRange);
  TRY(netlink.send(addresses, "cannot give the island its addresses"));
  return out;
}

}  // namespace yard
