#pragma once
// A thread that stays in the host's network namespace while the keeper's other threads live in the
// island: what must reach the host's network is opened there. An ordinary user could not go back.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace yard {

class HostThread {
 public:
  HostThread();  // in the namespace of the calling thread
  ~HostThread();
  void run(const std::function<void()>& task);  // waits for it; any thread
  // A non-blocking socket of the host's network; -1 with errno.
  int open_socket(int family, int type);

 private:
  void work();
  std::mutex callers_, mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace yard
