#pragma once
// Which layers the pods of a state folder stand on, read from what they were launched with: true
// whether or not a server runs. And which images to give up when there are too many. Blocking,
// but for the choice.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "images/stored_image.h"

namespace yard {

struct LayersInUse {
  std::set<std::string> layers;                // ids, as layer_id gives them
  std::map<std::string, std::string> holders;  // layer → `namespace/pod`, one of them
};
LayersInUse layers_in_use(const std::string& state_folder);

// Whether any container stands on this very stack of layers; the pod's name, or "".
std::string holder_of(const StoredImage& image, const LayersInUse& in_use);

struct RoomWanted {
  std::int64_t most_bytes = 0;
  std::int64_t spared_since = INT64_MAX;  // seconds: what was used later stays
  std::string spared = {};                // and so does the image of this name
};
// The least recently used images whose going brings the sum of all below `most_bytes`; shared
// layers count once. None that a pod stands on. Pure.
std::vector<std::string> images_to_drop(const std::vector<StoredImage>& images,
                                        const std::map<std::string, std::int64_t>& layer_bytes,
                                        const LayersInUse& in_use, const RoomWanted& room);

}  // namespace yard
