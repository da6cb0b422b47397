#include "node/seccomp.h"

#include <cerrno>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <span>
#include <stddef.h>
#include <sys/syscall.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kSecondTable = 0x40000000;  // x32 shares the architecture's number
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kSecondTable = 0;
#else
#error "no system call table for this machine"
#endif

// Younger calls are answered as an older kernel would: nobody has looked at them yet.
constexpr uint32_t kNewestKnown = 462;

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t deny(int error_number) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error_number);
}

struct Denied {
  int key;  // the capability that opens them; -1: none
  std::vector<uint32_t> calls;
};

// mbind, get_mempolicy and set_mempolicy, which runtimes also deny, stay open: they place only the
// caller's own memory, and NCCL and MPI warn without them.
const std::vector<Denied>& denied_calls() {
  static const std::vector<Denied> kTable = {
      {-1,
       {SYS_add_key, SYS_keyctl, SYS_request_key, SYS_userfaultfd, SYS_nfsservctl, SYS_vhangup,
        SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
#ifdef SYS_uselib
        SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_create_module, SYS_get_kernel_syms,
        SYS_query_module,
#endif
        SYS_move_pages, SYS_kexec_load, SYS_kexec_file_load}},
      {CAP_SYS_ADMIN,
       {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_setns, SYS_unshare, SYS_fsopen, SYS_fsconfig,
        SYS_fsmount, SYS_fspick, SYS_open_tree, SYS_move_mount, SYS_mount_setattr, SYS_quotactl,
        SYS_quotactl_fd, SYS_fanotify_init, SYS_lookup_dcookie, SYS_swapon, SYS_swapoff}},
      {CAP_BPF, {SYS_bpf}},
      {CAP_PERFMON, {SYS_perf_event_open}},
      {CAP_SYS_MODULE, {SYS_init_module, SYS_finit_module, SYS_delete_module}},
      {CAP_SYS_BOOT, {SYS_reboot}},
      {CAP_SYS_PACCT, {SYS_acct}},
      {CAP_SYS_TIME, {SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime}},
      {CAP_SYSLOG, {SYS_syslog}},
      {CAP_DAC_READ_SEARCH, {SYS_open_by_handle_at}},
      {CAP_SYS_PTRACE, {SYS_kcmp}},
#ifdef SYS_iopl
      {CAP_SYS_RAWIO, {SYS_iopl, SYS_ioperm}},
#endif
  };
  return kTable;
}

constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Steps in the order they run; each rule falls through to the next.
class Program {
 public:
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); }
  void if_equal(uint32_t value, uint32_t verdict) { test(BPF_JEQ, value, verdict); }
  void unless_equal(uint32_t value, uint32_t verdict) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
    give(verdict);
  }
  void if_above(uint32_t value, uint32_t verdict) { test(BPF_JGT, value, verdict); }
  // What follows on a call whose first argument holds one of these bits.
  void if_call_has_bits(uint32_t call, uint32_t bits, uint32_t verdict) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, call);
    load(offsetof(seccomp_data, args));
    add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    give(verdict);
    give(kAllow);
  }
  void give(uint32_t verdict) { add(BPF_RET | BPF_K, 0, 0, verdict); }
  std::vector<FilterStep> steps;

 private:
  void add(int code, uint8_t if_true, uint8_t if_false, uint32_t operand) {
    steps.push_back({static_cast<uint16_t>(code), if_true, if_false, operand});
  }
  void test(int comparison, uint32_t value, uint32_t verdict) {
    add(BPF_JMP | comparison | BPF_K, 0, 1, value);
    give(verdict);
  }
};

}  // namespace

std::vector<FilterStep> default_filter(uint64_t capabilities) {
  const auto holds = [&](int capability) {
    return capability >= 0 && (capabilities >> capability & 1) != 0;
  };
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.unless_equal(kArchitecture, deny(EPERM));
  program.load(offsetof(seccomp_data, nr));
  if (kSecondTable != 0) program.if_above(kSecondTable - 1, deny(EPERM));
  program.if_above(kNewestKnown, deny(ENOSYS));
  for (const Denied& row : denied_calls()) {
    // CAP_BPF and CAP_PERFMON were cut out of CAP_SYS_ADMIN, which still opens their doors.
    const bool also_admin = row.key == CAP_BPF || row.key == CAP_PERFMON;
    if (holds(row.key) || (also_admin && holds(CAP_SYS_ADMIN))) continue;
    for (const uint32_t call : row.calls)
      program.if_equal(call, deny(EPERM));
  }
  if (!holds(CAP_SYS_ADMIN)) {
    // A filter cannot look into clone3's argument; without the call libc uses clone.
    program.if_equal(SYS_clone3, deny(ENOSYS));
    program.if_call_has_bits(SYS_clone, kNamespaces, deny(EPERM));
  }
  program.give(kAllow);
  return std::move(program.steps);
}

std::string filter_text(const std::vector<FilterStep>& filter) {
  std::string out;
  out.reserve(filter.size() * 16);
  // By hand: every start of a container writes some two thousand of these digits.
  const auto add = [&](uint32_t number, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
      out += "0123456789abcdef"[number >> shift & 15];
  };
  for (const FilterStep& step : filter) {
    add(step.code, 4);
    add(step.if_true, 2);
    add(step.if_false, 2);
    add(step.operand, 8);
  }
  return out;
}

SeccompChoice seccomp_choice(const Json& pod, const Json& container) {
  if (bool_at(container, {"securityContext", "privileged"})) return {false, std::nullopt};
  const Json* profile = find_path(container, {"securityContext", "seccompProfile"});
  if (profile == nullptr) profile = find_path(pod, {"spec", "securityContext", "seccompProfile"});
  if (profile == nullptr) return {};
  const std::string_view type = text_at(*profile, {"type"});
  if (type == "Unconfined") return {false, std::nullopt};
  if (type == "Localhost") {
    return {true, fmt::format("seccompProfile type Localhost ({}) is not read on this machine: use "
                              "RuntimeDefault, or Unconfined",
                              quoted(text_at(*profile, {"localhostProfile"})))};
  }
  return {};
}

}  // namespace yard
