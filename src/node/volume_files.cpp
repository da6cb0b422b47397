#include "node/volume_files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
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

Result<void> write_version(const LaunchVolume& volume, const std::string& version) {
  TRY(make_folders(version, 0755));
  for (const LaunchFile& file : volume.files) {
    const std::string path = version + "/" + file.path;
    if (file.path.find('/') != std::string::npos)
      TRY(make_folders(path.substr(0, path.find_last_of('/')), 0755));
    TRY(write_text(path, file.content, file.mode));
    if (volume.group && can_give_away() &&
        (chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*volume.group)) != 0 ||
         chmod(path.c_str(), static_cast<mode_t>(file.mode | 0440)) != 0)) {
      return system_error("cannot give " + path + " to the pod's group");
    }
  }
  return {};
}

Result<void> make_link(const std::string& to, const std::string& path) {
  if (symlink(to.c_str(), path.c_str()) != 0 && errno != EEXIST)
    return system_error("cannot make the link " + path);
  return {};
}

std::set<std::string> top_names(const LaunchVolume& volume) {
  std::set<std::string> out;
  for (const LaunchFile& file : volume.files)
    out.insert(file.path.substr(0, file.path.find('/')));
  return out;
}

Result<void> make_files(const LaunchVolume& volume, const std::string& folder) {
  TRY(make_folders(folder, 0755));
  TRY(write_version(volume, folder + "/" + std::string(kFirstVersion)));
  TRY(make_link(std::string(kFirstVersion), folder + "/..data"));
  for (const std::string& top : top_names(volume))
    TRY(make_link("..data/" + top, folder + "/" + top));
  return {};
}

// The files below the version that is shown now.
bool is_shown(const LaunchVolume& volume, const std::string& folder, const std::string& version) {
  size_t there = 0;
  std::error_code code;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder + "/" + version, code))
    there += entry.is_regular_file(code) ? 1 : 0;
  return there == volume.files.size() &&
         std::ranges::all_of(volume.files, [&](const LaunchFile& file) {
           return read_text(folder + "/" + version + "/" + file.path, file.content.size() + 1) ==
                  file.content;
         });
}

// ..first, ..2, ..3
std::string version_after(const std::string& version) {
  const auto number =
      parse_int64(std::string_view(version).substr(std::min<size_t>(2, version.size())));
  return fmt::format("..{}", number ? *number + 1 : 2);
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
    case LaunchVolume::Type::Files:
      return std::filesystem::is_symlink(folder + "/..data") ? update_volume_files(volume, folder)
                                                             : make_files(volume, folder);
    case LaunchVolume::Type::HostPath: return check_host_path(volume);
  }
  return {};
}

}  // namespace

Result<void> update_volume_files(const LaunchVolume& volume, const std::string& folder) {
  std::error_code code;
  const std::string shown = std::filesystem::read_symlink(folder + "/..data", code).string();
  if (code) return error(Reason::NotFound, folder + " is no volume of files");
  if (is_shown(volume, folder, shown)) return {};
  const std::string next = version_after(shown), link = folder + "/..data_next";
  remove_folder(folder + "/" + next);  // half made by a server that died
  TRY(write_version(volume, folder + "/" + next));
  unlink(link.c_str());
  TRY(make_link(next, link));
  if (rename(link.c_str(), (folder + "/..data").c_str()) != 0)
    return system_error("cannot show the new files of " + folder);
  const std::set<std::string> tops = top_names(volume);
  for (const std::string& top : tops)
    TRY(make_link("..data/" + top, folder + "/" + top));
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("..") && !tops.contains(name)) unlink(entry.path().c_str());
  }
  remove_folder(folder + "/" + shown);
  return {};
}

Result<void> make_volume(const LaunchVolume& volume, const std::string& folder) {
  auto made = make_by_type(volume, folder);
  if (made) return {};
  return error(made.error().reason, fmt::format("MountVolume.SetUp failed for volume {} : {}",
                                                yard::quoted(volume.name), made.error().message));
}

}  // namespace yard
