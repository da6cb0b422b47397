#include "node/images/image_catalog.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "images/small_files.h"
#include "images/stored_image.h"
#include "node/images/unpacked_image.h"

namespace yard {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostFileBytes = 16u << 20, kMostTableBytes = 1u << 20;

// A file of the image, of the uppermost layer that has it. Links are not followed: nobody knows
// where they lead.
std::string file_of_image(const UnpackedImage& image, const char* path) {
  for (const std::string& layer : image.layers) {
    const Descriptor folder(
        ::open((image.layers_folder + "/" + layer).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const Descriptor file(
        static_cast<int>(::syscall(SYS_openat2, folder.get(), path, &how, sizeof how)));
    if (!file.is_open()) {
      if (errno == ENXIO) return "";  // a whiteout
      continue;
    }
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
    std::string out(std::min<std::size_t>(static_cast<std::size_t>(facts.st_size), kMostTableBytes),
                    '\0');
    const ssize_t got = ::read(file.get(), out.data(), out.size());
    out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return out;
  }
  return "";
}

ImageEntry entry_of(const StoredImage& image, const std::string& folder) {
  auto unpacked = std::make_shared<UnpackedImage>();
  unpacked->layers_folder = folder + "/layers";
  unpacked->layers = lower_folders(image.config.diff_ids);
  unpacked->user = image.config.user;
  unpacked->stop_signal = image.config.stop_signal;
  unpacked->volumes = image.config.volumes;
  unpacked->id = image_id_of(image);
  unpacked->bytes = image.bytes;
  unpacked->origin = image.origin;
  unpacked->users = parse_users(file_of_image(*unpacked, "etc/passwd"));
  unpacked->groups = parse_groups(file_of_image(*unpacked, "etc/group"));
  ImageEntry out;
  out.base = ImageEntry::Base::Layers;
  out.working_folder = image.config.working_folder;
  out.entrypoint = image.config.entrypoint;
  out.args = image.config.command;
  for (const std::string& each : image.config.env) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    out.env[each.substr(0, equals)] = each.substr(equals + 1);
  }
  out.unpacked = std::move(unpacked);
  return out;
}

}  // namespace

void ImageCatalog::refresh() {
  struct stat facts {};
  const std::string names = folder_ + "/names";
  if (::stat(names.c_str(), &facts) != 0) facts.st_mtim = {};
  if (facts.st_mtim.tv_sec == seen_.tv_sec && facts.st_mtim.tv_nsec == seen_.tv_nsec) return;
  seen_ = facts.st_mtim;
  ++version_;
  std::map<std::string, File> files;
  std::error_code failed;
  for (fs::directory_iterator each(names, failed), end; !failed && each != end;
       each.increment(failed)) {
    const std::string path = each->path().string();
    if (!path.ends_with(".json") || ::stat(path.c_str(), &facts) != 0) continue;
    if (const auto known = files_.find(path);
        known != files_.end() && known->second.inode == facts.st_ino) {
      files.insert(files_.extract(known));
      continue;
    }
    const auto text = read_small_file(path, kMostFileBytes);
    const auto image = text ? read_stored_image(*text) : std::nullopt;
    if (image)
      files[path] = {facts.st_ino, image->name, tagged_digest(*image), image->manifest_digest,
                     entry_of(*image, folder_)};
  }
  files_ = std::move(files);
  by_name_.clear();
  for (const auto& [path, file] : files_)
    by_name_[file.name] = path;
}

const ImageEntry* ImageCatalog::find(std::string_view image) {
  refresh();
  if (files_.empty()) return nullptr;
  const auto found = by_name_.find(full_image_name(image));
  if (found != by_name_.end()) return &files_.find(found->second)->second.entry;
  // By digest: whatever tag it was loaded under.
  const std::size_t at = image.find('@');
  if (at == std::string_view::npos) return nullptr;
  const std::string wanted = repository_of(full_image_name(image));
  for (const auto& [path, file] : files_) {
    const std::string_view digest = image.substr(at + 1);
    if ((file.digest == digest || file.manifest_digest == digest) &&
        repository_of(file.name) == wanted)
      return &file.entry;
  }
  return nullptr;
}

std::vector<ImageCatalog::Listed> ImageCatalog::list() {
  refresh();
  std::vector<Listed> out;
  for (const auto& [path, file] : files_)
    out.push_back(
        {{repository_of(file.name) + "@" + file.digest, file.name}, file.entry.unpacked->bytes});
  std::ranges::stable_sort(out, std::greater<>(), &Listed::bytes);
  return out;
}

std::uint64_t ImageCatalog::version() {
  refresh();
  return version_;
}

void ImageCatalog::touch(std::string_view image) {
  const auto found = by_name_.find(full_image_name(image));
  if (found != by_name_.end()) ::utimensat(AT_FDCWD, found->second.c_str(), nullptr, 0);
}

}  // namespace yard
