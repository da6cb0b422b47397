#pragma once
// Which rung an image is taken from: the map of the config, an unpacked image, or the host itself.
// Pure.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "node/images/image_config.h"

namespace yard {

enum class ImageRung { Map, Unpacked, Host };

struct ImageResolution {
  ImageRung rung = ImageRung::Host;
  ImageEntry entry;
  std::string pattern;      // of the map
  bool is_offered = false;  // on the host rung: the entry is what `trainyard run` offered

  int pulled_for = -1;  // the run of the container that it was just pulled for
  std::string pulled_words;
  std::string pull_progress;  // how far the pull that the container waits for has come

  // Why there is nothing to run, as a container's waiting reason; "" where there is.
  std::string reason, message;
  bool is_refused() const { return !reason.empty(); }
};

struct ImageRequest {
  std::string_view image, pull_policy;
  const ImageEntry* offer = nullptr;  // of `trainyard run`, for images that are not mapped
};

// An image that lies unpacked on this machine; null: none does. Rung 2 fills this in.
using UnpackedImages = std::function<const ImageEntry*(std::string_view image)>;

ImageResolution resolve_image(const ImageRequest& request, const ImageConfig& config,
                              const UnpackedImages& unpacked = {});

// The entry of the most exact pattern that matches. `*` stands for any characters; a pattern
// without a tag matches every tag of its image.
const std::pair<std::string, ImageEntry>* find_mapped(std::string_view image,
                                                      const ImageConfig& config);
// What is wrong with an image's name; "" when nothing is.
std::string image_name_problem(std::string_view image);

std::string image_id(std::string_view image, const ImageResolution& resolution);
// The message of the event Pulled: which rung was taken.
std::string pulled_message(std::string_view image, const ImageResolution& resolution);
// For Warning headers when such an object is created: one for each image that is not mapped.
// Images that `is_present` are as good as mapped.
std::vector<std::string> image_warnings(
    std::string_view encoded_object, const ImageConfig& config,
    const std::function<bool(std::string_view image)>& is_present = {});

}  // namespace yard
