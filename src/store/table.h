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

struct ObjectNameView {
  std::string_view ns;
  std::string_view name;
  friend auto operator<=>(const ObjectNameView&, const ObjectNameView&) = default;
};

// The name of a place. It has no texts of its own: they are those of the object there, and move
// with every version that takes the place.
struct ObjectName {
  mutable ObjectNameView text;
};

struct ObjectNameLess {
  using is_transparent = void;
  static ObjectNameView view(const ObjectName& name) { return name.text; }
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

  // The place for `name`, made when `make` is set (then it holds null, and the texts of `name` must
  // live until something is put there); end() otherwise.
  ObjectMap::iterator place(ObjectNameView name, bool make);
  static void put(ObjectMap::value_type& place, ObjectPtr object);
  void erase(ObjectMap::iterator place) { objects_.erase(place); }
  // The first place behind `name`, for who goes over all of them with pauses.
  ObjectMap::iterator after(ObjectNameView name) { return objects_.upper_bound(name); }
  // Puts another form of the same object in its place; false when it is no longer there.
  bool replace(const ObjectPtr& object, const ObjectPtr& other);
  void remember(StoreEventPtr event, Time now);
  void forget_aged(Time now);
  Revision complete_since() const { return complete_since_; }  // no event up to it is remembered
  void forget_through(Revision revision);                      // history is whole only above it

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
