#include "images/store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "images/small_files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostStoredBytes = 16u << 20;

Error failure(std::string_view doing, const std::string& path) {
  return error(Reason::InternalError,
               fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

std::string text_of_file(const std::string& path) {
  auto text = read_small_file(path, kMostStoredBytes);
  return text ? std::move(*text) : "";
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
       each.increment(failed))
    out.push_back(each->path().filename().string());
  std::ranges::sort(out);
  return out;
}

// A layer that is whole in the page cache but perhaps not on the disk: trusted until the machine
// starts anew, and for good once an image names it.
std::string boot_id() {
  return text_of_file("/proc/sys/kernel/random/boot_id");
}

std::string layer_text(const LayerIntake::Outcome& outcome) {
  return to_text(JsonObject{{"diffId", outcome.diff_id},
                            {"bytes", outcome.bytes},
                            {"entries", outcome.entries},
                            {"bootId", boot_id()},
                            {"notes", JsonObject{{"devices", outcome.notes.devices},
                                                 {"owners", outcome.notes.owners},
                                                 {"attributes", outcome.notes.attributes}}}});
}

}  // namespace

Result<ImageStore> ImageStore::open(const std::string& state_folder) {
  ImageStore out(state_folder + "/images");
  for (const char* folder : {"", "/blobs", "/blobs/sha256", "/layers", "/names", "/staging"}) {
    const std::string path = out.folder_ + folder;
    // Pods of other users reach the layers through it, never by its path from outside.
    if (::mkdir(path.c_str(), *folder == '\0' ? 0700 : 0755) != 0 && errno != EEXIST)
      return failure("make", path);
  }
  return out;
}

Result<Descriptor> ImageStore::lock_shared() const {
  Descriptor file(::open((folder_ + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open() || ::flock(file.get(), LOCK_SH) != 0) return failure("lock", folder_);
  return file;
}

Result<Descriptor> ImageStore::lock_alone() const {
  Descriptor file(::open((folder_ + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) return failure("lock", folder_);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return error(Reason::Conflict, "an image is being pulled or loaded: try again when it is done");
  return file;
}

Result<void> ImageStore::recover() {
  const auto lock = lock_alone();
  if (!lock) return {};
  for (const std::string& each : names_in(folder_ + "/staging")) {
    const std::string path = folder_ + "/staging/" + each;
    if (::unlink(path.c_str()) != 0) TRY(remove_tree(path));
  }
  for (const std::string& each : names_in(folder_ + "/names"))
    if (!each.ends_with(".json")) ::unlink((folder_ + "/names/" + each).c_str());
  const std::set<std::string> named = named_layers();
  const std::string boot = boot_id();
  for (const std::string& each : names_in(folder_ + "/layers")) {
    if (named.contains(each)) continue;
    const std::string path = folder_ + "/layers/" + each;
    const auto parsed = parse_json(text_of_file(path + "/layer.json"));
    if (!parsed || text_at(parsed->value, {"bootId"}) != boot) TRY(remove_tree(path));
  }
  return {};
}

std::string ImageStore::layer_folder(std::string_view diff_id) const {
  return fmt::format("{}/layers/{}/r", folder_, layer_id(diff_id));
}

bool ImageStore::has_layer(const std::string& diff_id) const {
  const auto parsed =
      parse_json(text_of_file(fmt::format("{}/layers/{}/layer.json", folder_, layer_id(diff_id))));
  return parsed && text_at(parsed->value, {"diffId"}) == diff_id;
}

ImageStore::LayerFacts ImageStore::layer_facts(const std::vector<std::string>& diff_ids) const {
  LayerFacts out;
  for (const std::string& folder : lower_folders(diff_ids)) {
    const std::string id = folder.substr(0, folder.find('/'));
    const auto parsed =
        parse_json(text_of_file(fmt::format("{}/layers/{}/layer.json", folder_, id)));
    if (!parsed) continue;
    out.bytes += int_at(parsed->value, {"bytes"});
    out.notes.devices += int_at(parsed->value, {"notes", "devices"});
    out.notes.owners += int_at(parsed->value, {"notes", "owners"});
    out.notes.attributes += int_at(parsed->value, {"notes", "attributes"});
  }
  return out;
}

Result<std::unique_ptr<LayerIntake>> ImageStore::begin_layer(const UnpackLimits& limits) {
  std::string folder = folder_ + "/staging/layer-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr || ::chmod(folder.c_str(), 0755) != 0 ||
      ::mkdir((folder + "/r").c_str(), 0755) != 0)
    return failure("make", folder);
  return std::make_unique<LayerIntake>(std::move(folder), limits);
}

Result<void> ImageStore::keep_layer(const LayerIntake& intake,
                                    const LayerIntake::Outcome& outcome) {
  TRY(write_small_file(intake.folder() + "/layer.json", layer_text(outcome)));
  const std::string target = fmt::format("{}/layers/{}", folder_, layer_id(outcome.diff_id));
  if (::rename(intake.folder().c_str(), target.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return failure("keep the layer", target);
  // Another pull was first, or something of that name is not the layer.
  drop_layer(intake);
  if (has_layer(outcome.diff_id)) return {};
  return error(Reason::Conflict,
               fmt::format("{} is not the layer {}: `trainyard image prune` removes "
                           "it where no image needs it",
                           target, outcome.diff_id));
}

void ImageStore::drop_layer(const LayerIntake& intake) {
  (void)remove_tree(intake.folder());  // else recover() has it
}

Result<void> ImageStore::keep_blob(std::string_view digest, std::string_view bytes) {
  return write_small_file(fmt::format("{}/blobs/sha256/{}", folder_, digest_hex(digest)), bytes);
}

Result<std::string> ImageStore::blob(std::string_view digest) const {
  return read_small_file(fmt::format("{}/blobs/sha256/{}", folder_, digest_hex(digest)),
                         kMostConfigFileBytes);
}

std::string ImageStore::name_file(std::string_view name) const {
  return fmt::format("{}/names/{}.json", folder_, sha256_hex(name).substr(0, 32));
}

Result<void> ImageStore::keep_image(const StoredImage& image) {
  const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::syncfs(folder.get()) != 0)
    return failure("write to the disk", folder_);
  TRY(write_small_file(name_file(image.name), to_text(to_json(image))));
  return {};
}

std::vector<StoredImage> ImageStore::images() const {
  std::vector<StoredImage> out;
  for (const std::string& each : names_in(folder_ + "/names")) {
    const std::string path = folder_ + "/names/" + each;
    if (!each.ends_with(".json")) continue;  // a write that never ended
    auto image = read_stored_image(text_of_file(path));
    struct stat facts {};
    if (!image || ::stat(path.c_str(), &facts) != 0) continue;
    image->used_at = facts.st_mtim.tv_sec;
    out.push_back(std::move(*image));
  }
  std::ranges::sort(out, {}, &StoredImage::name);
  return out;
}

std::optional<StoredImage> ImageStore::find(std::string_view name) const {
  const std::string full = full_image_name(name);
  auto image = read_stored_image(text_of_file(name_file(full)));
  return image && image->name == full ? std::move(image) : std::nullopt;
}

Result<bool> ImageStore::remove_name(std::string_view name) {
  if (::unlink(name_file(full_image_name(name)).c_str()) == 0) return true;
  return errno == ENOENT ? Result<bool>(false) : failure("remove", std::string(name));
}

void ImageStore::touch(const StoredImage& image) const {
  ::utimensat(AT_FDCWD, name_file(image.name).c_str(), nullptr, 0);
}

std::set<std::string> ImageStore::named_layers() const {
  std::set<std::string> out;
  for (const StoredImage& image : images())
    for (const std::string& each : image.config.diff_ids)
      out.insert(layer_id(each));
  return out;
}

std::map<std::string, std::int64_t> ImageStore::layer_bytes() const {
  std::map<std::string, std::int64_t> out;
  for (const std::string& each : names_in(folder_ + "/layers")) {
    const auto parsed = parse_json(text_of_file(folder_ + "/layers/" + each + "/layer.json"));
    out[each] = parsed ? int_at(parsed->value, {"bytes"}) : 0;
  }
  return out;
}

Result<ImageStore::Removed> ImageStore::collect(const std::set<std::string>& layers_in_use) {
  Removed out;
  const std::set<std::string> named = named_layers();
  for (const std::string& each : names_in(folder_ + "/layers")) {
    if (named.contains(each) || layers_in_use.contains(each)) continue;
    const std::string path = folder_ + "/layers/" + each;
    const auto parsed = parse_json(text_of_file(path + "/layer.json"));
    // Out of its name first: a removal that is cut off leaves no half layer.
    const std::string staged = folder_ + "/staging/removed-" + each;
    if (::rename(path.c_str(), staged.c_str()) != 0) return failure("remove", path);
    TRY(remove_tree(staged));
    ++out.layers;
    if (parsed) out.bytes += int_at(parsed->value, {"bytes"});
  }
  std::set<std::string> blobs;
  for (const StoredImage& image : images()) {
    blobs.emplace(digest_hex(image.manifest_digest));
    blobs.emplace(digest_hex(image.config_digest));
  }
  for (const std::string& each : names_in(folder_ + "/blobs/sha256"))
    if (!blobs.contains(each)) ::unlink((folder_ + "/blobs/sha256/" + each).c_str());
  return out;
}

}  // namespace yard
