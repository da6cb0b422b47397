#include "node/sandbox/pod_memory.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <string>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"

namespace shim {
namespace {

int held = -1;

int make_detached(const Memory& memory) {
  const int context = static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  const auto set = [&](const char* key, const std::string& text) {
    return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, text.c_str(), 0) == 0;
  };
  const bool is_made =
      set("mode", memory.group >= 0 ? "3777" : "1777") &&
      (memory.bytes == 0 || set("size", std::to_string(memory.bytes))) &&
      (memory.group < 0 || set("gid", std::to_string(memory.group))) &&
      syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  const int mount = is_made ? static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
                                                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))
                            : -1;
  close(context);
  return mount;
}

bool try_to_copy() {
  const int mount = make_detached({});
  const int copy = mount >= 0 ? copy_of_mount(mount) : -1;
  for (const int each : {mount, copy}) {
    if (each >= 0) close(each);
  }
  return copy >= 0;
}

}  // namespace

bool copies_detached_mounts() {
  static const bool copies = try_to_copy();
  return copies;
}

bool can_be_without_mounts(const Pod& pod) {
  return !in_user_namespace() && !pod.host_mounts && pod.job.empty() && pod.memory.size() == 1 &&
         pod.memory[0].folder == pod.transient_folder + "/shm" && !pod.memory[0].is_shared &&
         copies_detached_mounts();
}

bool make_pod_memory(const Memory& memory) {
  held = make_detached(memory);
  return held >= 0;
}

int pod_memory() {
  return held;
}

int copy_of_mount(int mount) {
  return static_cast<int>(
      syscall(SYS_open_tree, mount, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

}  // namespace shim
