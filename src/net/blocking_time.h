#pragma once
// Time for what blocks on a thread of its own and so has no Loop: a worker that waits before it
// tries again. Tests hand in a clock that only notes how long it was asked to wait.

#include <functional>

#include "base/time.h"

namespace yard {

struct BlockingTime {
  std::function<Time()> now;
  std::function<void(Duration)> pause;
  std::function<double()> chance;  // 0 to below 1
};

// The machine's own; any thread.
BlockingTime real_blocking_time();

}  // namespace yard
