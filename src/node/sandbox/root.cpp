#include "node/sandbox/root.h"

#include <cerrno>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "node/sandbox/image_root.h"
#include "node/sandbox/layer.h"
#include "node/sandbox/masks.h"
#include "node/sandbox/pid_namespace.h"
#include "node/sandbox/pod_memory.h"
#include "node/sandbox/user_namespace.h"
#include "node/sandbox/volumes.h"
#include "node/shim/files.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

// The same on every machine.
struct Device {
  const char* name;
  unsigned major, minor;
};
constexpr Device kDevices[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
                               {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};
constexpr const char* kGpuDevices[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                       "nvidia-modeset"};
constexpr int kMostGpus = 32;

// Whether what is mounted below comes along: a driver's libraries, /usr/local on a disk of its own.
// It must for an ordinary user: the kernel does not let it look under another's mounts.
enum class Below { Left, Shown };

// Nearly always its mount point is there already.
bool attach(int tree, const std::string& target) {
  const auto moved = [&] {
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) ==
           0;
  };
  return moved() || (errno == ENOENT && make_folders(target) && moved());
}

bool mount_at(const char* source, const std::string& target, const char* type, unsigned long flags,
              const char* options) {
  const auto mounted = [&] { return mount(source, target.c_str(), type, flags, options) == 0; };
  return mounted() || (errno == ENOENT && make_folders(target) && mounted());
}

std::string bind_read_only(const std::string& source, const std::string& target, Below below) {
  const unsigned recursive = below == Below::Shown || in_user_namespace() ? AT_RECURSIVE : 0;
  const int tree = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, source.c_str(),
                                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive));
  if (tree < 0) return failure("cannot show " + source);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  std::string problem;
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | recursive, &attributes,
              sizeof attributes) != 0) {
    problem = failure("cannot make read-only " + source);
  } else if (!attach(tree, target)) {
    problem = failure("cannot show " + source);
  }
  close(tree);
  return problem;
}

// The root that is being built, from where we are.
struct Root {
  RootFolders folders;  // `root` is "."
  bool over_skeleton = false;
};

// A path with `..` in it may lead anywhere: such a mount point is made when the root is ours.
bool is_below(const std::string& path, const std::string& folder) {
  return path.find("/..") == std::string::npos && path.size() > folder.size() &&
         path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/';
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
      "lowerdir=" + top + ":" + folder + (in_user_namespace() ? ",userxattr" : "");
  if (!make_folders(target)) return failure("cannot make " + target);
  if (mount("overlay", target.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0)
    return failure("cannot add mount points to " + folder);
  return "";
}

// Whether the skeleton below the root has the link already: asked there, because a first look
// through an overlay costs ten of these.
bool is_link_of_skeleton(const Root& root, const std::string& path) {
  struct stat facts;
  return root.over_skeleton && lstat((root.folders.skeleton + path).c_str(), &facts) == 0 &&
         S_ISLNK(facts.st_mode);
}

std::string show_host_folder(const std::vector<OpenVolume>& volumes, const Root& root,
                             const std::string& folder) {
  const RootFolders& folders = root.folders;
  const std::string target = folders.root + folder;
  if (is_link_of_skeleton(root, folder)) return "";
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
  for (const OpenVolume& volume : volumes) {
    if (!is_below(volume.target, folder) || exists(volume.target.c_str())) continue;
    (volume.is_folder ? missing_folders : missing_files).push_back(volume.target);
  }
  if (missing_folders.empty() && missing_files.empty())
    return bind_read_only(folder, target, Below::Shown);
  return show_with_mount_points(folder, missing_folders, missing_files, folders, target);
}

std::string mount_shared_memory(const RootFolders& folders, const std::string& dev) {
  const std::string shm = dev + "/shm";
  if (folders.memory >= 0) {
    const int tree = copy_of_mount(folders.memory);
    const bool shown = tree >= 0 && attach(tree, shm);
    return shown ? "" : failure("cannot make /dev/shm");
  }
  if (mount_at(folders.shared_memory.c_str(), shm, nullptr, MS_BIND, nullptr)) return "";
  return failure("cannot make /dev/shm");
}

std::string bind_device(const std::string& device, const std::string& dev) {
  const std::string source = "/dev/" + device, target = dev + "/" + device;
  if (!exists(source.c_str())) return "";
  if (!touch(target) || mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure("cannot show " + source);
  return "";
}

// A node of its own costs a fifth of a mount; an ordinary user may make none.
std::string make_device(const Device& device, const std::string& dev) {
  const bool made = !in_user_namespace() && mknod((dev + "/" + device.name).c_str(), S_IFCHR | 0666,
                                                  makedev(device.major, device.minor)) == 0;
  return made ? "" : bind_device(device.name, dev);
}

std::string bind_gpus(const std::string& dev) {
  for (const char* device : kGpuDevices) {
    if (std::string problem = bind_device(device, dev); !problem.empty()) return problem;
  }
  for (int number = 0; number < kMostGpus; ++number) {
    if (std::string problem = bind_device("nvidia" + std::to_string(number), dev); !problem.empty())
      return problem;
  }
  return "";
}

std::string make_devices(const Container& container, const RootFolders& folders) {
  const std::string dev = folders.root + "/dev";
  if (container.privileged && !in_user_namespace()) {
    if (!mount_at("/dev", dev, nullptr, MS_BIND | MS_REC, nullptr))
      return failure("cannot show the machine's /dev");
    return mount_shared_memory(folders, dev);
  }
  if (!mount_at("tmpfs", dev, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=65536k"))
    return failure("cannot make /dev");
  const mode_t before = umask(0);
  std::string refused;
  for (const Device& device : kDevices) {
    if (refused.empty()) refused = make_device(device, dev);
  }
  umask(before);
  if (!refused.empty()) return refused;
  if (exists("/dev/nvidiactl")) {
    if (std::string problem = bind_gpus(dev); !problem.empty()) return problem;
  }
  const std::string pts = dev + "/pts";
  if (!make_folders(pts) || mount("devpts", pts.c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                                  "newinstance,ptmxmode=0666,mode=0620") != 0) {
    return failure("cannot make /dev/pts");
  }
  if (std::string problem = mount_shared_memory(folders, dev); !problem.empty()) return problem;
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

std::string mount_proc(const std::string& proc) {
  const bool mounted =
      sees_machine_processes()
          ? mount_at("/proc", proc, nullptr, MS_BIND | MS_REC, nullptr)
          : mount_at("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  return mounted ? "" : failure("cannot make /proc");
}

// What the skeleton has, where there is one.
std::string make_common_folders(const std::string& root) {
  for (const char* folder : {"/run", "/var/tmp", "/var/run", "/var/lib", "/var/log", "/var/cache",
                             "/mnt", "/media", "/home", "/.trainyard/bin"}) {
    if (!make_folders(root + folder)) return failure(std::string("cannot make ") + folder);
  }
  if (chmod((root + "/var/tmp").c_str(), 01777) != 0) return failure("cannot open /var/tmp");
  return link_python(root) ? "" : failure("cannot make the link python");
}

std::string make_own_folders(const Container& container, const Root& building) {
  const std::string& root = building.folders.root;
  if (!container.layers.empty()) return mount_proc(root + "/proc");  // the rest is the image's
  const std::string tmp = root + "/tmp", home = root + (container.uid == 0 ? "/root" : "/home/pod");
  if (!mount_at("tmpfs", tmp, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"))
    return failure("cannot make /tmp");
  if (std::string problem = mount_proc(root + "/proc"); !problem.empty()) return problem;
  if (!building.over_skeleton) {
    if (std::string problem = make_common_folders(root); !problem.empty()) return problem;
  } else if (container.uid == 0 && container.gid == 0) {
    return "";  // its home is there too
  }
  // In a user namespace all that is ours belongs to the container's user, however it is called.
  if (!make_folders(home, 0700) ||
      (!in_user_namespace() && (container.uid != 0 || container.gid != 0) &&
       chown(home.c_str(), container.uid, container.gid) != 0))
    return failure("cannot make the home folder");
  return "";
}

bool makes_itself(const std::string& target, const std::vector<std::string>& host_folders) {
  if (target.find("/..") != std::string::npos) return true;
  for (const char* own : {"/dev", "/proc", "/sys", "/tmp"}) {
    if (target == own || is_below(target, own)) return true;
  }
  for (const std::string& folder : host_folders) {
    if (target == folder || is_below(target, folder)) return true;
  }
  return false;
}

// Those that the skeleton lacks: made in the root each would be written to the disk.
MountPoints missing_points(const Container& container, const std::vector<OpenVolume>& volumes,
                           const RootFolders& folders) {
  MountPoints out;
  for (const OpenVolume& volume : volumes) {
    if (makes_itself(volume.target, container.host_folders) ||
        exists((folders.skeleton + volume.target).c_str()))
      continue;
    (volume.is_folder ? out.folders : out.files).push_back(volume.target);
  }
  return out;
}

// What becomes the root: an image's files lie below it, untouched.
std::string make_root(const Container& container, const std::vector<OpenVolume>& volumes,
                      const RootFolders& folders, bool& over_skeleton) {
  if (!container.layers.empty())
    return mount_image(container, {folders.root, folders.upper, folders.work});
  if (container.root_folder.empty()) {
    have_skeleton(folders.skeleton, container.host_folders);
    return mount_layer(
        {folders.root, folders.upper, folders.work, folders.mount_points, folders.skeleton},
        container.host_folders, missing_points(container, volumes, folders), over_skeleton);
  }
  if (!make_folders(folders.root) || !make_folders(folders.upper) || !make_folders(folders.work))
    return failure("cannot make the root's layer");
  const std::string options = "lowerdir=" + container.root_folder + ",upperdir=" + folders.upper +
                              ",workdir=" + folders.work +
                              (in_user_namespace() ? ",userxattr" : "");
  if (mount("overlay", folders.root.c_str(), "overlay", MS_NODEV, options.c_str()) != 0)
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
  Root building{folders};
  if (std::string problem = make_root(container, volumes, folders, building.over_skeleton);
      !problem.empty())
    return problem;
  // From inside, so that no step walks the long way to the layer again.
  if (chdir(folders.root.c_str()) != 0) return failure("cannot enter the root");
  const std::string root = building.folders.root = ".";
  for (const std::string& folder : container.host_folders) {
    if (std::string problem = show_host_folder(volumes, building, folder); !problem.empty())
      return problem;
  }
  if (std::string problem = make_own_folders(container, building); !problem.empty()) return problem;
  if (std::string problem = make_devices(container, building.folders); !problem.empty())
    return problem;
  if (std::string problem = bind_read_only("/sys", root + "/sys", Below::Left); !problem.empty())
    return problem;
  // In a user namespace the kernel itself keeps the machine's things from us.
  if (container.masked_proc && !in_user_namespace()) {
    if (std::string problem = mask_machine(root, empty_folder(folders.skeleton)); !problem.empty())
      return problem;
  }
  if (std::string problem = change_root(root); !problem.empty()) return problem;
  if (std::string problem = make_image_volumes(container); !problem.empty()) return problem;
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
