#pragma once
// The simulated Loop: a heap of (time, seeded tie) and tasks on a hand-cranked clock. Tests never
// sleep; they advance it.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"

namespace yard {

class SimLoop : public Loop {
 public:
  explicit SimLoop(uint64_t seed = 1, Time start = from_unix_seconds(1'700'000'000));
  Time now() const override { return now_; }
  void post(Task task) override;
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId timer) override;
  Random& random() override { return random_; }
  void run_blocking(Task work,
                    Task done) override;  // both run on the loop, some virtual time apart
  void on_readable(int fd, Task task) override;
  void forget_readable(int fd) override;

  bool run_one();                 // false: nothing left
  size_t run_ready();             // all that is due now, in seeded order among equals
  void advance(Duration length);  // runs everything due on the way
  bool run_until(const std::function<bool()>& condition, Duration at_most = std::chrono::hours(1));
  void jump_clock(Duration by) { now_ += by; }  // wall clock only, as a laptop's sleep
  size_t pending() const { return queue_.size(); }
  // Posted tasks keep their order, as on the real loop; only simultaneous timers are shuffled by
  // the seed.

 private:
  struct Order {
    Time due;
    uint64_t tie;
    uint64_t id;
    friend auto operator<=>(const Order&, const Order&) = default;
  };
  std::map<Order, Task> queue_;
  std::map<TimerId, Order> timers_;
  Random random_, ties_;
  Time now_;
  size_t ran_at_this_moment_ = 0;
  uint64_t next_ = 1;
};

}  // namespace yard
