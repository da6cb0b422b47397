#include "node/network/namespace_reuse.h"

#include <linux/capability.h>

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(NamespaceReuse, PodsThatEndWithTheirShim) {
  struct Row {
    const char* sentence;
    PodLaunch launch;
    bool answer;
  };
  PodLaunch plain, on_the_host, sees_machine, shares_pids, with_sysctls;
  with_sysctls.sysctls.emplace_back("net/ipv4/tcp_syncookies", "0");
  on_the_host.host_network = true;
  sees_machine.host_pid = true;
  shares_pids.share_pid = true;
  for (const Row& row : {Row{"a plain pod", plain, true},
                         {"one on the machine's own network", on_the_host, false},
                         {"one whose processes live among the machine's", sees_machine, false},
                         {"one whose reaper ends after the shim", shares_pids, false},
                         {"one with settings of its own", with_sysctls, false}})
    EXPECT_EQ(ends_with_its_shim(row.launch), row.answer) << row.sentence;
}

TEST(NamespaceReuse, ContainersThatLeaveTheNetworkAsFound) {
  struct Row {
    const char* sentence;
    ContainerLaunch launch;
    bool answer;
  };
  const auto with = [](int capability) {
    ContainerLaunch out;
    out.capabilities = uint64_t{1} << capability;
    return out;
  };
  ContainerLaunch none, privileged, unmasked;
  privileged.privileged = true;
  unmasked.masked_proc = false;
  for (const Row& row : {Row{"without capabilities", none, true},
                         {"with raw sockets", with(CAP_NET_RAW), true},
                         {"with low ports", with(CAP_NET_BIND_SERVICE), true},
                         {"that may change routes", with(CAP_NET_ADMIN), false},
                         {"that may enter namespaces", with(CAP_SYS_ADMIN), false},
                         {"that may act through others", with(CAP_SYS_PTRACE), false},
                         {"that may load programs into the kernel", with(CAP_BPF), false},
                         {"privileged", privileged, false},
                         {"that may write to /proc/sys", unmasked, false}})
    EXPECT_EQ(leaves_network_as_found(row.launch), row.answer) << row.sentence;
}

TEST(NamespaceReuse, NamespacesWithoutSockets) {
  struct Row {
    const char* sentence;
    const char* sockstat;
    bool answer;
  };
  for (const Row& row :
       {Row{"nothing in it; other namespaces' memory does not count",
            "sockets: used 0\nTCP: inuse 0 orphan 0 tw 0 alloc 11 mem 135\nUDP: inuse 0 mem 256\n",
            true},
        {"a socket that somebody was handed",
         "sockets: used 1\nTCP: inuse 0 orphan 0 tw 0 alloc 1\n", false},
        {"a connection that was closed a moment ago",
         "sockets: used 0\nTCP: inuse 0 orphan 0 tw 1 alloc 0 mem 0\n", false},
        {"a kernel that does not count sockets", "TCP: inuse 0 orphan 0 tw 0 alloc 0 mem 0\n",
         false},
        {"a kernel that does not count closed ones", "sockets: used 0\nTCP: inuse 0\n", false},
        {"an empty file", "", false},
        {"bytes of another sort", "sockets: used\nTCP: tw\n\n:", false}})
    EXPECT_EQ(has_no_sockets(row.sockstat), row.answer) << row.sentence;
}

}  // namespace
}  // namespace yard
