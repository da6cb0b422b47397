#include "node/sandbox/masks.h"

#include <cerrno>
#include <string.h>
#include <sys/mount.h>

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

}  // namespace

std::string mask_machine(const std::string& root) {
  // Not every kernel has every one: a mount point that is missing hides nothing.
  for (const char* path : kHiddenFiles) {
    if (mount("/dev/null", (root + path).c_str(), nullptr, MS_BIND, nullptr) != 0 &&
        errno != ENOENT)
      return failure(std::string("cannot hide ") + path);
  }
  for (const char* path : kHiddenFolders) {
    if (mount("tmpfs", (root + path).c_str(), "tmpfs", MS_RDONLY, "size=0") != 0 && errno != ENOENT)
      return failure(std::string("cannot hide ") + path);
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
