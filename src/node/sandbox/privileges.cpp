#include "node/sandbox/privileges.h"

#include <cerrno>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/sandbox/system_calls.h"
#include "node/sandbox/user_namespace.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

constexpr int kMostCapabilities = 63;

std::string bound_capabilities(uint64_t allowed) {
  for (int capability = 0; capability <= kMostCapabilities; ++capability) {
    if ((allowed >> capability & 1) != 0 || prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
      continue;
    if (errno == EINVAL) break;  // the kernel knows no more
    return failure("cannot give up capability " + std::to_string(capability));
  }
  return "";
}

std::string set_capabilities(uint64_t allowed) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct held[2] = {};
  if (syscall(SYS_capget, &header, held) != 0) return failure("cannot read the capabilities");
  for (int half = 0; half < 2; ++half) {
    const uint32_t mask = static_cast<uint32_t>(allowed >> (32 * half));
    held[half].permitted &= mask;
    held[half].effective = held[half].permitted;
    held[half].inheritable = 0;
  }
  return syscall(SYS_capset, &header, held) == 0 ? "" : failure("cannot set the capabilities");
}

std::string change_ids(const Container& container) {
  // An ordinary user has one identity, and no groups to add to it; it can be shown as any.
  if (in_user_namespace()) {
    if (container.uid == geteuid() && container.gid == getegid()) return "";
    return enter_user_namespace({container.uid, container.gid});
  }
  if (container.uid == geteuid() && container.gid == getegid() && container.groups.empty())
    return "";
  std::vector<gid_t> groups(container.groups.begin(), container.groups.end());
  if (setgroups(groups.size(), groups.data()) != 0)
    return failure("cannot set the supplementary groups");
  if (setresgid(container.gid, container.gid, container.gid) != 0)
    return failure("cannot run as group " + std::to_string(container.gid));
  if (setresuid(container.uid, container.uid, container.uid) != 0)
    return failure("cannot run as user " + std::to_string(container.uid));
  return "";
}

}  // namespace

std::string drop_privileges(const Container& container, int gate) {
  // In a user namespace first the ids: a namespace of one's own gives all capabilities anew.
  if (in_user_namespace()) {
    if (std::string problem = change_ids(container); !problem.empty()) return problem;
  }
  if (std::string problem = bound_capabilities(container.capabilities); !problem.empty())
    return problem;
  if (!in_user_namespace()) {
    if (std::string problem = change_ids(container); !problem.empty()) return problem;
  }
  if (container.uid == 0) {
    if (std::string problem = set_capabilities(container.capabilities); !problem.empty())
      return problem;
  }
  if (container.no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return failure("cannot refuse new privileges");
  // A change of ids clears it, so it comes last: nothing of a container outlives its shim.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return failure("cannot follow the shim's end");
  // Before the container's own filter, which may refuse what this takes.
  if (gate >= 0) hold_connects(container.awaited, gate);
  return container.system_calls.empty() ? "" : filter_system_calls(container.system_calls);
}

}  // namespace shim
