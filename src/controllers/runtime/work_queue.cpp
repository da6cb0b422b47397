#include "controllers/runtime/work_queue.h"

#include <algorithm>
#include <utility>

namespace yard {

std::string to_text(const ObjectKey& key) {
  return key.resource.kind + " " + (key.ns.empty() ? key.name : key.ns + "/" + key.name);
}

WorkQueue::WorkQueue(Loop& loop, WorkQueueLimits limits, Task ready)
    : loop_(loop), limits_(limits), ready_(std::move(ready)) {}

WorkQueue::~WorkQueue() {
  if (timer_ != 0) loop_.cancel(timer_);
}

bool WorkQueue::add(const ObjectKey& key) {
  const auto at = entry(key);
  if (at == entries_.end()) return false;
  make_dirty(at);
  return true;
}

bool WorkQueue::add_after(const ObjectKey& key, Duration delay) {
  if (delay <= Duration::zero()) return add(key);
  const auto at = entry(key);
  if (at == entries_.end()) return false;
  const Time due = loop_.now() + delay;
  std::optional<Delays::iterator>& waits = at->second.delay;
  if (waits && (*waits)->first <= due) return true;
  if (waits) delays_.erase(*waits);
  waits = delays_.emplace(due, at);
  arm();
  return true;
}

void WorkQueue::add_rate_limited(const ObjectKey& key) {
  const auto at = entry(key);
  if (at == entries_.end()) return;
  Duration delay = limits_.first_retry;
  for (int i = 0; i < at->second.failures && delay < limits_.longest_retry; ++i)
    delay *= 2;
  ++at->second.failures;
  add_after(key, std::min(delay, limits_.longest_retry));
}

void WorkQueue::forget(const ObjectKey& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  at->second.failures = 0;
  drop_if_idle(at);
}

std::optional<ObjectKey> WorkQueue::take() {
  if (ready_keys_.empty()) return std::nullopt;
  const auto at = ready_keys_.front();
  ready_keys_.pop_front();
  at->second.dirty = false;
  at->second.in_work = true;
  return at->first;
}

void WorkQueue::done(const ObjectKey& key) {
  const auto at = entries_.find(key);
  check(at != entries_.end() && at->second.in_work, "what is done was taken");
  at->second.in_work = false;
  if (!at->second.dirty) return drop_if_idle(at);
  ready_keys_.push_back(at);
  ready_();
}

bool WorkQueue::take_overflow() {
  return std::exchange(overflowed_, false);
}

WorkQueue::Entries::iterator WorkQueue::entry(const ObjectKey& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found;
  if (entries_.size() >= limits_.most_keys) {
    overflowed_ = true;
    return entries_.end();
  }
  return entries_.emplace(key, Entry{}).first;
}

void WorkQueue::make_dirty(Entries::iterator at) {
  if (at->second.dirty) return;
  at->second.dirty = true;
  if (at->second.in_work) return;
  ready_keys_.push_back(at);
  ready_();
}

void WorkQueue::drop_if_idle(Entries::iterator at) {
  const Entry& is = at->second;
  if (!is.dirty && !is.in_work && is.failures == 0 && !is.delay) entries_.erase(at);
}

// One timer, for the earliest delay.
void WorkQueue::arm() {
  if (delays_.empty()) return;
  const Time due = delays_.begin()->first;
  if (timer_ != 0 && armed_for_ <= due) return;
  if (timer_ != 0) loop_.cancel(timer_);
  armed_for_ = due;
  timer_ = loop_.after(due - loop_.now(), [this] { wake(); });
}

void WorkQueue::wake() {
  timer_ = 0;
  const Time now = loop_.now();
  while (!delays_.empty() && delays_.begin()->first <= now) {
    const auto at = delays_.begin()->second;
    delays_.erase(delays_.begin());
    at->second.delay.reset();
    make_dirty(at);
  }
  arm();
}

}  // namespace yard
