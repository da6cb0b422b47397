#pragma once
// The keeper's own small loop: descriptors and what to do when they are ready. Not the server's
// Loop: the keeper must go on without the server, and has no state but what it was told. One
// thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <sys/epoll.h>

namespace yard {

class FdLoop {
 public:
  FdLoop();
  ~FdLoop();
  FdLoop(const FdLoop&) = delete;

  using Ready = std::function<void(uint32_t events)>;
  void watch(int fd, uint32_t events, Ready ready);
  void change(int fd, uint32_t events);
  void forget(int fd);  // before it is closed
  void before_each_turn(std::function<void()> task) { before_ = std::move(task); }
  void run();
  void stop() { stopping_ = true; }

 private:
  int epoll_;
  bool stopping_ = false;
  std::function<void()> before_;
  std::map<int, std::shared_ptr<Ready>> ready_;
};

// Whole seconds since it was made, however long nobody asks.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  int64_t seconds() const;

 private:
  int fd_;
};

// A timer that ticks once a second, and only while someone needs it.
class SecondTicks {
 public:
  SecondTicks(FdLoop& loop, std::function<void()> tick);
  ~SecondTicks();
  void set_running(bool running);

 private:
  FdLoop& loop_;
  int fd_;
  bool running_ = false;
};

}  // namespace yard
