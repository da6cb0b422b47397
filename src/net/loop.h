#pragma once
#include <memory>

#include "base/loop.h"

namespace yard {

// The production Loop: Asio, one thread, the wall clock. run() returns after stop().
class AsioLoop : public Loop {
 public:
  virtual void run() = 0;
  virtual void stop() = 0;                            // any thread
  virtual void stop_on_signals() = 0;                 // SIGTERM and SIGINT call stop()
  virtual void on_signal(int number, Task task) = 0;  // loop thread; the first one only
  struct Statistics {
    uint64_t tasks = 0, slow_tasks = 0;  // slow: over 2 ms
    size_t queued = 0;
  };
  virtual Statistics statistics() const = 0;  // any thread
};

std::unique_ptr<AsioLoop> make_asio_loop();

}  // namespace yard
