#include "node/sandbox/volumes.h"

#include <cerrno>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/shim/files.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

int host_mounts = -1;  // the machine's mount namespace, of a pod that asked for it

int open_beneath(int folder, const std::string& path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

// Opens volume/sub/path and makes the folders that are missing; no link leads out of the volume.
int open_sub_path(int volume, const std::string& sub_path) {
  if (const int there = open_beneath(volume, sub_path, O_PATH); there >= 0 || errno != ENOENT)
    return there;
  struct stat facts;
  const mode_t mode = fstat(volume, &facts) == 0 ? facts.st_mode & 07777 : 0755;
  int at = openat(volume, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  size_t begin = 0;
  while (at >= 0 && begin < sub_path.size()) {
    const size_t end = std::min(sub_path.find('/', begin), sub_path.size());
    const std::string part = sub_path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    int next = open_beneath(at, part, O_PATH);
    if (next < 0 && errno == ENOENT && mkdirat(at, part.c_str(), 0755) == 0) {
      fchmodat(at, part.c_str(), mode, 0);
      next = open_beneath(at, part, O_PATH);
    }
    const int problem = errno;
    close(at);
    errno = problem;
    at = next;
  }
  return at;
}

// Whoever is refused wants to know whose the folder is.
std::string owner_of(int folder) {
  struct stat facts;
  if (fstat(folder, &facts) != 0) return "";
  char mode[8];
  snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(facts.st_mode & 07777));
  return " (of user " + std::to_string(facts.st_uid) + ", mode " + mode + "; asked as user " +
         std::to_string(geteuid()) + ")";
}

// What is mounted on the machine later is seen or not; a volume of both ways stays as it is there.
std::string set_propagation(const Mount& mount, int tree) {
  if (mount.propagation == Mount::Propagation::Unsaid ||
      mount.propagation == Mount::Propagation::BothWays)
    return "";
  mount_attr attributes{};
  attributes.propagation = mount.propagation == Mount::Propagation::None ? MS_PRIVATE : MS_SLAVE;
  const bool set = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                           sizeof attributes) == 0;
  return set ? "" : failure("cannot part the mounts of " + mount.source + " from the machine's");
}

int clone_tree(int folder, const char* path, const Mount& mount) {
  return static_cast<int>(syscall(SYS_open_tree, folder, path,
                                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                                      (*path == '\0' ? AT_EMPTY_PATH : 0) |
                                      (mount.recursive ? AT_RECURSIVE : 0)));
}

std::string open_below(const Mount& mount, int& tree) {
  const int source = open(mount.source.c_str(), O_PATH | O_CLOEXEC);
  if (source < 0) return failure("cannot open " + mount.source);
  const int below = open_sub_path(source, mount.sub_path);
  const int problem = errno;
  const std::string owner = below < 0 && problem == EACCES ? owner_of(source) : "";
  close(source);
  errno = problem;
  if (below < 0)
    return failure("cannot open the sub-path " + mount.sub_path + " of " + mount.source + owner);
  tree = clone_tree(below, "", mount);
  const int refused = errno;
  close(below);
  errno = refused;
  return tree >= 0 ? "" : failure("cannot mount " + mount.source);
}

std::string open_volume(const Mount& mount, OpenVolume& out) {
  if (mount.sub_path.empty()) {
    out.fd = clone_tree(AT_FDCWD, mount.source.c_str(), mount);
    if (out.fd < 0) return failure("cannot mount " + mount.source);
  } else if (std::string problem = open_below(mount, out.fd); !problem.empty()) {
    return problem;
  }
  struct stat facts;
  if (fstat(out.fd, &facts) != 0) return failure("cannot look at " + mount.source);
  out.is_folder = S_ISDIR(facts.st_mode);
  out.target = mount.target;
  if (std::string refused = set_propagation(mount, out.fd); !refused.empty()) return refused;
  if (mount.read_only) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    const unsigned below = mount.recursively_read_only ? AT_RECURSIVE : 0;
    if (syscall(SYS_mount_setattr, out.fd, "", AT_EMPTY_PATH | below, &attributes,
                sizeof attributes) != 0)
      return failure("cannot make read-only " + mount.source);
  }
  return "";
}

// A link of the host's, as /etc/resolv.conf often is, may lead to what the pod does not have: the
// place it leads to is made, so that the mount behind it is found.
void make_link_target(const std::string& path, const std::string& leads_to) {
  const std::string target = leads_to[0] == '/' ? leads_to : parent_of(path) + "/" + leads_to;
  make_folders(parent_of(target));
}

bool have_mount_point(const OpenVolume& volume) {
  char leads_to[PATH_MAX];
  const ssize_t size = readlink(volume.target.c_str(), leads_to, sizeof leads_to - 1);
  if (size < 0 && errno == EINVAL) return true;  // it is there, and no link
  if (size > 0) make_link_target(volume.target, std::string(leads_to, static_cast<size_t>(size)));
  return volume.is_folder ? make_folders(volume.target)
                          : make_folders(parent_of(volume.target)) && touch(volume.target);
}

}  // namespace

void keep_host_mounts() {
  host_mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
}

namespace {

// Our own mounts are the machine's followers: one that it is to follow is opened among its own.
std::string open_among_host_mounts(const Mount& mount, OpenVolume& out) {
  const int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (own < 0 || host_mounts < 0 || setns(host_mounts, CLONE_NEWNS) != 0) {
    const std::string problem = failure("cannot reach the machine's mounts for " + mount.source);
    if (own >= 0) close(own);
    return problem;
  }
  std::string problem = open_volume(mount, out);
  if (setns(own, CLONE_NEWNS) != 0 && problem.empty())
    problem = failure("cannot return to the pod's mounts");
  close(own);
  return problem;
}

}  // namespace

std::string open_volumes(const std::vector<Mount>& mounts, std::vector<OpenVolume>& volumes) {
  for (const Mount& mount : mounts) {
    volumes.emplace_back();
    const bool both_ways = mount.propagation == Mount::Propagation::BothWays;
    std::string problem = both_ways ? open_among_host_mounts(mount, volumes.back())
                                    : open_volume(mount, volumes.back());
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string attach_volumes(const std::vector<OpenVolume>& volumes) {
  for (const OpenVolume& volume : volumes) {
    if (!have_mount_point(volume)) return failure("cannot make the mount point " + volume.target);
    if (syscall(SYS_move_mount, volume.fd, "", AT_FDCWD, volume.target.c_str(),
                MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      return failure("cannot mount at " + volume.target);
    }
    close(volume.fd);
  }
  return "";
}

}  // namespace shim
