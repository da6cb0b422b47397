#include "node/capabilities.h"

#include <array>
#include <string_view>

#include "api/tree.h"

namespace yard {
namespace {

// By the kernel's numbers (linux/capability.h), without CAP_.
constexpr std::array<std::string_view, 41> kNames = {"CHOWN",
                                                     "DAC_OVERRIDE",
                                                     "DAC_READ_SEARCH",
                                                     "FOWNER",
                                                     "FSETID",
                                                     "KILL",
                                                     "SETGID",
                                                     "SETUID",
                                                     "SETPCAP",
                                                     "LINUX_IMMUTABLE",
                                                     "NET_BIND_SERVICE",
                                                     "NET_BROADCAST",
                                                     "NET_ADMIN",
                                                     "NET_RAW",
                                                     "IPC_LOCK",
                                                     "IPC_OWNER",
                                                     "SYS_MODULE",
                                                     "SYS_RAWIO",
                                                     "SYS_CHROOT",
                                                     "SYS_PTRACE",
                                                     "SYS_PACCT",
                                                     "SYS_ADMIN",
                                                     "SYS_BOOT",
                                                     "SYS_NICE",
                                                     "SYS_RESOURCE",
                                                     "SYS_TIME",
                                                     "SYS_TTY_CONFIG",
                                                     "MKNOD",
                                                     "LEASE",
                                                     "AUDIT_WRITE",
                                                     "AUDIT_CONTROL",
                                                     "SETFCAP",
                                                     "MAC_OVERRIDE",
                                                     "MAC_ADMIN",
                                                     "SYSLOG",
                                                     "WAKE_ALARM",
                                                     "BLOCK_SUSPEND",
                                                     "AUDIT_READ",
                                                     "PERFMON",
                                                     "BPF",
                                                     "CHECKPOINT_RESTORE"};
constexpr std::array<std::string_view, 13> kUsual = {
    "CHOWN",   "DAC_OVERRIDE",     "FOWNER",  "FSETID",     "KILL",        "SETGID", "SETUID",
    "SETPCAP", "NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT", "AUDIT_WRITE", "SETFCAP"};
constexpr uint64_t kAll = ~uint64_t{0} >> 1;  // a JSON number of ours is signed

}  // namespace

uint64_t capability_bit(std::string_view name) {
  if (name.starts_with("CAP_")) name.remove_prefix(4);
  for (size_t number = 0; number < kNames.size(); ++number) {
    if (kNames[number] == name) return uint64_t{1} << number;
  }
  return name == "ALL" ? kAll : 0;
}

uint64_t container_capabilities(const Json& container) {
  if (bool_at(container, {"securityContext", "privileged"})) return kAll;
  uint64_t mask = 0;
  for (const std::string_view name : kUsual)
    mask |= capability_bit(name);
  for (const Json& name : list_at(container, {"securityContext", "capabilities", "drop"}))
    mask &= ~capability_bit(text_of(name));
  for (const Json& name : list_at(container, {"securityContext", "capabilities", "add"}))
    mask |= capability_bit(text_of(name));
  return mask;
}

}  // namespace yard
