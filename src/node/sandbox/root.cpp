#include "node/sandbox/root.h"

#include <cerrno>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/sandbox/volumes.h"
#include "node/shim/files.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};
constexpr const char* kGpuDevices[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                       "nvidia-modeset"};
constexpr int kMostGpus = 32;

std::string bind_read_only(const std::string& source, const std::string& target) {
  if (!make_folders(target)) return failure("cannot make " + target);
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure("cannot show " + source);
  if (mount(nullptr, target.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
    return failure("cannot make read-only " + source);
  return "";
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

// Volumes may be mounted below a read-only folder of the host where no mount point is: an overlay
// adds the missing ones.
std::string show_with_mount_points(const std::string& folder,
                                   const std::vector<std::string>& missing_folders,
                                   const std::vector<std::string>& missing_files,
                                   const RootFolders& folders, const std::string& target) {
  const std::string top = folders.mount_points + folder;
  for (const std::string& path : missing_folders) {
    if (!make_folders(folders.mount_points + path))
      return failure("cannot make a mount point for " + path);
  }
  for (const std::string& path : missing_files) {
    const std::string point = folders.mount_points + path;
    if (!make_folders(parent_of(point)) || !touch(point))
      return failure("cannot make a mount point for " + path);
  }
  const std::string options =
      "lowerdir=" + top + ":" + folder + (geteuid() == 0 ? "" : ",userxattr");
  if (!make_folders(target)) return failure("cannot make " + target);
  if (mount("overlay", target.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0)
    return failure("cannot add mount points to " + folder);
  return "";
}

std::string show_host_folder(const Container& container, const RootFolders& folders,
                             const std::string& folder) {
  const std::string target = folders.layer + folder;
  struct stat facts;
  if (lstat(folder.c_str(), &facts) != 0) return "";  // not every machine has /lib32
  if (S_ISLNK(facts.st_mode)) {
    char leads_to[PATH_MAX];
    const ssize_t size = readlink(folder.c_str(), leads_to, sizeof leads_to - 1);
    if (size < 0) return failure("cannot read the link " + folder);
    leads_to[size] = '\0';
    if (symlink(leads_to, target.c_str()) != 0 && errno != EEXIST)
      return failure("cannot make the link " + target);
    return "";
  }
  std::vector<std::string> missing_folders, missing_files;
  for (const Mount& mount : container.mounts) {
    if (!is_below(mount.target, folder) || exists(mount.target.c_str())) continue;
    const bool is_file = mount.sub_path.empty() && !is_folder(mount.source.c_str());
    (is_file ? missing_files : missing_folders).push_back(mount.target);
  }
  if (missing_folders.empty() && missing_files.empty()) return bind_read_only(folder, target);
  return show_with_mount_points(folder, missing_folders, missing_files, folders, target);
}

std::string bind_device(const std::string& device, const std::string& dev) {
  const std::string source = "/dev/" + device, target = dev + "/" + device;
  if (!exists(source.c_str())) return "";
  if (!touch(target) || mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure("cannot show " + source);
  return "";
}

std::string make_devices(const RootFolders& folders) {
  const std::string dev = folders.layer + "/dev";
  if (!make_folders(dev) ||
      mount("tmpfs", dev.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=65536k") != 0)
    return failure("cannot make /dev");
  for (const char* device : kDevices) {
    if (std::string problem = bind_device(device, dev); !problem.empty()) return problem;
  }
  for (const char* device : kGpuDevices) {
    if (std::string problem = bind_device(device, dev); !problem.empty()) return problem;
  }
  for (int number = 0; number < kMostGpus; ++number) {
    if (std::string problem = bind_device("nvidia" + std::to_string(number), dev); !problem.empty())
      return problem;
  }
  const std::string pts = dev + "/pts", shm = dev + "/shm";
  if (!make_folders(pts) || mount("devpts", pts.c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                                  "newinstance,ptmxmode=0666,mode=0620") != 0) {
    return failure("cannot make /dev/pts");
  }
  if (!make_folders(shm) ||
      mount(folders.shared_memory.c_str(), shm.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure("cannot make /dev/shm");
  for (const auto& [name, leads_to] : {std::pair{"/ptmx", "pts/ptmx"},
                                       {"/fd", "/proc/self/fd"},
                                       {"/stdin", "/proc/self/fd/0"},
                                       {"/stdout", "/proc/self/fd/1"},
                                       {"/stderr", "/proc/self/fd/2"}}) {
    if (symlink(leads_to, (dev + name).c_str()) != 0)
      return failure(std::string("cannot make /dev") + name);
  }
  return "";
}

std::string make_own_folders(const Container& container, const RootFolders& folders) {
  const std::string& root = folders.layer;
  const std::string tmp = root + "/tmp", proc = root + "/proc",
                    home = root + (container.uid == 0 ? "/root" : "/home/pod");
  if (!make_folders(tmp) ||
      mount("tmpfs", tmp.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
    return failure("cannot make /tmp");
  if (!make_folders(proc) ||
      mount("proc", proc.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return failure("cannot make /proc");
  for (const char* folder : {"/run", "/var/tmp", "/var/run", "/var/lib", "/var/log", "/var/cache",
                             "/mnt", "/media", "/home", "/.trainyard/bin"}) {
    if (!make_folders(root + folder)) return failure(std::string("cannot make ") + folder);
  }
  chmod((root + "/var/tmp").c_str(), 01777);
  if (!make_folders(home, 0700) || chown(home.c_str(), container.uid, container.gid) != 0)
    return failure("cannot make the home folder");
  // Scripts call `python`; Debian has only python3.
  if (!exists("/usr/bin/python") && !exists("/usr/local/bin/python") &&
      exists("/usr/bin/python3") &&
      symlink("/usr/bin/python3", (root + "/.trainyard/bin/python").c_str()) != 0) {
    return failure("cannot make the link python");
  }
  return "";
}

// The folder of the run that becomes the root: an image's files lie below it, untouched.
std::string make_root(const Container& container, const std::string& root) {
  if (!make_folders(root)) return failure("cannot make the root");
  if (container.root_folder.empty()) {
    return mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) == 0
               ? ""
               : failure("cannot make the root");
  }
  const std::string upper = root + ".upper", work = root + ".work";
  if (!make_folders(upper) || !make_folders(work)) return failure("cannot make the root's layer");
  const std::string options = "lowerdir=" + container.root_folder + ",upperdir=" + upper +
                              ",workdir=" + work + (geteuid() == 0 ? "" : ",userxattr");
  if (mount("overlay", root.c_str(), "overlay", 0, options.c_str()) != 0)
    return failure("cannot lay a layer over the root folder " + container.root_folder);
  return "";
}

std::string change_root(const std::string& root) {
  if (chdir(root.c_str()) != 0) return failure("cannot enter the root");
  if (syscall(SYS_pivot_root, ".", ".") != 0) return failure("cannot change the root");
  if (umount2(".", MNT_DETACH) != 0) return failure("cannot leave the host's root");
  return chdir("/") == 0 ? "" : failure("cannot enter /");
}

}  // namespace

std::string build_root(const Container& container, const RootFolders& folders) {
  std::vector<OpenVolume> volumes;
  if (std::string problem = open_volumes(container.mounts, volumes); !problem.empty())
    return problem;
  if (!container.private_root) return attach_volumes(volumes);
  const std::string& root = folders.layer;
  if (std::string problem = make_root(container, root); !problem.empty()) return problem;
  if (mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NODEV, nullptr) != 0)
    return failure("cannot keep devices out of the root");
  for (const std::string& folder : container.host_folders) {
    if (std::string problem = show_host_folder(container, folders, folder); !problem.empty())
      return problem;
  }
  if (std::string problem = make_own_folders(container, folders); !problem.empty()) return problem;
  if (std::string problem = make_devices(folders); !problem.empty()) return problem;
  if (std::string problem = bind_read_only("/sys", root + "/sys"); !problem.empty()) return problem;
  if (std::string problem = change_root(root); !problem.empty()) return problem;
  if (std::string problem = attach_volumes(volumes); !problem.empty()) return problem;
  if (!container.working_folder.empty() && !make_folders(container.working_folder))
    return failure("cannot make the working folder " + container.working_folder);
  if (container.read_only_root &&
      mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NODEV, nullptr) != 0) {
    return failure("cannot make the root read-only");
  }
  return "";
}

}  // namespace shim
