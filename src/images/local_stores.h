#pragma once
// Images that podman, buildah or docker have on this machine, read from their own folders: nothing
// of theirs is run, locked or changed. What cannot be read is not there.
//   containers-storage   <folder>/overlay-images, overlay-layers, overlay/<layer>/diff (or vfs)
//   docker               <folder>/image/overlay2/{repositories.json,imagedb,layerdb},
//   overlay2/<id>/diff

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "images/take_image.h"

namespace yard {

// Where these tools keep images unless told otherwise: of this user, then of the machine.
std::vector<std::string> usual_local_stores(const std::string& home,
                                            const std::string& data_folder);

class LocalStores {
 public:
  explicit LocalStores(std::vector<std::string> folders);

  // The digest of the configuration of the image that a name leads to there; "" when to none. A
  // look at the time of each index; what has changed is read again.
  std::string find(std::string_view image);
  // The image itself; nothing when no store has it. Blocking.
  Result<std::optional<IncomingImage>> open(std::string_view image);

 private:
  struct Kept {
    std::string config_digest, top_layer;
  };
  struct Store {
    std::string folder, index, driver;  // `driver` is "" of a docker store
    timespec seen = {};
    std::map<std::string, Kept, std::less<>> images = {};  // by full name, also by digest
  };
  struct Place {
    const Store* store = nullptr;
    Kept kept;
  };
  void refresh(Store& store);
  std::optional<Place> place_of(std::string_view image);

  std::vector<Store> stores_;
};

}  // namespace yard
