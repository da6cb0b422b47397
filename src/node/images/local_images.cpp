#include "node/images/local_images.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOfferBytes = 1 << 20, kMostConfigBytes = 64 << 10;
constexpr const char* kOffers = "/offers/";

bool is_offer_id(std::string_view id) {
  return id.size() == 16 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string offer_text(const LocalOffer& offer) {
  return to_text(JsonObject{{"namespace", offer.ns}, {"entry", to_json(offer.entry)}});
}

// A pod sees these without being told.
bool is_seen_anyway(const std::string& path) {
  constexpr std::string_view kSeen[] = {"/usr", "/opt", "/srv", "/etc", "/bin", "/sbin", "/lib"};
  return std::ranges::any_of(kSeen, [&](std::string_view folder) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
  });
}

void show(ImageEntry& entry, const fs::path& folder) {
  const std::string path = folder.lexically_normal().string();
  if (path.size() < 2 || is_seen_anyway(path)) return;
  const bool is_there = std::ranges::any_of(entry.mounts, [&](const ImageMount& mount) {
    return path == mount.target || path.starts_with(mount.target + "/");
  });
  if (!is_there) entry.mounts.push_back({path, path, true});
}

void show_python(ImageEntry& entry) {
  const fs::path folder = entry.folder;
  entry.mounts.insert(entry.mounts.begin(), {entry.folder, entry.folder, true});
  const std::string home =
      interpreter_folder(read_text(entry.folder + "/pyvenv.cfg", kMostConfigBytes).value_or(""));
  if (!home.empty()) show(entry, fs::path(home).parent_path());
  // The link may lead on from there, as uv's short version names do.
  std::error_code failed;
  const fs::path real = fs::canonical(folder / "bin/python", failed);
  if (!failed) show(entry, real.parent_path().parent_path());
  const bool is_conda = home.empty() && fs::exists(folder / "conda-meta", failed);
  entry.env.emplace(is_conda ? "CONDA_PREFIX" : "VIRTUAL_ENV", entry.folder);
}

ImageResolution refused(ImageResolution resolution, std::string message) {
  resolution.reason = "CreateContainerError";
  resolution.message = std::move(message);
  return resolution;
}

}  // namespace

std::string interpreter_folder(std::string_view pyvenv_cfg) {
  for (const std::string_view line : split(pyvenv_cfg, '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != "home") continue;
    const std::string_view folder = trim(line.substr(equals + 1));
    return folder.starts_with('/') ? std::string(folder) : "";
  }
  return "";
}

Result<std::string> write_offer(const std::string& state_folder, const LocalOffer& offer) {
  const std::string text = offer_text(offer);
  std::string id = hex(hash_bytes(text));
  TRY(make_folders(state_folder + "/offers", 0700));
  TRY(write_text(state_folder + kOffers + id, text, 0600));
  return id;
}

std::optional<ImageEntry> read_offer(const std::string& state_folder, std::string_view id,
                                     std::string_view ns) {
  if (!is_offer_id(id)) return std::nullopt;
  const auto text = read_text(state_folder + kOffers + std::string(id), kMostOfferBytes);
  const auto parsed = parse_json(text.value_or(""));
  if (!parsed || text_at(parsed->value, {"namespace"}) != ns) return std::nullopt;
  const Json* tree = find(parsed->value, "entry");
  ImageEntry entry;
  if (tree == nullptr || read_image_entry(*tree, {}, entry)) return std::nullopt;
  return entry;
}

ImageResolution on_this_machine(ImageResolution resolution) {
  ImageEntry& entry = resolution.entry;
  if (entry.unpacked) return resolution;
  const std::string whose = resolution.is_offered
                                ? "that `trainyard run` offered"
                                : fmt::format("of images.map {}", yard::quoted(resolution.pattern));
  std::error_code failed;
  if (entry.base == ImageEntry::Base::Root && !fs::is_directory(entry.folder, failed)) {
    return refused(std::move(resolution),
                   fmt::format("the root folder {} {} is not there: unpack the image's files into "
                               "it, or change config.yaml and `trainyard restart`",
                               entry.folder, whose));
  }
  if (entry.base == ImageEntry::Base::Python) {
    if (!fs::exists(entry.folder + "/bin/python", failed)) {
      return refused(std::move(resolution),
                     fmt::format("the Python environment {0} {1} is not there: `python3 -m venv "
                                 "{0}` makes it",
                                 entry.folder, whose));
    }
    show_python(entry);
  }
  for (const ImageMount& mount : entry.mounts) {
    if (fs::exists(mount.source, failed)) continue;
    return refused(std::move(resolution),
                   fmt::format("the mount {} {} is not there: `mkdir -p {}` makes it", mount.source,
                               whose, mount.source));
  }
  return resolution;
}

}  // namespace yard
