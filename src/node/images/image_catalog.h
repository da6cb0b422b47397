#pragma once
// The unpacked images of the state folder as the agent knows them. A command may bring in or remove
// some at any time: each question looks at one time stamp, and reads again only what is new.
// Loop thread.

#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "node/images/image_config.h"

namespace yard {

class ImageCatalog {
 public:
  explicit ImageCatalog(const std::string& state_folder) : folder_(state_folder + "/images") {}

  const ImageEntry* find(std::string_view image);
  // For the node's status: names and sizes, the largest first.
  struct Listed {
    std::vector<std::string> names;
    std::int64_t bytes = 0;
  };
  std::vector<Listed> list();
  // Grows whenever something came or went.
  std::uint64_t version();
  // Remembers that a container was started from it: the longest unused goes first.
  void touch(std::string_view image);

 private:
  struct File {
    std::uint64_t inode = 0;
    std::string name, digest, manifest_digest;  // `digest` is what its tag leads to
    ImageEntry entry;
  };
  void refresh();

  std::string folder_;
  timespec seen_{};
  std::uint64_t version_ = 0;
  std::map<std::string, File> files_;                        // by file
  std::map<std::string, std::string, std::less<>> by_name_;  // image → file
};

}  // namespace yard
