#include "node/sandbox/namespaces.h"

#include <cerrno>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "node/sandbox/pid_namespace.h"
#include "node/sandbox/user_namespace.h"
#include "node/shim/files.h"

namespace shim {
namespace {

std::string refusal(const std::string& what) {
  return what + ": " + strerror(errno);
}

}  // namespace

std::vector<std::string> enter_pod_namespaces(const Pod& pod) {
  std::vector<std::string> refusals;
  if (geteuid() != 0) {  // not yet root of one that the network brought
    if (std::string problem = enter_user_namespace({}); !problem.empty())
      refusals.push_back(std::move(problem));
  }
  if (unshare(CLONE_NEWNS) != 0) {
    refusals.push_back(refusal("no mount namespace: the pod sees the host's files"));
  } else if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    refusals.push_back(refusal("mounts of the pod could not be parted from the host's"));
  } else {
    for (const Memory& memory : pod.memory) {
      const std::string options =
          (memory.group >= 0 ? "mode=3777" : "mode=1777") +
          (memory.bytes > 0 ? ",size=" + std::to_string(memory.bytes) : std::string()) +
          (memory.group >= 0 && !in_user_namespace() ? ",gid=" + std::to_string(memory.group)
                                                     : std::string());
      if (!make_folders(memory.folder) || mount("tmpfs", memory.folder.c_str(), "tmpfs",
                                                MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
        refusals.push_back(refusal("no memory-backed folder " + memory.folder));
      }
    }
  }
  if (!pod.host_ipc && unshare(CLONE_NEWIPC) != 0) refusals.push_back(refusal("no ipc namespace"));
  if (unshare(CLONE_NEWUTS) != 0) {
    refusals.push_back(refusal("no uts namespace: the pod has the host's name"));
  } else if (sethostname(pod.hostname.c_str(), pod.hostname.size()) != 0) {
    refusals.push_back(refusal("the host name could not be set"));
  }
  if (std::string problem = prepare_pid_namespace(pod); !problem.empty())
    refusals.push_back(std::move(problem));
  return refusals;
}

}  // namespace shim
