#pragma once
// Where the bytes of provisioned volumes lie: a folder each. The seam between deciding about them
// and the disk. Loop thread.

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/result.h"

namespace yard {

class VolumeFolders {
 public:
  virtual ~VolumeFolders() = default;
  virtual const std::string& path() const = 0;  // the folder they all lie in
  // Both succeed when there is nothing left to do. `done` is called on the loop.
  virtual void make(std::string name, std::function<void(Result<void>)> done) = 0;
  virtual void remove(std::string name, std::function<void(Result<void>)> done) = 0;
};

// The parent is 0700, so that only pods reach what lies within; a volume itself is open to whatever
// user a pod runs as.
std::unique_ptr<VolumeFolders> make_volume_folders(Loop& loop, std::string path);

}  // namespace yard
