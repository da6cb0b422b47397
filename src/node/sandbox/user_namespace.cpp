#include "node/sandbox/user_namespace.h"

#include <cerrno>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {
namespace {

std::string refusal(const std::string& what) {
  return what + ": " + strerror(errno);
}

bool entered = false;

}  // namespace

std::string enter_user_namespace(const Identity& seen_as) {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER) != 0) return refusal("no user namespace");
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // or /proc/self is not ours to write
  // Denied already where the namespace above has done so.
  const bool denied = write_file("/proc/self/setgroups", "deny") || entered;
  if (!denied ||
      !write_file("/proc/self/uid_map", std::to_string(seen_as.uid) + " " + uid + " 1") ||
      !write_file("/proc/self/gid_map", std::to_string(seen_as.gid) + " " + gid + " 1")) {
    return refusal("the ids of the user namespace could not be mapped");
  }
  entered = true;
  return "";
}

std::string join_user_namespace(int descriptor) {
  if (setns(descriptor, CLONE_NEWUSER) != 0)
    return refusal("cannot enter the pods' user namespace");
  entered = true;
  return "";
}

bool in_user_namespace() {
  return entered;
}

}  // namespace shim
