#pragma once
// A root made of an image's layers, laid over each other by the kernel, with a folder of the run
// above them for what the container writes.

#include <string>

#include "node/shim/launch.h"

namespace shim {

// At `root`, an empty folder of the run. An image is a stranger's: before the root has changed only
// places that are folders themselves, no links, are touched. An empty text is success.
std::string mount_image(const Container& container, const std::string& root);
// After the root has changed: the folders the image declares as volumes stay writable.
std::string make_image_volumes(const Container& container);

}  // namespace shim
