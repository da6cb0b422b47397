#pragma once
// The tar stream of a layer that podman or docker has unpacked, byte for byte as it once came:
// they keep what the files do not hold (headers, padding) beside them, as a packed list of JSON
// lines that names each file in its turn (tar-split).

#include <string>

#include "images/tar.h"

namespace yard {

// `list` is the packed file, `folder` where the layer's files are. What has changed since shows in
// the digest of the stream, which is the caller's to check.
Result<void> send_tar_split(const std::string& list, const std::string& folder,
                            const ByteSink& sink);

}  // namespace yard
