#include "net/blocking_pool.h"

namespace yard {

BlockingPool::~BlockingPool() {
  std::deque<Task> dropped;  // destroyed after the lock is gone
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void BlockingPool::submit(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() > idle_ && threads_.size() < kMaxThreads) {
      threads_.emplace_back([this] { work(); });
    }
  }
  wake_.notify_one();  // who is woken finds the lock free
}

size_t BlockingPool::waiting() const {
  std::lock_guard lock(mutex_);
  return tasks_.size();
}

void BlockingPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (stopping_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace yard
