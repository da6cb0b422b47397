#include "node/network/fd_loop.h"

#include <sys/timerfd.h>
#include <unistd.h>

namespace yard {
namespace {
constexpr int kMostEvents = 64;
}

FdLoop::FdLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

FdLoop::~FdLoop() {
  close(epoll_);
}

void FdLoop::watch(int fd, uint32_t events, Ready ready) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  ready_[fd] = std::make_shared<Ready>(std::move(ready));
}

void FdLoop::change(int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void FdLoop::forget(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  ready_.erase(fd);
}

void FdLoop::run() {
  epoll_event events[kMostEvents];
  while (!stopping_) {
    const int count = epoll_wait(epoll_, events, kMostEvents, -1);
    if (before_) before_();
    // A descriptor closed and opened again within one turn would get the old one's readiness:
    // all sockets here are non-blocking, so a callback that finds nothing does nothing.
    for (int i = 0; i < count && !stopping_; ++i) {
      const auto found = ready_.find(events[i].data.fd);
      if (found == ready_.end()) continue;
      const std::shared_ptr<Ready> ready = found->second;  // it may forget itself
      (*ready)(events[i].events);
    }
  }
}

// The kernel counts down from a time that never comes.
constexpr int64_t kNever = int64_t{100} * 365 * 86400;

Stopwatch::Stopwatch() : fd_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  itimerspec when{};
  when.it_value.tv_sec = kNever;
  timerfd_settime(fd_, 0, &when, nullptr);
}

Stopwatch::~Stopwatch() {
  close(fd_);
}

int64_t Stopwatch::seconds() const {
  itimerspec left{};
  return timerfd_gettime(fd_, &left) == 0 ? kNever - left.it_value.tv_sec : 0;
}

SecondTicks::SecondTicks(FdLoop& loop, std::function<void()> tick)
    : loop_(loop), fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  loop_.watch(fd_, EPOLLIN, [this, tick = std::move(tick)](uint32_t) {
    uint64_t ignored = 0;
    if (read(fd_, &ignored, sizeof ignored) > 0) tick();
  });
}

SecondTicks::~SecondTicks() {
  loop_.forget(fd_);
  close(fd_);
}

void SecondTicks::set_running(bool running) {
  if (running == running_) return;
  running_ = running;
  itimerspec every{};
  every.it_value.tv_sec = every.it_interval.tv_sec = running ? 1 : 0;
  timerfd_settime(fd_, 0, &every, nullptr);
}

}  // namespace yard
