#include "node/volume_files.h"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

// Programs watch `..data`; a later version of the files is a new folder and one rename of that
// link.
constexpr std::string_view kFirstVersion = "..first";

// Files of an ordinary user have its group; a pod of its own reads them as their owner
// (sandbox_facts.h names that).
bool can_give_away() {
  return geteuid() == 0;
}

Result<void> make_files(const LaunchVolume& volume, const std::string& folder) {
  TRY(make_folders(folder, 0755));
  const std::string version = folder + "/" + std::string(kFirstVersion);
  TRY(make_folders(version, 0755));
  std::set<std::string> tops;
  for (const LaunchFile& file : volume.files) {
    const std::string path = version + "/" + file.path;
    TRY(make_folders(path.substr(0, path.find_last_of('/')), 0755));
    TRY(write_text(path, file.content, file.mode));
    if (volume.group && can_give_away() &&
        (chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*volume.group)) != 0 ||
         chmod(path.c_str(), static_cast<mode_t>(file.mode | 0440)) != 0)) {
      return system_error("cannot give " + path + " to the pod's group");
    }
    tops.insert(file.path.substr(0, file.path.find('/')));
  }
  const auto link = [&](const std::string& to, const std::string& name) -> Result<void> {
    if (symlink(to.c_str(), (folder + "/" + name).c_str()) != 0 && errno != EEXIST)
      return system_error("cannot make the link " + folder + "/" + name);
    return {};
  };
  TRY(link(std::string(kFirstVersion), "..data"));
  for (const std::string& top : tops)
    TRY(link("..data/" + top, top));
  return {};
}

Result<void> make_empty(const LaunchVolume& volume, const std::string& folder) {
  TRY(make_folders(folder, 0755));
  if (chmod(folder.c_str(), volume.group ? 02777 : 0777) != 0)
    return system_error("cannot open " + folder + " to the pod");
  if (volume.group && can_give_away() &&
      chown(folder.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*volume.group)) != 0) {
    return system_error("cannot give " + folder + " to the pod's group");
  }
  return {};
}

Result<void> check_host_path(const LaunchVolume& volume) {
  const std::string& path = volume.path;
  const std::string& type = volume.path_type;
  struct stat facts;
  bool there = stat(path.c_str(), &facts) == 0;
  if (!there && (type.empty() || type == "DirectoryOrCreate")) return make_folders(path, 0755);
  if (!there && type == "FileOrCreate") return write_text(path, "", 0644);
  const auto wrong = [&](const char* what) {
    return error(Reason::Invalid,
                 fmt::format("hostPath type check failed: {} is not {}", path, what));
  };
  if ((type == "Directory" || type == "DirectoryOrCreate") && (!there || !S_ISDIR(facts.st_mode)))
    return wrong("a directory");
  if ((type == "File" || type == "FileOrCreate") && (!there || !S_ISREG(facts.st_mode)))
    return wrong("a file");
  if (type == "Socket" && (!there || !S_ISSOCK(facts.st_mode))) return wrong("a socket file");
  if (type == "CharDevice" && (!there || !S_ISCHR(facts.st_mode)))
    return wrong("a character device");
  if (type == "BlockDevice" && (!there || !S_ISBLK(facts.st_mode))) return wrong("a block device");
  return {};
}

Result<void> make_by_type(const LaunchVolume& volume, const std::string& folder) {
  switch (volume.type) {
    case LaunchVolume::Type::Empty: return make_empty(volume, folder);
    case LaunchVolume::Type::Memory:
      return make_folders(folder, 0755);  // the shim mounts a tmpfs there
    case LaunchVolume::Type::Files: return make_files(volume, folder);
    case LaunchVolume::Type::HostPath: return check_host_path(volume);
  }
  return {};
}

}  // namespace

Result<void> make_volume(const LaunchVolume& volume, const std::string& folder) {
  auto made = make_by_type(volume, folder);
  if (made) return {};
  return error(made.error().reason, fmt::format("MountVolume.SetUp failed for volume {} : {}",
                                                quoted(volume.name), made.error().message));
}

}  // namespace yard
