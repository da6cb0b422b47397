#pragma once
// One storage in memory: its objects in key order and the ring of what happened to them lately.
// Part of the store; nothing outside src/store/ includes this.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "store/store.h"

namespace yard {

struct ObjectName {
  std::string ns;
  std::string name;
};

struct ObjectNameView {
  std::string_view ns;
  std::string_view name;
  friend auto operator<=>(const ObjectNameView&, const ObjectNameView&) = default;
};

struct ObjectNameLess {
  using is_transparent = void;
  static ObjectNameView view(const ObjectName& name) { return {name.ns, name.name}; }
  static ObjectNameView view(ObjectNameView name) { return name; }
  template <typename Left, typename Right>
  bool operator()(const Left& left, const Right& right) const {
    return view(left) < view(right);
  }
};

using ObjectMap = std::map<ObjectName, ObjectPtr, ObjectNameLess>;

class Table {
 public:
  // History is whole above `complete_since`.
  Table(std::string storage, const StoreLimits& limits, Revision complete_since)
      : storage_(std::move(storage)), limits_(limits), complete_since_(complete_since) {}

  const std::string& storage() const { return storage_; }
  const ObjectMap& objects() const { return objects_; }
  ObjectPtr find(ObjectNameView name) const;

  // The place for `name`, made when `make` is set (then it may hold null until set); end()
  // otherwise.
  ObjectMap::iterator place(ObjectName name, bool make);
  void erase(ObjectMap::iterator place) { objects_.erase(place); }
  void remember(StoreEventPtr event, Time now);
  void forget_through(Revision revision);  // history is whole only above it

  Listing list(const ListRange& range, Revision revision) const;
  Result<Listing> list_at(const ListRange& range, Revision revision) const;
  Result<std::vector<StoreEventPtr>> history(Revision since) const;

 private:
  struct Remembered {
    StoreEventPtr event;
    size_t bytes;
    Time at;
  };
  // The newest events stay whatever their age: a client that comes back after a quiet night resumes
  // its watch.
  static constexpr size_t kKeptWhateverAge = 1000;

  void forget_oldest();
  std::pair<ObjectMap::const_iterator, ObjectMap::const_iterator> bounds(
      const ListRange& range) const;
  std::deque<Remembered>::const_iterator first_after(Revision revision) const;

  std::string storage_;
  const StoreLimits& limits_;
  ObjectMap objects_;
  std::deque<Remembered> ring_;
  size_t ring_bytes_ = 0;
  Revision complete_since_;
};

}  // namespace yard
