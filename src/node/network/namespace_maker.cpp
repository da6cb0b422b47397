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
#include "node/network/netlink.h"

namespace yard {
namespace {

constexpr int kLoopbackInterface = 1;

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
    if (made.fd) close(*made.fd);
  }
  close(ready_);
}

void NamespaceMaker::make(Ipv4 address) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(address);
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
    const Ipv4 address = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Made made{address, netlink ? make_namespace(*netlink, bridge_, address) : netlink.error()};
    // Back home: a thread that stays would keep the pod's namespace alive.
    check(setns(island_, CLONE_NEWNET) == 0, "the keeper returns to its own namespace");
    lock.lock();
    made_.push_back(std::move(made));
    const uint64_t one = 1;
    if (write(ready_, &one, sizeof one) < 0) log_warning("the keeper could not wake itself");
  }
}

}  // namespace yard
