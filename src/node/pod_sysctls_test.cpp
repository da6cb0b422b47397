#include "node/pod_sysctls.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

Json pod_of(const std::string& spec) {
  return yaml("spec: " + spec);
}

TEST(PodSysctls, WhatIsRefused) {
  struct Row {
    const char* sentence;
    const char* spec;
    const char* answer;  // "": it may run
  };
  for (const Row& row :
       {Row{"a pod without any", "{containers: []}", ""},
        {"safe ones",
         "{securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: '1'}, {name: "
         "net.ipv4.tcp_rmem, value: 4096 87380 16777216}]}}",
         ""},
        {"a safe one with slashes",
         "{securityContext: {sysctls: [{name: kernel/shm_rmid_forced, value: '1'}]}}", ""},
        {"one of the whole machine",
         "{securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: '1'}, {name: "
         "kernel.msgmax, value: '1'}]}}",
         "forbidden sysctl: \"kernel.msgmax\" not allowlisted"},
        {"one whose name only begins like a safe one",
         "{securityContext: {sysctls: [{name: net.ipv4.tcp_rmem2, value: '1'}]}}",
         "forbidden sysctl: \"net.ipv4.tcp_rmem2\" not allowlisted"},
        {"one of the network of a pod on the machine's",
         "{hostNetwork: true, securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: "
         "'1'}]}}",
         "forbidden sysctl: \"net.ipv4.tcp_syncookies\" not allowed with host net enabled"},
        {"one of shared memory of a pod on the machine's",
         "{hostIPC: true, securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: "
         "'1'}]}}",
         "forbidden sysctl: \"kernel.shm_rmid_forced\" not allowed with host ipc enabled"},
        {"one of shared memory of a pod on the machine's network",
         "{hostNetwork: true, securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: "
         "'1'}]}}",
         ""}})
    EXPECT_EQ(sysctl_refusal(pod_of(row.spec)).value_or(""), row.answer) << row.sentence;
}

TEST(PodSysctls, WhereTheyAreWritten) {
  const auto found = pod_sysctls(
      pod_of("{securityContext: {sysctls: [{name: kernel/shm_rmid_forced, value: '1'}, {name: "
             "net.ipv4.ip_local_port_range, value: 40000 50000}]}}"));
  const std::vector<std::pair<std::string, std::string>> expected{
      {"kernel/shm_rmid_forced", "1"}, {"net/ipv4/ip_local_port_range", "40000 50000"}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace yard
