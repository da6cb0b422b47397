#pragma once
// What other threads hand to one thread: a vector under a lock, taken whole. A thousand items
// pushed while the owner works cost it one wake-up.

#include <mutex>
#include <utility>
#include <vector>

namespace yard {

template <typename T>
class Inbox {
 public:
  enum class Pushed {
    Quiet,   // the owner has been woken already
    Wake,    // the caller must wake the owner
    Closed,  // not taken
  };

  // `item` is left untouched when the inbox is closed: its destructor may push again, so it must
  // not run under the lock.
  Pushed push(T& item) {
    std::lock_guard lock(mutex_);
    if (closed_) return Pushed::Closed;
    items_.push_back(std::move(item));
    if (items_.size() > 1) return Pushed::Quiet;
    return Pushed::Wake;
  }

  // Swaps the waiting items into `taken`, which must be empty; its memory serves the next round.
  void take(std::vector<T>& taken) {
    std::lock_guard lock(mutex_);
    items_.swap(taken);
  }

  // Answers what was left, to be destroyed by the caller.
  std::vector<T> close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    return std::exchange(items_, {});
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<T> items_;
  bool closed_ = false;
};

}  // namespace yard
