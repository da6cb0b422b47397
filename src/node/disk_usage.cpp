#include "node/disk_usage.h"

#include <filesystem>
#include <sys/stat.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr uint64_t kBlock = 512;  // st_blocks counts these whatever the filesystem's own are

template <typename Use>
void for_each_folder(const std::string& folder, Use use) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.is_directory(code)) use(entry.path());
  }
}

}  // namespace

uint64_t disk_usage(const std::string& folder) {
  uint64_t out = 0;
  std::error_code code;
  std::filesystem::recursive_directory_iterator entry(
      folder, std::filesystem::directory_options::skip_permission_denied, code);
  for (const std::filesystem::recursive_directory_iterator end; !code && entry != end;
       entry.increment(code)) {
    struct stat facts;
    if (lstat(entry->path().c_str(), &facts) == 0)
      out += static_cast<uint64_t>(facts.st_blocks) * kBlock;
  }
  return out;
}

PodUsage usage_of(const PodFolders& folders) {
  PodUsage out;
  for_each_folder(folders.run + "/volumes", [&](const std::filesystem::path& path) {
    out.volumes[path.filename().string()] = disk_usage(path.string());
  });
  // upper.<container>.<run>; names of containers have no dot.
  for_each_folder(folders.run, [&](const std::filesystem::path& path) {
    const auto parts = split(path.filename().native(), '.');
    if (parts.size() == 3 && parts[0] == "upper")
      out.containers[std::string(parts[1])] += disk_usage(path.string());
  });
  for_each_folder(folders.logs, [&](const std::filesystem::path& path) {
    out.containers[path.filename().string()] += disk_usage(path.string());
  });
  return out;
}

}  // namespace yard
