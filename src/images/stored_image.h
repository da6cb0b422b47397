#pragma once
// An image as its one small file in the store says it, and how images are named. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "images/manifest.h"
#include "images/unpack.h"
#include "json/json.h"

namespace yard {

struct StoredImage {
  std::string name;  // as full_image_name gives it
  std::string manifest_digest, config_digest;
  bool from_registry = false;
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
// `registry/name@sha256:…` of a pulled image, `sha256:…` of the configuration of a loaded one.
std::string image_id_of(const StoredImage& image);

// The name of a layer's folder.
std::string layer_id(std::string_view diff_id);
// The layers' folders below images/layers, the uppermost first, none twice: overlayfs refuses that,
// and what a layer does below itself its upper occurrence does as well.
std::vector<std::string> lower_folders(const std::vector<std::string>& diff_ids);

}  // namespace yard
