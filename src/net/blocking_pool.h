#pragma once
// A few threads for work that blocks. They start when first needed and sleep when nothing waits.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/loop.h"

namespace yard {

class BlockingPool {
 public:
  ~BlockingPool();  // finishes what has begun, drops what has not
  void submit(Task task);
  size_t waiting() const;

 private:
  static constexpr size_t kMaxThreads = 4;
  void work();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace yard
