#include "node/network/namespace_maker.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "node/files.h"
#include "node/network/namespace_reuse.h"
#include "node/network/netlink.h"

namespace yard {
namespace {

constexpr int kLoopbackInterface = 1;
constexpr size_t kMostSockstat = 4096;

// In the new namespace, which the thread is in.
Result<void> configure(NetlinkSocket& island, int bridge, int pod_namespace, Ipv4 address) {
  // Before anything is made: with IPv6 a bridge of 500 pods costs four times as much a pod.
  // The default, which the pod's interface takes over: a write to `all` takes the kernel's lock of
  // all networks by trying again and again, and burns 10 ms where others are being cleaned up. Each
  // file of /proc/sys/net costs a tenth of a namespace: what only some pods need, their shims set
  // (node/sandbox/network.h).
  write_sysctl("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  NetlinkSocket own = TRY(NetlinkSocket::open());
  NetlinkBatch link;
  add_pod_link(link, bridge, pod_namespace, address);
  TRY(island.send(link, "cannot connect a pod to the bridge"));
  NetlinkBatch inside;
  add_link_up(inside, kLoopbackInterface);
  add_link_up(inside, kPodInterface);
  add_address(inside, kPodInterface, address, kPodRange.prefix);
  add_default_route(inside, kPodInterface, kGateway);
  return own.send(inside, "cannot give a pod its address");
}

Result<int> make_namespace(NetlinkSocket& island, int bridge, Ipv4 address) {
  if (unshare(CLONE_NEWNET) != 0) return system_error("cannot make a network namespace");
  const int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open a network namespace");
  if (auto made = configure(island, bridge, fd, address); !made) {
    close(fd);
    return made.error();
  }
  return fd;
}

// What a shim has set for its containers (node/sandbox/network.h), as the kernel has it.
void reset_sysctls() {
  write_sysctl("/proc/sys/net/ipv4/ip_unprivileged_port_start", "1024");
  write_sysctl("/proc/sys/net/ipv4/ping_group_range", "1 0");
}

// The thread is in it then.
Result<void> renew_namespace(int used, Ipv4 address) {
  if (setns(used, CLONE_NEWNET) != 0) return system_error("cannot enter a network namespace");
  if (!has_no_sockets(read_text("/proc/thread-self/net/sockstat", kMostSockstat).value_or("")))
    return error(Reason::Conflict, "there are sockets in it");
  reset_sysctls();
  NetlinkSocket own = TRY(NetlinkSocket::open());
  NetlinkBatch batch;
  // The hardware address with it: what peers still send to the former pod is not taken for the
  // next one's, and what this one knew of them is forgotten.
  add_address_removal(batch, kPodInterface);
  add_hardware_address(batch, kPodInterface, address);
  add_address(batch, kPodInterface, address, kPodRange.prefix);
  add_default_route(batch, kPodInterface, kGateway);
  return own.send(batch, "cannot give a pod its address");
}

std::optional<Result<int>> renewed(int used, Ipv4 address) {
  if (auto done = renew_namespace(used, address); done) return used;
  close(used);
  return std::nullopt;
}

}  // namespace

void write_sysctl(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, text, std::strlen(text)) < 0) log_debug("{} could not be set to {}", path, text);
  close(fd);
}

NamespaceMaker::NamespaceMaker(int island, int bridge)
    : island_(island),
      bridge_(bridge),
      ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { work(); }) {}

NamespaceMaker::~NamespaceMaker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const Made& made : made_) {
    if (made.fd && *made.fd) close(**made.fd);
  }
  for (const Order& order : waiting_) {
    if (order.used >= 0) close(order.used);
  }
  close(ready_);
}

void NamespaceMaker::make(Ipv4 address) {
  add({address, -1});
}

void NamespaceMaker::renew(Ipv4 address, int used) {
  add({address, used});
}

void NamespaceMaker::add(Order order) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(order);
  }
  changed_.notify_all();
}

std::vector<NamespaceMaker::Made> NamespaceMaker::take() {
  uint64_t ignored = 0;
  if (read(ready_, &ignored, sizeof ignored) < 0) return {};
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, {});
}

void NamespaceMaker::work() {
  auto netlink = NetlinkSocket::open();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !waiting_.empty() || ending_; });
    if (ending_) return;
    const Order order = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Made made{order.address, std::nullopt};
    if (order.used >= 0) {
      made.fd = renewed(order.used, order.address);
    } else {
      made.fd.emplace(netlink ? make_namespace(*netlink, bridge_, order.address) : netlink.error());
    }
    // Back home: a thread that stays would keep the pod's namespace alive.
    check(setns(island_, CLONE_NEWNET) == 0, "the keeper returns to its own namespace");
    lock.lock();
    made_.push_back(std::move(made));
    const uint64_t one = 1;
    if (write(ready_, &one, sizeof one) < 0) log_warning("the keeper could not wake itself");
  }
}

}  // namespace yard
