#include "node/seccomp.h"

#include <array>
#include <cerrno>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/filter_program.h"
#include "node/filter_tree.h"

namespace yard {
namespace {

// Younger calls are answered as an older kernel would: nobody has looked at them yet.
constexpr uint32_t kNewestKnown = 462;

struct DeniedCalls {
  int key;  // the capability that opens them; -1: none
  std::vector<uint32_t> calls;
};

// mbind, get_mempolicy and set_mempolicy, which runtimes also deny, stay open: they place only the
// caller's own memory, and NCCL and MPI warn without them.
const std::vector<DeniedCalls>& denied_calls() {
  static const std::vector<DeniedCalls> kTable = {
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

std::vector<FilterStep> give(uint32_t verdict) {
  FilterProgram out;
  out.give(verdict);
  return std::move(out.steps);
}

// Of a call whose first argument says what it is to do.
std::vector<FilterStep> allow_without(uint32_t bits) {
  FilterProgram out;
  out.load(offsetof(seccomp_data, args));
  out.jump(BPF_JSET, bits, 0, 1);
  out.give(deny(EPERM));
  out.give(kAllow);
  return std::move(out.steps);
}

constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

}  // namespace

std::vector<FilterStep> default_filter(uint64_t capabilities) {
  const auto holds = [&](int capability) {
    return capability >= 0 && (capabilities >> capability & 1) != 0;
  };
  enum End : uint8_t { Allowed, Denied, Absent, AskFlags };
  std::array<End, kNewestKnown + 1> calls{};
  for (const DeniedCalls& row : denied_calls()) {
    // CAP_BPF and CAP_PERFMON were cut out of CAP_SYS_ADMIN, which still opens their doors.
    const bool also_admin = row.key == CAP_BPF || row.key == CAP_PERFMON;
    if (holds(row.key) || (also_admin && holds(CAP_SYS_ADMIN))) continue;
    for (const uint32_t call : row.calls)
      calls[call] = Denied;
  }
  if (!holds(CAP_SYS_ADMIN)) {
    // A filter cannot look into clone3's argument; without the call libc uses clone.
    calls[SYS_clone3] = Absent;
    calls[SYS_clone] = AskFlags;
  }
  std::vector<NumberRange> ranges{{0, calls[0]}};
  for (uint32_t call = 1; call <= kNewestKnown; ++call) {
    if (calls[call] != ranges.back().end) ranges.push_back({call, calls[call]});
  }
  ranges.push_back({kNewestKnown + 1, Absent});
  if (kSecondTable != 0) ranges.push_back({kSecondTable, Denied});
  FilterProgram program;
  program.refuse_other_machines();
  const std::vector<FilterStep> tree = number_tree(
      ranges, {give(kAllow), give(deny(EPERM)), give(deny(ENOSYS)), allow_without(kNamespaces)});
  program.steps.insert(program.steps.end(), tree.begin(), tree.end());
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
  SeccompChoice out;
  if (bool_at(container, {"securityContext", "privileged"})) return {false, ""};
  const Json* profile = find_path(container, {"securityContext", "seccompProfile"});
  if (profile == nullptr) profile = find_path(pod, {"spec", "securityContext", "seccompProfile"});
  if (profile == nullptr) return out;
  const std::string_view type = text_at(*profile, {"type"});
  if (type == "Unconfined") return {false, ""};
  if (type == "Localhost") out.file = text_at(*profile, {"localhostProfile"});
  return out;
}

}  // namespace yard
