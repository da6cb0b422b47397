#include "node/seccomp.h"

#include <cerrno>
#include <cstring>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <gtest/gtest.h>

#include "node/capabilities.h"

namespace yard {
namespace {

// The kernel's machine, as far as our filters use it.
uint32_t verdict(const std::vector<FilterStep>& filter, const seccomp_data& call) {
  uint32_t held = 0;
  for (size_t at = 0; at < filter.size(); ++at) {
    const FilterStep& step = filter[at];
    const auto jump = [&](bool yes) { at += yes ? step.if_true : step.if_false; };
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&held, reinterpret_cast<const char*>(&call) + step.operand, sizeof held);
        break;
      case BPF_JMP | BPF_JEQ | BPF_K: jump(held == step.operand); break;
      case BPF_JMP | BPF_JGT | BPF_K: jump(held > step.operand); break;
      case BPF_JMP | BPF_JSET | BPF_K: jump((held & step.operand) != 0); break;
      case BPF_RET | BPF_K: return step.operand;
      default: ADD_FAILURE() << "an instruction the test does not know: " << step.code; return 0;
    }
  }
  ADD_FAILURE() << "the filter runs off its end";
  return 0;
}

#if defined(__x86_64__)
constexpr uint32_t kHere = AUDIT_ARCH_X86_64, kElsewhere = AUDIT_ARCH_I386;
#else
constexpr uint32_t kHere = AUDIT_ARCH_AARCH64, kElsewhere = AUDIT_ARCH_ARM;
#endif
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t denied(int number) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(number);
}
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
    bool filtered, refused;
  };
  const Row rows[] = {
      {"unset: our filter", "{}", "{}", true, false},
      {"RuntimeDefault", "{}",
       R"({"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}}})", true, false},
      {"Unconfined", "{}", R"({"securityContext":{"seccompProfile":{"type":"Unconfined"}}})", false,
       false},
      {"the pod's", R"({"spec":{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}})",
       "{}", false, false},
      {"the container's comes first",
       R"({"spec":{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}})",
       R"({"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}}})", true, false},
      {"privileged is never filtered", "{}",
       R"({"securityContext":{"privileged":true,"seccompProfile":{"type":"RuntimeDefault"}}})",
       false, false},
      {"a file of the node is refused", "{}",
       R"({"securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p.json"}}})",
       true, true},
  };
  for (const Row& row : rows) {
    const SeccompChoice choice = seccomp_choice(parsed(row.pod), parsed(row.container));
    EXPECT_EQ(choice.filtered, row.filtered) << row.about;
    EXPECT_EQ(choice.problem.has_value(), row.refused) << row.about;
  }
}

}  // namespace
}  // namespace yard
