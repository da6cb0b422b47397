#include "node/sandbox/namespaces.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/sandbox/pid_namespace.h"
#include "node/sandbox/pod_memory.h"
#include "node/sandbox/sysctls.h"
#include "node/sandbox/user_namespace.h"
#include "node/sandbox/volumes.h"
#include "node/shim/files.h"

namespace shim {
namespace {

std::string refusal(const std::string& what) {
  return what + ": " + strerror(errno);
}

// Of a shim that was forked ahead of its pod.
struct {
  bool has_uts = false;
  int host_ipc = -1;  // to go back to; below 0: we have not left it
} ahead;

bool make_memory(const Memory& memory) {
  const std::string options =
      (memory.group >= 0 ? "mode=3777" : "mode=1777") +
      (memory.bytes > 0 ? ",size=" + std::to_string(memory.bytes) : std::string()) +
      (memory.group >= 0 && !in_user_namespace() ? ",gid=" + std::to_string(memory.group)
                                                 : std::string());
  return make_folders(memory.folder) &&
         mount("tmpfs", memory.folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
}

bool place_memory(int tree, const std::string& folder) {
  return make_folders(folder) &&
         syscall(SYS_move_mount, tree, "", AT_FDCWD, folder.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

std::vector<std::string> mount_for_pod(const Pod& pod, const JobMemory& shared) {
  if (unshare(CLONE_NEWNS) != 0)
    return {refusal("no mount namespace: the pod sees the host's files")};
  if (std::string problem = part_mounts(); !problem.empty()) return {problem};
  std::vector<std::string> refusals;
  for (const Memory& memory : pod.memory) {
    if (memory.is_shared && shared.memory >= 0) {
      if (place_memory(shared.memory, memory.folder)) continue;
      refusals.push_back(refusal("no /dev/shm shared with the job's other pods"));
    }
    if (!make_memory(memory))
      refusals.push_back(refusal("no memory-backed folder " + memory.folder));
  }
  return refusals;
}

}  // namespace

std::string part_mounts() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0) return "";
  return refusal("mounts of the pod could not be parted from the host's");
}

void enter_namespaces_ahead() {
  if (geteuid() != 0) return;  // they would not belong to the user namespace that comes first
  ahead.has_uts = unshare(CLONE_NEWUTS) == 0;
  const int host_ipc = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
  if (host_ipc < 0) return;
  if (unshare(CLONE_NEWIPC) == 0)
    ahead.host_ipc = host_ipc;
  else
    close(host_ipc);
}

std::vector<std::string> enter_pod_namespaces(const Pod& pod, const JobMemory& shared) {
  std::vector<std::string> refusals;
  if (geteuid() != 0) {  // not yet root of one that the network brought
    std::string problem =
        shared.user >= 0 ? join_user_namespace(shared.user) : enter_user_namespace({});
    if (!problem.empty()) refusals.push_back(std::move(problem));
  }
  if (pod.host_mounts) keep_host_mounts();
  if (!can_be_without_mounts(pod) || !make_pod_memory(pod.memory[0])) {
    for (std::string& problem : mount_for_pod(pod, shared))
      refusals.push_back(std::move(problem));
  }
  const bool has_joined = shared.ipc >= 0 && setns(shared.ipc, CLONE_NEWIPC) == 0;
  const bool has_made =
      !pod.host_ipc && !has_joined && (ahead.host_ipc >= 0 || unshare(CLONE_NEWIPC) == 0);
  if (!pod.host_ipc && !has_joined && !has_made) refusals.push_back(refusal("no ipc namespace"));
  if (ahead.host_ipc >= 0) {
    if (pod.host_ipc && setns(ahead.host_ipc, CLONE_NEWIPC) != 0)
      refusals.push_back(refusal("the host's ipc namespace could not be entered"));
    close(ahead.host_ipc);
  }
  for (std::string& problem : set_sysctls(pod, has_joined || has_made))
    refusals.push_back(std::move(problem));
  if (!ahead.has_uts && unshare(CLONE_NEWUTS) != 0) {
    refusals.push_back(refusal("no uts namespace: the pod has the host's name"));
  } else if (sethostname(pod.hostname.c_str(), pod.hostname.size()) != 0) {
    refusals.push_back(refusal("the host name could not be set"));
  }
  if (std::string problem = prepare_pid_namespace(pod); !problem.empty())
    refusals.push_back(std::move(problem));
  return refusals;
}

}  // namespace shim
