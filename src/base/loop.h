#pragma once
// The only source of time, order and chance. One Loop owns store, watch, caches, controllers and
// agent state; a task that has begun finishes before the next one starts.

#include <cstdint>
#include <functional>

#include "base/random.h"
#include "base/time.h"

namespace yard {

using Task = std::function<void()>;
using TimerId = uint64_t;  // 0 is no timer

class Loop {
 public:
  virtual ~Loop() = default;
  virtual Time now() const = 0;      // wall clock; any thread
  virtual void post(Task task) = 0;  // any thread; never runs inline
  virtual TimerId after(Duration delay,
                        Task task) = 0;    // loop thread; fires on wall time, also after a sleep
  virtual void cancel(TimerId timer) = 0;  // loop thread; harmless when it has fired
  virtual Random& random() = 0;            // loop thread
  // Runs `work` on a thread of a small pool and then `done` on the loop.
  virtual void run_blocking(Task work, Task done) = 0;
  // Runs `task` on the loop whenever `fd` is readable, until forget_readable(fd).
  virtual void on_readable(int fd, Task task) = 0;
  virtual void forget_readable(int fd) = 0;
};

}  // namespace yard
