#include "node/network/host_thread.h"

#include <cerrno>
#include <sys/socket.h>

namespace yard {

HostThread::HostThread() : thread_([this] { work(); }) {}

HostThread::~HostThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HostThread::run(const std::function<void()>& task) {
  const std::lock_guard alone(callers_);
  std::unique_lock lock(mutex_);
  task_ = &task;
  changed_.notify_all();
  changed_.wait(lock, [this] { return task_ == nullptr; });
}

void HostThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return task_ != nullptr || ending_; });
    if (ending_) return;
    (*task_)();
    task_ = nullptr;
    changed_.notify_all();
  }
}

int HostThread::open_socket(int family, int type) {
  int fd = -1, problem = 0;
  run([&] {
    fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    problem = errno;
  });
  errno = problem;
  return fd;
}

}  // namespace yard
