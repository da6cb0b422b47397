#include "apiserver/plan_thread.h"

#include <pthread.h>
#include <utility>

namespace yard {

PlanThread::~PlanThread() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    waiting_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PlanThread::run(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { work(); });
  pthread_setname_np(thread_.native_handle(), "yard-plan");
}

void PlanThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    const auto tasks = std::exchange(waiting_, {});
    lock.unlock();
    for (const auto& task : tasks)
      task();
    lock.lock();
  }
}

}  // namespace yard
