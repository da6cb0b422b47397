#include "net/loop.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <unordered_map>

#include "base/check.h"
#include "base/log.h"
#include "net/asio.h"
#include "net/blocking_pool.h"
#include "net/inbox.h"
#include "net/timers.h"

namespace yard {

namespace {

namespace asio = boost::asio;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kSlowTask = std::chrono::milliseconds(2);
constexpr Duration kLongestDelay = std::chrono::years(10);  // keeps sums of times from overflowing

Time wall_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

// How far the wall clock is ahead of the time since boot, sleep included: it changes only when
// someone sets the clock.
Duration wall_ahead_of_boot() {
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  return wall_now().time_since_epoch() - std::chrono::seconds(boot.tv_sec) -
         std::chrono::nanoseconds(boot.tv_nsec);
}

class RealLoop : public AsioLoop {
 public:
  RealLoop() : timer_(io_, make_timer_fd()), random_(seed_from_kernel()) {
    wall_offset_ = wall_ahead_of_boot();
    wait_for_timer();
  }

  ~RealLoop() override {
    std::vector<Task> dropped = inbox_.close();
    for (auto& [fd, watch] : watches_) {
      watch->descriptor.release();
    }
  }

  void run() override {
    auto guard = asio::make_work_guard(io_);
    io_.run();
  }
  void stop() override { io_.stop(); }
  void stop_on_signals() override {
    signals_.emplace(io_, SIGTERM, SIGINT);
    signals_->async_wait([this](const boost::system::error_code& code, int signal) {
      if (code) return;
      log_info("stopping on signal {}", signal);
      stop();
    });
  }
  void on_signal(int number, Task task) override {
    auto& signals = more_signals_.emplace_back(std::make_unique<asio::signal_set>(io_, number));
    signals->async_wait([task = std::move(task)](const boost::system::error_code& code, int) {
      if (!code) task();
    });
  }
  Statistics statistics() const override {
    return {tasks_.load(std::memory_order_relaxed), slow_tasks_.load(std::memory_order_relaxed),
            inbox_.size() + draining_.load(std::memory_order_relaxed)};
  }

  Time now() const override { return wall_now(); }
  Random& random() override { return random_; }

  void post(Task task) override {
    if (inbox_.push(task) == Inbox<Task>::Pushed::Wake) {
      asio::post(io_, [this] { drain_inbox(); });
    }
  }

  TimerId after(Duration delay, Task task) override {
    Time due = wall_now() + std::clamp<Duration>(delay, Duration{0}, kLongestDelay);
    TimerId id = timers_.add(due, std::move(task));
    if (!armed_ || due < *armed_) arm(due);
    return id;
  }
  void cancel(TimerId timer) override { timers_.cancel(timer); }

  void run_blocking(Task work, Task done) override {
    pool_.submit([this, work = std::move(work), done = std::move(done)]() mutable {
      work();
      work = nullptr;
      post(std::move(done));
    });
  }

  void on_readable(int fd, Task task) override {
    forget_readable(fd);
    auto watch =
        std::make_shared<Watch>(Watch{asio::posix::stream_descriptor(io_), std::move(task)});
    boost::system::error_code code;
    watch->descriptor.assign(fd, code);
    check(!code, "a watched descriptor is open and can be polled");
    watches_[fd] = watch;
    wait_for(std::move(watch));
  }
  void forget_readable(int fd) override {
    auto found = watches_.find(fd);
    if (found == watches_.end()) return;
    found->second->forgotten = true;
    found->second->descriptor.release();  // the descriptor stays the caller's
    watches_.erase(found);
  }

 private:
  struct Watch {
    asio::posix::stream_descriptor descriptor;
    Task task;
    bool forgotten = false;
  };

  static int make_timer_fd() {
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    check(fd >= 0, "the kernel has a timer for the loop");
    return fd;
  }

  void run_task(Task& task, SteadyClock::time_point& started) {
    task();
    task = nullptr;  // what it held goes now, and counts as its time
    SteadyClock::time_point ended = SteadyClock::now();
    tasks_.fetch_add(1, std::memory_order_relaxed);
    if (ended - started > kSlowTask) slow_tasks_.fetch_add(1, std::memory_order_relaxed);
    started = ended;
  }

  void drain_inbox() {
    inbox_.take(batch_);
    draining_.store(batch_.size(), std::memory_order_relaxed);
    auto started = SteadyClock::now();
    for (Task& task : batch_) {
      if (io_.stopped()) break;
      run_task(task, started);
      draining_.fetch_sub(1, std::memory_order_relaxed);
    }
    draining_.store(0, std::memory_order_relaxed);
    batch_.clear();
  }

  void wait_for(std::shared_ptr<Watch> watch) {
    auto& descriptor = watch->descriptor;
    descriptor.async_wait(
        asio::posix::stream_descriptor::wait_read,
        [this, watch = std::move(watch)](const boost::system::error_code& code) mutable {
          if (code || watch->forgotten) return;
          auto started = SteadyClock::now();
          Task task = watch->task;  // it may forget itself
          run_task(task, started);
          if (!watch->forgotten) wait_for(std::move(watch));
        });
  }

  void wait_for_timer() {
    timer_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& code) {
                        if (code) return;
                        on_timer();
                        wait_for_timer();
                      });
  }

  void on_timer() {
    uint64_t expirations = 0;
    ssize_t size = ::read(timer_.native_handle(), &expirations, sizeof expirations);
    if (size < 0 && errno == ECANCELED) on_clock_set();
    auto started = SteadyClock::now();
    Time now = wall_now();  // once: timers added by these tasks wait for the next turn
    while (Task task = timers_.take_due(now)) {
      run_task(task, started);
      if (io_.stopped()) return;
    }
    armed_.reset();
    if (auto next = timers_.next_due()) arm(*next);
  }

  // A clock set forward fires what is due by it. One set back must not make a minute's wait an
  // hour's.
  void on_clock_set() {
    Duration offset = wall_ahead_of_boot();
    if (offset < wall_offset_) timers_.shift(offset - wall_offset_);
    wall_offset_ = offset;
  }

  void arm(Time due) {
    armed_ = due;
    auto since_epoch = std::max(due.time_since_epoch(), Duration{1});
    auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    itimerspec when{};
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = (since_epoch - seconds).count();
    int failed = timerfd_settime(timer_.native_handle(),
                                 TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, nullptr);
    // ECANCELED says the clock was set before this call; the timer is armed all the same.
    check(failed == 0 || errno == ECANCELED, "the loop's timer can be armed");
    if (failed != 0) on_clock_set();
  }

  asio::io_context io_{1};
  Inbox<Task> inbox_;
  std::vector<Task> batch_;
  Timers timers_;
  std::optional<Time> armed_;
  asio::posix::stream_descriptor timer_;
  Duration wall_offset_{};
  std::optional<asio::signal_set> signals_;
  std::vector<std::unique_ptr<asio::signal_set>> more_signals_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  Random random_;
  std::atomic<uint64_t> tasks_ = 0, slow_tasks_ = 0;
  std::atomic<size_t> draining_ = 0;
  BlockingPool pool_;  // last, so that its threads are gone before what they post to
};

}  // namespace

std::unique_ptr<AsioLoop> make_asio_loop() {
  return std::make_unique<RealLoop>();
}

}  // namespace yard
