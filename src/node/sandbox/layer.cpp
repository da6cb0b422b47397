#include "node/sandbox/layer.h"

#include <cerrno>
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"
#include "node/shim/files.h"

namespace shim {
namespace {

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

// Also where nearly every pod has its token: a mount point that is there need not be made.
constexpr const char* kFolders[] = {"/tmp",
                                    "/proc",
                                    "/dev",
                                    "/sys",
                                    "/run",
                                    "/var/tmp",
                                    "/var/run/secrets/kubernetes.io/serviceaccount",
                                    "/var/lib",
                                    "/var/log",
                                    "/var/cache",
                                    "/mnt",
                                    "/media",
                                    "/home",
                                    "/.trainyard/bin"};

constexpr int kMostSkeletons = 64, kOpenFolders = 16;
constexpr size_t kMostNames = 1024;  // bytes of the names of mount points: some hundred folders

bool fill_skeleton(const std::string& root, const std::vector<std::string>& host_folders) {
  for (const char* folder : kFolders) {
    if (!make_folders(root + folder)) return false;
  }
  if (!make_folders(root + "/root", 0700) || chmod((root + "/var/tmp").c_str(), 01777) != 0 ||
      !link_python(root))
    return false;
  for (const std::string& folder : host_folders) {
    struct stat facts;
    if (lstat(folder.c_str(), &facts) != 0) continue;
    if (!S_ISLNK(facts.st_mode)) {
      if (!make_folders(root + folder)) return false;
      continue;
    }
    char leads_to[PATH_MAX];
    const ssize_t size = readlink(folder.c_str(), leads_to, sizeof leads_to - 1);
    if (size < 0) return false;
    leads_to[size] = '\0';
    if (symlink(leads_to, (root + folder).c_str()) != 0) return false;
  }
  return true;
}

bool make_points(const std::string& root, const MountPoints& points) {
  for (const std::string& folder : points.folders) {
    if (!make_folders(root + folder)) return false;
  }
  for (const std::string& file : points.files) {
    if (!make_folders(parent_of(root + file)) || !touch(root + file)) return false;
  }
  return true;
}

int remove_one(const char* path, const struct stat*, int, FTW*) {
  remove(path);
  return 0;
}

// Shown under its name only when it is whole; of two that make it at once one wins.
bool have_skeleton_with(const std::string& skeleton, const std::vector<std::string>& host_folders,
                        const MountPoints& points) {
  if (is_folder(skeleton.c_str())) return true;
  std::string made = skeleton + "-XXXXXX";
  if (mkdtemp(made.data()) == nullptr || chmod(made.c_str(), 0755) != 0) return false;
  if (fill_skeleton(made, host_folders) && make_points(made, points) &&
      rename(made.c_str(), skeleton.c_str()) == 0)
    return true;
  nftw(made.c_str(), remove_one, kOpenFolders, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
  return is_folder(skeleton.c_str());
}

// Of the mount points' names: containers that have the same share a skeleton.
std::string digest(const MountPoints& points) {
  uint64_t state = 0xcbf29ce484222325;
  const auto add = [&](char kind, const std::string& text) {
    for (const char letter : kind + text + '\0')
      state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  };
  for (const std::string& folder : points.folders)
    add('d', folder);
  for (const std::string& file : points.files)
    add('f', file);
  char out[17];
  snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(state));
  return out;
}

bool is_small(const MountPoints& points) {
  size_t bytes = 0;
  for (const auto* names : {&points.folders, &points.files}) {
    for (const std::string& name : *names)
      bytes += name.size();
  }
  return bytes <= kMostNames;
}

// Whoever mounts at ever other places does not fill the disk with skeletons.
bool has_room_for_another(const std::string& skeleton) {
  DIR* folder = opendir(parent_of(skeleton).c_str());
  if (folder == nullptr) return false;
  const std::string start = skeleton.substr(skeleton.rfind('/') + 1) + ".";
  int count = 0;
  while (const dirent* entry = readdir(folder))
    count += strncmp(entry->d_name, start.c_str(), start.size()) == 0 ? 1 : 0;
  closedir(folder);
  return count < kMostSkeletons;
}

// The layers below the one that is written; "": they cannot be had.
std::string lower_layers(const Layer& layer, const std::vector<std::string>& host_folders,
                         const MountPoints& missing) {
  if (missing.is_empty()) return layer.skeleton;
  const std::string own = layer.skeleton + "." + digest(missing);
  if (is_folder(own.c_str()) || (is_small(missing) && has_room_for_another(layer.skeleton) &&
                                 have_skeleton_with(own, host_folders, missing)))
    return own;
  return make_points(layer.points, missing) ? layer.points + ":" + layer.skeleton : "";
}

bool mount_overlay(const Layer& layer, const std::vector<std::string>& host_folders,
                   const MountPoints& missing) {
  // The kernel's options know these as their own.
  if ((layer.upper + layer.points + layer.skeleton).find_first_of(",:\\") != std::string::npos)
    return false;
  const std::string lower = lower_layers(layer, host_folders, missing);
  // The layer goes with the pod: nobody waits for it to reach the disk.
  const std::string options = "lowerdir=" + lower + ",upperdir=" + layer.upper +
                              ",workdir=" + layer.work + ",volatile" +
                              (in_user_namespace() ? ",userxattr" : "");
  return !lower.empty() && make_folders(layer.work) &&
         mount("overlay", layer.folder.c_str(), "overlay", MS_NODEV, options.c_str()) == 0;
}

}  // namespace

bool have_skeleton(const std::string& skeleton, const std::vector<std::string>& host_folders) {
  return have_skeleton_with(skeleton, host_folders, {});
}

bool link_python(const std::string& root) {
  if (exists("/usr/bin/python") || exists("/usr/local/bin/python") || !exists("/usr/bin/python3"))
    return true;
  return symlink("/usr/bin/python3", (root + "/.trainyard/bin/python").c_str()) == 0 ||
         errno == EEXIST;
}

std::string empty_folder(const std::string& skeleton) {
  return skeleton + "/mnt";
}

std::string mount_layer(const Layer& layer, const std::vector<std::string>& host_folders,
                        const MountPoints& missing, bool& over_skeleton) {
  const std::string& root = layer.folder;
  if (!make_folders(layer.upper) || (root != layer.upper && !make_folders(root)))
    return failure("cannot make the root");
  over_skeleton = mount_overlay(layer, host_folders, missing);
  if (over_skeleton) return "";
  if (mount(layer.upper.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure("cannot make the root");
  if (mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NODEV, nullptr) != 0)
    return failure("cannot keep devices out of the root");
  return "";
}

}  // namespace shim
