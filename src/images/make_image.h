#pragma once
// Images of our own: from a folder of files, and out again for other tools.

#include <string>

#include "images/take_image.h"

namespace yard {

struct ImportOptions {
  std::string name;
  ImageConfigFile config;  // its diff ids and platform are filled in
  std::int64_t now = 0;
  UnpackLimits limits;
};
// A folder becomes an image of one layer. The caller holds the store's lock (shared).
Result<StoredImage> import_folder(ImageStore& store, const std::string& folder,
                                  const ImportOptions& options);

// An OCI archive, as podman, skopeo and docker load it. Layers are written anew from their files,
// so the digests are other ones than those of the registry the image came from.
Result<void> save_image(const ImageStore& store, const StoredImage& image, const ByteSink& sink);

}  // namespace yard
