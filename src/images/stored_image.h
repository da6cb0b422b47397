#pragma once
// An image as its one small file in the store says it, and how images are named. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "images/manifest.h"
#include "images/unpack.h"
#include "json/json.h"

namespace yard {

// Where an image came from decides who is asked whether it has moved: its registry, the store of
// podman or docker on this machine, or nobody.
enum class ImageOrigin { Loaded, Registry, LocalStore };

struct StoredImage {
  std::string name;  // as full_image_name gives it
  std::string manifest_digest, config_digest;
  std::string index_digest;  // of the index of platforms that its tag names; "": it names none
  ImageOrigin origin = ImageOrigin::Loaded;
  ImageConfigFile config;
  std::int64_t packed_bytes = 0, bytes = 0;
  std::int64_t loaded_at = 0, used_at = 0;  // seconds; used_at is the file's own time
  UnpackNotes notes;
};

Json to_json(const StoredImage& image);
std::optional<StoredImage> read_stored_image(std::string_view text);

// One name for what people write in several ways: the registry that every tool assumes and the
// folder `library` are left out, `:latest` is written where neither tag nor digest is.
std::string full_image_name(std::string_view name);
// Without tag and digest.
std::string repository_of(std::string_view name);
// `registry/name@sha256:…` of a pulled image, as kubelet tells it: of the index where there is one.
// `sha256:…` of the configuration of any other.
std::string image_id_of(const StoredImage& image);

// What its tag leads to in the registry.
inline const std::string& tagged_digest(const StoredImage& image) {
  return image.index_digest.empty() ? image.manifest_digest : image.index_digest;
}

// The name of a layer's folder.
std::string layer_id(std::string_view diff_id);
// The layers' folders below images/layers, the uppermost first, none twice: overlayfs refuses that,
// and what a layer does below itself its upper occurrence does as well.
std::vector<std::string> lower_folders(const std::vector<std::string>& diff_ids);

}  // namespace yard
