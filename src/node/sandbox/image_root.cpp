#include "node/sandbox/image_root.h"

#include <cerrno>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/sandbox/user_namespace.h"
#include "node/shim/files.h"

namespace shim {
namespace {

constexpr size_t kMostOptions = 4095;  // the kernel takes a page

std::string failure(const std::string& what) {
  return what + ": " + strerror(errno);
}

std::string lower_list(const Container& container) {
  std::string out;
  for (const std::string& layer : container.layers)
    out += (out.empty() ? "" : ":") + layer;
  return out;
}

// The layers are named from where they lie, so that a hundred of them fit into one page.
bool lay_over(const Container& container, const std::string& root, const std::string& above) {
  const std::string upper = above + ".upper", work = above + ".work";
  if (!make_folders(upper) || !make_folders(work)) return false;
  const std::string options = "lowerdir=" + lower_list(container) + ",upperdir=" + upper +
                              ",workdir=" + work + ",volatile" +
                              (in_user_namespace() ? ",userxattr" : "");
  if (options.size() > kMostOptions) {
    errno = E2BIG;
    return false;
  }
  return chdir(container.layers_folder.c_str()) == 0 &&
         mount("overlay", root.c_str(), "overlay", MS_NODEV, options.c_str()) == 0;
}

// mkdir does not follow a link, and lstat sees one.
std::string have_folder(const std::string& path, unsigned mode) {
  struct stat facts;
  if (mkdir(path.c_str(), mode) == 0) return chmod(path.c_str(), mode) == 0 ? "" : failure(path);
  if (errno != EEXIST) return failure("cannot make " + path);
  if (lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    return "the image has something else than a folder at " + path.substr(path.rfind('/'));
  return "";
}

}  // namespace

std::string mount_image(const Container& container, const std::string& root) {
  if (!make_folders(root)) return failure("cannot make the root");
  if (!lay_over(container, root, root)) {
    // Where the disk of the state folder cannot be written through an overlay (some network and
    // overlay filesystems), memory can: what the container writes is then lost with it, as ever.
    const int refused = errno;
    const std::string memory = root + ".memory";
    if (refused == E2BIG || !make_folders(memory) ||
        mount("tmpfs", memory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0 ||
        !lay_over(container, root, memory + "/root")) {
      errno = refused;
      return failure("cannot lay the " + std::to_string(container.layers.size()) +
                     " layers of the image over each other (overlayfs)");
    }
  }
  if (chdir("/") != 0) return failure("cannot enter /");
  for (const char* folder : {"/proc", "/sys", "/dev"}) {
    if (std::string problem = have_folder(root + folder, 0755); !problem.empty()) return problem;
  }
  if (struct stat facts; lstat((root + "/tmp").c_str(), &facts) != 0) {
    if (std::string problem = have_folder(root + "/tmp", 01777); !problem.empty()) return problem;
  }
  return "";
}

std::string make_image_volumes(const Container& container) {
  for (const std::string& volume : container.image_volumes) {
    if (volume.empty() || volume[0] != '/' || volume == "/") continue;
    if (!make_folders(volume)) return failure("cannot make the image's volume " + volume);
    if (container.read_only_root &&
        mount(volume.c_str(), volume.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return failure("cannot keep the image's volume " + volume + " writable");
  }
  return "";
}

}  // namespace shim
