#pragma once
// The images of a state folder:
//   images/blobs/sha256/<hex>   manifests and configurations
//   images/layers/<16 hex>/     layer.json, and the files in r/; named by the layer's diff id
//   images/names/<hash>.json    an image: what its containers need, and which layers, in one file
//   images/staging/             what is on its way in; of no worth once its process is gone
// Everything appears by one rename when it is whole. Whoever brings images in holds the lock
// shared, whoever takes layers away holds it alone. Blocking; used by worker processes and
// commands.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "images/layer_intake.h"
#include "images/manifest.h"
#include "images/stored_image.h"

namespace yard {

class ImageStore {
 public:
  static Result<ImageStore> open(const std::string& state_folder);

  // Held for as long as the value lives. Alone: fails at once while others work.
  Result<Descriptor> lock_shared() const;
  Result<Descriptor> lock_alone() const;
  // Removes what dead processes left; does nothing while others work.
  Result<void> recover();

  bool has_layer(const std::string& diff_id) const;
  struct LayerFacts {
    std::int64_t bytes = 0;
    UnpackNotes notes;
  };
  LayerFacts layer_facts(const std::vector<std::string>& diff_ids) const;  // of all together
  Result<std::unique_ptr<LayerIntake>> begin_layer(const UnpackLimits& limits);
  Result<void> keep_layer(const LayerIntake& intake, const LayerIntake::Outcome& outcome);
  void drop_layer(const LayerIntake& intake);
  Result<void> keep_blob(std::string_view digest, std::string_view bytes);
  Result<std::string> blob(std::string_view digest) const;

  // The last step: after it the image is there, also after a power failure.
  Result<void> keep_image(const StoredImage& image);
  std::vector<StoredImage> images() const;  // by name
  std::optional<StoredImage> find(std::string_view name) const;
  Result<bool> remove_name(std::string_view name);
  void touch(const StoredImage& image) const;  // it was used now

  struct Removed {
    std::vector<std::string> names;
    std::int64_t layers = 0, bytes = 0;
  };
  std::map<std::string, std::int64_t> layer_bytes() const;  // by layer id
  // Layers and blobs that no image names and that are not `in_use`. Needs the lock alone.
  Result<Removed> collect(const std::set<std::string>& layers_in_use);

  const std::string& folder() const { return folder_; }
  std::string layer_folder(std::string_view diff_id) const;  // where its files are

 private:
  explicit ImageStore(std::string folder) : folder_(std::move(folder)) {}
  std::string name_file(std::string_view name) const;
  std::set<std::string> named_layers() const;

  std::string folder_;
};

}  // namespace yard
