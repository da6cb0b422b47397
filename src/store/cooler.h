#pragma once
// Packs what nobody has written for a while, in stores that are large (cold objects: api/object.h).
// Every minute it goes over all objects, a few in each turn of the loop: those that have not been
// written since it last began and are no part of the history are packed on a thread of the pool,
// and what readers have unpacked since is let go. Part of the store. Loop thread.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/table.h"

namespace yard {

// Objects of one sort made cold, together: one of them is the sample for all. Null where it is not
// worth it. A pure function, for any thread.
std::vector<ObjectPtr> cooled_together(const std::vector<ObjectPtr>& objects);

class Cooler {
 public:
  using Tables = std::map<std::string, Table, std::less<>>;
  struct Situation {
    size_t encoded_bytes = 0;  // of all objects
    Revision newest = 0;
  };
  struct Setup {
    std::function<Situation()> look;
    std::function<void(const Object& before, const Object& after)> replaced;
  };

  Cooler(Loop& loop, Tables& tables, const StoreLimits& limits, Setup setup);
  ~Cooler();
  Cooler(const Cooler&) = delete;
  Cooler& operator=(const Cooler&) = delete;

  void consider();  // after writes: begins the minute where there is enough to be worth it

 private:
  void begin_sweep();
  void go_on();
  void visit();
  void visit_place(ObjectMap::value_type& place, Table& table);
  bool is_to_be_packed(const Object& object, const Table& table) const;
  void pack_batch();
  void end_table();

  template <typename Function>
  Task while_alive(Function function) {
    return [guard = std::weak_ptr(alive_), function = std::move(function)]() mutable {
      if (!guard.expired()) function();
    };
  }

  Loop& loop_;
  Tables& tables_;
  const StoreLimits& limits_;
  const Setup setup_;
  TimerId timer_ = 0;
  bool is_sweeping_ = false;

  // Of the sweep under way.
  Revision horizon_ = 0;
  Tables::iterator table_;
  std::string visited_ns_, visited_name_;  // the last
  std::vector<ObjectPtr> batch_;

  std::map<std::string, Revision, std::less<>>
      tried_;  // by storage: those that are still warm will not pack
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
