#include "net/blocking_time.h"

#include <random>
#include <thread>

namespace yard {

BlockingTime real_blocking_time() {
  return {
      .now =
          [] { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); },
      .pause = [](Duration length) { std::this_thread::sleep_for(length); },
      .chance =
          [] {
            thread_local std::minstd_rand source{std::random_device{}()};
            return std::uniform_real_distribution<double>(0, 1)(source);
          },
  };
}

}  // namespace yard
