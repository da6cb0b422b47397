#pragma once
// The agent's way to images: those that are here, and the pull of others. RealNodeImages has a
// process of its own for each pull; tests play one. Loop thread; listeners never run inline.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "images/take_image.h"
#include "node/images/image_catalog.h"
#include "node/images/pull_policy.h"

namespace yard {

// A Secret that imagePullSecrets names, decoded.
struct ImagePullSecret {
  std::string type, content;
};

struct PullOrder {
  std::string image;
  std::vector<ImagePullSecret> secrets;
  PullNeed from;
};

struct PulledImage {
  std::int64_t bytes = 0;
  Duration took{}, with_waiting{};
  bool was_local = false;  // a store of this machine had it
};

struct PullListener {
  std::function<void(const TakeProgress&, Duration elapsed)> progress;
  std::function<void(const Result<PulledImage>&)> done;
};

class NodeImages {
 public:
  virtual ~NodeImages() = default;
  virtual const ImageEntry* find(std::string_view image) = 0;  // null: not here
  virtual std::vector<ImageCatalog::Listed> list() = 0;
  virtual std::uint64_t version() = 0;  // grows with every change of the list
  virtual void touch(std::string_view image) = 0;
  // Whether a registry is asked for it at all; without one the host stands in.
  virtual bool asks_registry(std::string_view image, bool has_secrets) const = 0;
  // What podman or docker have of that name on this machine: the digest of its configuration; "":
  // nothing, or nothing that can be read.
  virtual std::string local_id(std::string_view image) = 0;
  // Two orders of one image at a time are one pull.
  virtual void pull(PullOrder order, PullListener listener) = 0;
};

}  // namespace yard
