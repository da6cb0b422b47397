#pragma once
// From a manifest, a configuration and streams of layers to an image in the store: layers that are
// there already are not asked for, the others come in beside each other.

#include <functional>
#include <string>

#include "images/store.h"

namespace yard {

struct IncomingImage {
  std::string manifest_bytes, config_bytes;  // `config_bytes` are checked against the manifest
  ImageManifest manifest;  // a layer's digest is "" where only its diff id is known
  // Sends the layer's bytes to the sink. Called from several threads, for different layers.
  std::function<Result<void>(std::size_t layer, const ByteSink& sink)> send_layer;
};

// An image of which only the configuration is known, and its plain layers by their lengths: the
// manifest is made up. `send_layer` is left to the caller.
Result<IncomingImage> image_of_plain_layers(std::string config_bytes,
                                            const std::vector<std::int64_t>& layer_bytes);

struct TakeProgress {
  std::size_t layers_done = 0, layers = 0;
  std::int64_t bytes = 0, total_bytes = 0;  // of those that are not here yet
};

struct TakeOptions {
  std::string name;
  ImageOrigin origin = ImageOrigin::Loaded;
  std::string index_digest = {};  // of the index that led to it
  std::int64_t now = 0;           // seconds
  UnpackLimits limits = {};
  std::size_t threads = 3;
  std::function<void(const TakeProgress&)> progress = {};  // from any thread, one at a time
};

// The caller holds the store's lock (shared).
Result<StoredImage> take_image(ImageStore& store, const IncomingImage& incoming,
                               const TakeOptions& options);

}  // namespace yard
