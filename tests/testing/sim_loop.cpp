#include "testing/sim_loop.h"

#include "base/check.h"

namespace yard {
namespace {

constexpr size_t kMostAtOneMoment = 1'000'000;

}  // namespace

SimLoop::SimLoop(uint64_t seed, Time start)
    : random_(seed), ties_(seed ^ 0x5bd1e995), now_(start) {}

void SimLoop::post(Task task) {
  const uint64_t id = next_++;
  queue_.emplace(Order{now_, 0, id}, std::move(task));
}

TimerId SimLoop::after(Duration delay, Task task) {
  const uint64_t id = next_++;
  const Order order{now_ + std::max(delay, Duration::zero()), 1 + ties_.below(1 << 20), id};
  timers_.emplace(id, order);
  queue_.emplace(order, [this, id, task = std::move(task)] {
    timers_.erase(id);
    task();
  });
  return id;
}

void SimLoop::cancel(TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  queue_.erase(found->second);
  timers_.erase(found);
}

void SimLoop::run_blocking(Task work, Task done) {
  after(std::chrono::microseconds(ties_.below(2000)),
        [this, work = std::move(work), done = std::move(done)] {
          work();
          post(done);
        });
}

void SimLoop::on_readable(int, Task) {}
void SimLoop::forget_readable(int) {}

bool SimLoop::run_one() {
  if (queue_.empty()) return false;
  auto first = queue_.extract(queue_.begin());
  ran_at_this_moment_ = first.key().due > now_ ? 0 : ran_at_this_moment_ + 1;
  check(ran_at_this_moment_ < kMostAtOneMoment,
        "the loop does not come to rest: tasks make tasks without an end");
  now_ = std::max(now_, first.key().due);
  first.mapped()();
  return true;
}

size_t SimLoop::run_ready() {
  size_t ran = 0;
  while (!queue_.empty() && queue_.begin()->first.due <= now_) {
    run_one();
    ++ran;
  }
  return ran;
}

void SimLoop::advance(Duration length) {
  const Time until = now_ + length;
  while (!queue_.empty() && queue_.begin()->first.due <= until)
    run_one();
  now_ = std::max(now_, until);
}

bool SimLoop::run_until(const std::function<bool()>& condition, Duration at_most) {
  const Time until = now_ + at_most;
  while (!condition()) {
    if (queue_.empty() || queue_.begin()->first.due > until) return false;
    run_one();
  }
  return true;
}

}  // namespace yard
