#pragma once
// What a cold object has in place of its body. Only src/api/object*.cpp include this.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "api/object.h"

namespace yard {

struct Object::Cold {
  std::shared_ptr<const std::string> sample;  // shared by many
  std::string packed;                         // index and body, one behind the other
  uint32_t index_size = 0, body_size = 0;
  // Unpacked once, by whichever thread asks first, and kept as long as the object.
  std::once_flag once;
  std::atomic<bool> is_thawed = false;
  ObjectPtr warm;
};

}  // namespace yard
