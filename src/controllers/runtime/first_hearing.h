#pragma once
// Tells a controller of the objects that are there when it begins, a few in each turn of the loop,
// so that a server with 100,000 objects answers first. What changes meanwhile is heard as it
// happens. Only for controllers that conclude nothing from what they have not heard yet. Loop
// thread.

#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

class FirstHearing {
 public:
  struct Setup {
    std::function<void(const ObjectPtr&)> hear;
    std::function<bool()> is_busy = {};  // while it has enough to do with what it has heard
    std::function<void()> then = {};     // once all have been heard
  };

  FirstHearing(Loop& loop, Client& client) : loop_(loop), client_(client) {}
  FirstHearing(const FirstHearing&) = delete;
  FirstHearing& operator=(const FirstHearing&) = delete;

  // All objects of the kind, each as it is when its turn comes; those that have gone by then are
  // left out. The first few are heard before this returns. Takes the place of what an earlier one
  // has not told yet.
  void begin(const Resource& resource, Setup setup);
  bool is_over() const { return next_ == objects_.size(); }

 private:
  void run_turn();
  void go_on();

  Loop& loop_;
  Client& client_;
  Resource resource_;
  Setup setup_;
  std::vector<ObjectPtr> objects_;
  size_t next_ = 0;
  std::shared_ptr<const bool> current_;  // what waits for its turn and is not of it is void
};

}  // namespace yard
