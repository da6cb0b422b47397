#include "node/sandbox/masks.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {
namespace {

constexpr const char* kHiddenFiles[] = {"/proc/kcore",       "/proc/keys",
                                        "/proc/timer_list",  "/proc/latency_stats",
                                        "/proc/sched_debug", "/proc/kmsg"};
constexpr const char* kHiddenFolders[] = {"/proc/acpi", "/proc/scsi", "/sys/firmware"};
constexpr const char* kReadOnly[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus",
                                     "/proc/fs"};

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

// With the empty folder of all pods, or a memory of its own where that is not to be had.
std::string hide_folder(const std::string& path, const std::string& empty) {
  // Asked first: a tree that is opened and not attached is taken down while all processors wait.
  if (!exists(path.c_str())) return "";
  const int tree = static_cast<int>(
      syscall(SYS_open_tree, AT_FDCWD, empty.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  const bool shown =
      tree >= 0 &&
      syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0 &&
      syscall(SYS_move_mount, tree, "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
  const int problem = errno;
  if (tree >= 0) close(tree);
  errno = problem;
  if (shown || (tree >= 0 && errno == ENOENT) ||
      mount("tmpfs", path.c_str(), "tmpfs", MS_RDONLY, "size=0") == 0 || errno == ENOENT)
    return "";
  return failure("cannot hide " + path);
}

}  // namespace

std::string mask_machine(const std::string& root, const std::string& empty) {
  // Not every kernel has every one: a mount point that is missing hides nothing.
  for (const char* path : kHiddenFiles) {
    if (mount("/dev/null", (root + path).c_str(), nullptr, MS_BIND, nullptr) != 0 &&
        errno != ENOENT)
      return failure(std::string("cannot hide ") + path);
  }
  for (const char* path : kHiddenFolders) {
    if (std::string problem = hide_folder(root + path, empty); !problem.empty()) return problem;
  }
  for (const char* path : kReadOnly) {
    const std::string target = root + path;
    if (mount(target.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      if (errno == ENOENT) continue;
      return failure(std::string("cannot protect ") + path);
    }
    if (mount(nullptr, target.c_str(), nullptr,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      return failure(std::string("cannot protect ") + path);
  }
  return "";
}

}  // namespace shim
