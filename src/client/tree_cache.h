#pragma once
// The newest objects as trees: whoever reads one soon after another reader did shares what that one
// parsed. A pod that is made, bound and started is looked at by half a dozen readers in the same
// moment. Loop thread; the trees themselves may go anywhere.

#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "api/object.h"
#include "json/shared_json.h"

namespace yard {

class TreeCache {
 public:
  // Bytes are those of the encoded objects; their trees take about five times as much.
  explicit TreeCache(size_t most_objects = 512, size_t most_bytes = 3 << 20)
      : most_objects_(most_objects), most_bytes_(most_bytes) {}

  SharedJson of(const ObjectPtr& object);                    // parsed now if nobody has
  std::optional<SharedJson> known(const ObjectPtr& object);  // without parsing

 private:
  struct Entry {
    ObjectPtr object;
    SharedJson tree;
  };
  void drop(std::list<Entry>::iterator entry);

  size_t most_objects_, most_bytes_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // the one used last at the end
  // By uid: of an object only the version read last. The key lies in the entry's object.
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_uid_;
};

}  // namespace yard
