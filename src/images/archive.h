#pragma once
// Images on the disk in the forms that other tools write: an OCI layout (a folder or a tar), the
// tar of `docker save` and `podman save`; each may be packed with gzip or zstd.

#include <memory>
#include <string>
#include <vector>

#include "images/take_image.h"

namespace yard {

struct ArchivedImage {
  std::vector<std::string> names;  // none: the archive does not say
  IncomingImage image;             // its send_layer keeps the archive open
};

// `path` is a folder, a file, or `-` for standard input; what must be unpacked before it can be
// read goes to a nameless file in `scratch_folder`.
Result<std::vector<ArchivedImage>> read_archive(const std::string& path,
                                                const std::string& scratch_folder);

}  // namespace yard
