#include "net/timers.h"

#include <algorithm>
#include <functional>

namespace yard {

namespace {
// Cancelled timers kept in the heap before it is rebuilt without them.
constexpr size_t kMaxCancelled = 64;
}  // namespace

TimerId Timers::add(Time due, Task task) {
  TimerId id = ++last_id_;
  tasks_.emplace(id, std::move(task));
  heap_.push_back({due, id});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  return id;
}

void Timers::cancel(TimerId id) {
  if (tasks_.erase(id) == 0) return;
  if (heap_.size() > 2 * tasks_.size() + kMaxCancelled) rebuild(Duration{0});
}

Task Timers::take_due(Time now) {
  drop_cancelled_front();
  if (heap_.empty() || heap_.front().due > now) return {};
  auto node = tasks_.extract(heap_.front().id);
  drop_cancelled_front();
  return std::move(node.mapped());
}

std::optional<Time> Timers::next_due() {
  drop_cancelled_front();
  if (heap_.empty()) return std::nullopt;
  return heap_.front().due;
}

void Timers::shift(Duration by) {
  rebuild(by);
}

void Timers::drop_cancelled_front() {
  while (!heap_.empty() && !tasks_.contains(heap_.front().id)) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
}

void Timers::rebuild(Duration by) {
  std::erase_if(heap_, [this](const Entry& entry) { return !tasks_.contains(entry.id); });
  for (Entry& entry : heap_) {
    entry.due += by;
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

}  // namespace yard
