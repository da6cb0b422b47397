#pragma once
// The timers of a loop as a value: no clock here, the caller says what time it is.

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/loop.h"

namespace yard {

class Timers {
 public:
  TimerId add(Time due, Task task);
  void cancel(TimerId id);
  // The earliest of those due at `now`, taken out; ties in the order of add. Empty when none is.
  Task take_due(Time now);
  std::optional<Time> next_due();
  // Moves every timer: the wall clock was set back, and a wait of a minute must stay one.
  void shift(Duration by);
  size_t size() const { return tasks_.size(); }

 private:
  struct Entry {
    Time due;
    TimerId id;
    bool operator>(const Entry& other) const {
      return due != other.due ? due > other.due : id > other.id;
    }
  };
  void drop_cancelled_front();
  void rebuild(Duration by);

  std::vector<Entry> heap_;  // may hold cancelled ones; `tasks_` decides
  std::unordered_map<TimerId, Task> tasks_;
  TimerId last_id_ = 0;
};

}  // namespace yard
