#include "node/sandbox/namespaces.h"

#include <cerrno>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {
namespace {

std::string refusal(const std::string& what) {
  return what + ": " + strerror(errno);
}

// An ordinary user may do the rest only as root of a user namespace; every id but the own one is
// unmapped there.
std::string enter_user_namespace() {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER) != 0) return refusal("no user namespace");
  if (!write_file("/proc/self/setgroups", "deny") ||
      !write_file("/proc/self/uid_map", "0 " + uid + " 1") ||
      !write_file("/proc/self/gid_map", "0 " + gid + " 1")) {
    return refusal("the ids of the user namespace could not be mapped");
  }
  return "";
}

}  // namespace

std::vector<std::string> enter_pod_namespaces(const Pod& pod) {
  std::vector<std::string> refusals;
  if (geteuid() != 0) {
    if (std::string problem = enter_user_namespace(); !problem.empty())
      refusals.push_back(std::move(problem));
  }
  if (unshare(CLONE_NEWNS) != 0) {
    refusals.push_back(refusal("no mount namespace: the pod sees the host's files"));
  } else if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    refusals.push_back(refusal("mounts of the pod could not be parted from the host's"));
  } else {
    for (const Memory& memory : pod.memory) {
      const std::string options =
          "mode=1777" +
          (memory.bytes > 0 ? ",size=" + std::to_string(memory.bytes) : std::string());
      if (!make_folders(memory.folder) || mount("tmpfs", memory.folder.c_str(), "tmpfs",
                                                MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
        refusals.push_back(refusal("no memory-backed folder " + memory.folder));
      }
    }
  }
  if (unshare(CLONE_NEWIPC) != 0) refusals.push_back(refusal("no ipc namespace"));
  if (unshare(CLONE_NEWUTS) != 0) {
    refusals.push_back(refusal("no uts namespace: the pod has the host's name"));
  } else if (sethostname(pod.hostname.c_str(), pod.hostname.size()) != 0) {
    refusals.push_back(refusal("the host name could not be set"));
  }
  return refusals;
}

}  // namespace shim
