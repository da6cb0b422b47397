#pragma once
// A registry's image into the store: what a name means for this machine, and the layers that are
// not here yet, several at once, hashed and unpacked while they come.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "images/registry/registry.h"
#include "images/store.h"
#include "images/take_image.h"

namespace yard {

struct PullRequest {
  std::string image;     // as the user wrote it
  std::int64_t now = 0;  // seconds
  UnpackLimits limits = {};
  std::size_t threads = 3;
  std::function<void(const TakeProgress&)> progress = {};  // from any thread, one at a time
};

struct PullOutcome {
  StoredImage image;
  std::string source;        // the mirror or registry that served it
  bool was_current = false;  // it was here already, and the tag has not moved
};

// Blocks; holds the store's lock (shared). Errors are a registry's (registry_fault.h) or the
// store's.
Result<PullOutcome> pull_image(ImageStore& store, Registry& registry, const PullRequest& request);

}  // namespace yard
