#pragma once
// The newest objects as trees: whoever reads one soon after another reader did shares what that one
// parsed, and whoever reads what was just written shares the tree it was written from. A pod that
// is made, bound and started is looked at by half a dozen readers in the same moment. Loop thread;
// the trees themselves may go anywhere.

#include <list>
#include <optional>
#include <string>
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
  // `object` will be shown to readers as soon as it is durable; until then they have the version
  // before it, whose tree stays beside this one.
  void expect(const ObjectPtr& object, SharedJson tree);

 private:
  struct Version {
    ObjectPtr object;
    SharedJson tree;
  };
  struct Entry {
    std::string uid;
    Version shown;
    std::optional<Version> next;
    size_t bytes() const;
  };
  using Entries = std::list<Entry>;
  Entries::iterator find(const Object& object);  // and it is the one used last
  void keep(Version version);
  void keep_within_bounds();

  size_t most_objects_, most_bytes_;
  size_t bytes_ = 0;
  Entries entries_;  // the one used last at the end
  // By uid: of an object only the version read last. The key lies in the entry.
  std::unordered_map<std::string_view, Entries::iterator> by_uid_;
};

}  // namespace yard
