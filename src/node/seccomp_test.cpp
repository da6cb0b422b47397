#include "node/seccomp.h"

#include <cerrno>
#include <linux/capability.h>
#include <linux/sched.h>
#include <set>
#include <sys/syscall.h>

#include <gtest/gtest.h>

#include "node/capabilities.h"
#include "node/seccomp_testing.h"

namespace yard {
namespace {

constexpr uint64_t bit(int capability) {
  return uint64_t{1} << capability;
}

TEST(Seccomp, TheDefaultFilterDeniesWhatRuntimesDeny) {
  struct Row {
    const char* about;
    uint64_t capabilities;
    uint32_t architecture;
    int call;
    uint64_t first_argument;
    uint32_t answer;
  };
  const Row rows[] = {
    {"reading is open", 0, kHere, SYS_read, 0, kAllow},
    {"executing is open", 0, kHere, SYS_execve, 0, kAllow},
    {"tracing one's own children is open", 0, kHere, SYS_ptrace, 0, kAllow},
    {"memory placement is open", 0, kHere, SYS_mbind, 0, kAllow},
    {"mounting is not", 0, kHere, SYS_mount, 0, denied(EPERM)},
    {"unless the YAML added SYS_ADMIN", bit(CAP_SYS_ADMIN), kHere, SYS_mount, 0, kAllow},
    {"nor a new namespace", 0, kHere, SYS_unshare, CLONE_NEWUSER, denied(EPERM)},
    {"nor one by clone", 0, kHere, SYS_clone, CLONE_NEWUSER | 17, denied(EPERM)},
    {"a thread by clone is open", 0, kHere, SYS_clone, CLONE_VM | CLONE_THREAD, kAllow},
    {"clone3 is as if it were not there", 0, kHere, SYS_clone3, 0, denied(ENOSYS)},
    {"with SYS_ADMIN it is", bit(CAP_SYS_ADMIN), kHere, SYS_clone3, 0, kAllow},
    {"keys are closed to all", ~uint64_t{0}, kHere, SYS_keyctl, 0, denied(EPERM)},
    {"no modules", 0, kHere, SYS_finit_module, 0, denied(EPERM)},
    {"no reboot", 0, kHere, SYS_reboot, 0, denied(EPERM)},
    {"no bpf", 0, kHere, SYS_bpf, 0, denied(EPERM)},
    {"SYS_ADMIN opens bpf", bit(CAP_SYS_ADMIN), kHere, SYS_bpf, 0, kAllow},
    {"no io_uring", 0, kHere, SYS_io_uring_setup, 0, denied(EPERM)},
    {"the clock is closed", 0, kHere, SYS_clock_settime, 0, denied(EPERM)},
    {"SYS_TIME opens it", bit(CAP_SYS_TIME), kHere, SYS_clock_settime, 0, kAllow},
    {"a call younger than we know is not there", 0, kHere, 900, 0, denied(ENOSYS)},
    {"another machine's calls are closed", 0, kElsewhere, SYS_read, 0, denied(EPERM)},
#if defined(__x86_64__)
    {"so is the x32 table", 0, kHere, 0x40000000 + 1, 0, denied(EPERM)},
#endif
  };
  for (const Row& row : rows) {
    seccomp_data call{};
    call.arch = row.architecture;
    call.nr = row.call;
    call.args[0] = row.first_argument;
    EXPECT_EQ(verdict(default_filter(row.capabilities), call), row.answer) << row.about;
  }
}

#if defined(__x86_64__)
TEST(Seccomp, EveryNumberHasItsAnswer) {
  const std::set<uint32_t> closed = {
      103, 134, 136, 139, 153, 155, 156, 163, 164, 165, 166, 167, 168, 169, 172, 173, 174, 175,
      176, 177, 178, 179, 180, 212, 227, 246, 248, 249, 250, 272, 279, 298, 300, 304, 305, 308,
      312, 313, 320, 321, 323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 443};
  const std::vector<FilterStep> filter = default_filter(0);
  for (uint32_t number = 0; number < 1000; ++number) {
    seccomp_data call{};
    call.arch = kHere;
    call.nr = static_cast<int>(number);
    const bool is_absent = number == SYS_clone3 || number > 462;
    EXPECT_EQ(verdict(filter, call), closed.contains(number) ? denied(EPERM)
                                     : is_absent             ? denied(ENOSYS)
                                                             : kAllow)
        << number;
  }
}
#endif

TEST(Seccomp, TheFilterIsSixteenDigitsAStep) {
  EXPECT_EQ(filter_text({{0x20, 0, 0, 4}, {0x15, 1, 2, 0xc000003e}}),
            "0020000000000004"
            "00150102c000003e");
  EXPECT_EQ(filter_text(default_filter(0)).size(), default_filter(0).size() * 16);
  EXPECT_LT(default_filter(0).size(), 256u) << "jumps are short; the shim's buffer is bounded";
}

TEST(Seccomp, TheProfileOfTheYaml) {
  const auto parsed = [](const char* text) { return parse_json(text)->value; };
  struct Row {
    const char *about, *pod, *container;
    bool filtered;
    std::string file = {};
  };
  const Row rows[] = {
      {"unset: our filter", "{}", "{}", true},
      {"RuntimeDefault", "{}",
       R"({"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}}})", true},
      {"Unconfined", "{}", R"({"securityContext":{"seccompProfile":{"type":"Unconfined"}}})",
       false},
      {"the pod's", R"({"spec":{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}})",
       "{}", false},
      {"the container's comes first",
       R"({"spec":{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}})",
       R"({"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}}})", true},
      {"privileged is never filtered", "{}",
       R"({"securityContext":{"privileged":true,"seccompProfile":{"type":"RuntimeDefault"}}})",
       false},
      {"a file of the node", "{}",
       R"({"securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p.json"}}})",
       true, "p.json"},
  };
  for (const Row& row : rows) {
    const SeccompChoice choice = seccomp_choice(parsed(row.pod), parsed(row.container));
    EXPECT_EQ(choice.filtered, row.filtered) << row.about;
    EXPECT_EQ(choice.file, row.file) << row.about;
  }
}

}  // namespace
}  // namespace yard
