#include "node/sandbox/layer.h"

#include <cerrno>
#include <limits.h>
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

// Shown under its name only when it is whole; of two that make it at once one wins.
bool have_skeleton(const std::string& skeleton, const std::vector<std::string>& host_folders) {
  if (is_folder(skeleton.c_str())) return true;
  std::string made = skeleton + "-XXXXXX";
  if (mkdtemp(made.data()) == nullptr || chmod(made.c_str(), 0755) != 0) return false;
  if (!fill_skeleton(made, host_folders)) return false;
  return rename(made.c_str(), skeleton.c_str()) == 0 || is_folder(skeleton.c_str());
}

bool mount_overlay(const Layer& layer, const std::vector<std::string>& host_folders) {
  // The kernel's options know these as their own.
  if ((layer.upper + layer.points + layer.skeleton).find_first_of(",:\\") != std::string::npos)
    return false;
  if (!have_skeleton(layer.skeleton, host_folders)) return false;
  // The layer goes with the pod: nobody waits for it to reach the disk.
  const std::string options = "lowerdir=" + (layer.points.empty() ? "" : layer.points + ":") +
                              layer.skeleton + ",upperdir=" + layer.upper +
                              ",workdir=" + layer.work + ",volatile" +
                              (in_user_namespace() ? ",userxattr" : "");
  return make_folders(layer.work) &&
         mount("overlay", layer.folder.c_str(), "overlay", MS_NODEV, options.c_str()) == 0;
}

}  // namespace

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
                        bool& over_skeleton) {
  const std::string& root = layer.folder;
  if (!make_folders(root) || !make_folders(layer.upper)) return failure("cannot make the root");
  over_skeleton = mount_overlay(layer, host_folders);
  if (over_skeleton) return "";
  if (mount(layer.upper.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failure("cannot make the root");
  if (mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NODEV, nullptr) != 0)
    return failure("cannot keep devices out of the root");
  return "";
}

}  // namespace shim
