#pragma once
// One thread beside the loop on which verbs of our own writes run while many of them wait: the loop
// then only looks up, commits and tells. In the order they came.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace yard {

class PlanThread {
 public:
  PlanThread() = default;
  PlanThread(const PlanThread&) = delete;
  PlanThread& operator=(const PlanThread&) = delete;
  ~PlanThread();  // what has not begun is dropped

  void run(std::function<void()> task);  // the thread begins with the first

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> waiting_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace yard
