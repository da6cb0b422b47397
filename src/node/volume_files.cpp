#include "node/volume_files.h"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "node/files.h"

namespace yard {
namespace {

// Programs watch `..data`; a later version of the files is a new folder and one rename of that
// link.
constexpr std::string_view kFirstVersion = "..first", kSecondVersion = "..second";

// The first segments of the files' paths.
Result<std::set<std::string>> write_version(const LaunchVolume& volume,
                                            const std::string& version) {
  TRY(make_folders(version, 0755));
  std::set<std::string> tops;
  for (const LaunchFile& file : volume.files) {
    const std::string path = version + "/" + file.path;
    TRY(make_folders(path.substr(0, path.find_last_of('/')), 0755));
    TRY(write_text(path, file.content, file.mode));
    if (volume.group &&
        (chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*volume.group)) != 0 ||
         chmod(path.c_str(), static_cast<mode_t>(file.mode | 0440)) != 0)) {
      return system_error("cannot give " + path + " to the pod's group");
    }
    tops.insert(file.path.substr(0, file.path.find('/')));
  }
  return tops;
}

Result<void> make_link(const std::string& to, const std::string& path) {
  if (symlink(to.c_str(), path.c_str()) != 0 && errno != EEXIST)
    return system_error("cannot make the link " + path);
  return {};
}

Result<void> make_files(const LaunchVolume& volume, const std::string& folder) {
  TRY(make_folders(folder, 0755));
  const std::set<std::string> tops =
      TRY(write_version(volume, folder + "/" + std::string(kFirstVersion)));
  TRY(make_link(std::string(kFirstVersion), folder + "/..data"));
  for (const std::string& top : tops)
    TRY(make_link("..data/" + top, folder + "/" + top));
  return {};
}

Result<void> make_empty(const LaunchVolume& volume, const std::string& folder) {
  TRY(make_folders(folder, 0755));
  if (chmod(folder.c_str(), volume.group ? 02777 : 0777) != 0)
    return system_error("cannot open " + folder + " to the pod");
  if (volume.group &&
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

// The folder `..data` points at; "" when there is none.
std::string shown_version(const std::string& folder) {
  char target[256];
  const ssize_t size = readlink((folder + "/..data").c_str(), target, sizeof target);
  return size <= 0 ? "" : std::string(target, static_cast<size_t>(size));
}

}  // namespace

Result<void> replace_volume_files(const LaunchVolume& volume, const std::string& folder) {
  const std::string before = shown_version(folder);
  if (before.empty()) return make_files(volume, folder);
  // Two names take turns: the one that is not shown is free to be written.
  const std::string next =
      before == kFirstVersion ? std::string(kSecondVersion) : std::string(kFirstVersion);
  remove_folder(folder + "/" + next);
  const std::set<std::string> tops = TRY(write_version(volume, folder + "/" + next));
  const std::string aside = folder + "/..data_next";
  unlink(aside.c_str());
  TRY(make_link(next, aside));
  if (rename(aside.c_str(), (folder + "/..data").c_str()) != 0)
    return system_error("cannot show the new files of " + folder);
  for (const std::string& top : tops)
    TRY(make_link("..data/" + top, folder + "/" + top));
  if (before == kFirstVersion || before == kSecondVersion) remove_folder(folder + "/" + before);
  return {};
}

Result<void> make_volume(const LaunchVolume& volume, const std::string& folder) {
  switch (volume.type) {
    case LaunchVolume::Type::Empty: return make_empty(volume, folder);
    case LaunchVolume::Type::Memory:
      return make_folders(folder, 0755);  // the shim mounts a tmpfs there
    case LaunchVolume::Type::Files: return replace_volume_files(volume, folder);
    case LaunchVolume::Type::HostPath: return check_host_path(volume);
  }
  return {};
}

}  // namespace yard
