#include "net/loop.h"

#include <csignal>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "net/timers.h"

namespace yard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Time kStart = from_unix_seconds(1'000'000);

std::vector<std::string> fired_at(Timers& timers, Time now, std::vector<std::string>& log) {
  log.clear();
  while (Task task = timers.take_due(now)) {
    task();
  }
  return log;
}

TEST(Timers, fire_in_order_of_time_and_then_of_adding) {
  Timers timers;
  std::vector<std::string> log;
  timers.add(kStart + seconds(3), [&] { log.push_back("three"); });
  timers.add(kStart + seconds(1), [&] { log.push_back("one"); });
  timers.add(kStart + seconds(1), [&] { log.push_back("one again"); });
  EXPECT_EQ(timers.next_due(), kStart + seconds(1));
  EXPECT_EQ(fired_at(timers, kStart, log), std::vector<std::string>{});
  EXPECT_EQ(fired_at(timers, kStart + seconds(1), log),
            (std::vector<std::string>{"one", "one again"}));
  EXPECT_EQ(fired_at(timers, kStart + seconds(9), log), std::vector<std::string>{"three"});
  EXPECT_EQ(timers.next_due(), std::nullopt);
}

TEST(Timers, a_cancelled_one_never_fires_and_does_not_stay) {
  Timers timers;
  std::vector<std::string> log;
  for (int i = 0; i < 1000; ++i) {
    timers.cancel(timers.add(kStart, [&] { log.push_back("cancelled"); }));
  }
  TimerId kept = timers.add(kStart + seconds(1), [&] { log.push_back("kept"); });
  EXPECT_EQ(timers.next_due(), kStart + seconds(1));
  EXPECT_EQ(fired_at(timers, kStart + seconds(1), log), std::vector<std::string>{"kept"});
  timers.cancel(kept);
  EXPECT_EQ(timers.size(), 0u);
}

TEST(Timers, keep_their_wait_when_the_clock_is_set_back) {
  Timers timers;
  timers.add(kStart + seconds(60), [] {});
  timers.shift(-std::chrono::hours(1));
  EXPECT_EQ(timers.next_due(), kStart + seconds(60) - std::chrono::hours(1));
}

TEST(AsioLoop, runs_posted_tasks_in_order_on_its_thread_and_never_inline) {
  auto loop = make_asio_loop();
  std::vector<int> order;
  std::thread::id loop_thread = std::this_thread::get_id();
  loop->post([&] {
    loop->post([&] {
      order.push_back(2);
      loop->stop();
    });
    order.push_back(1);
  });
  loop->run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(std::this_thread::get_id(), loop_thread);
  EXPECT_EQ(loop->statistics().tasks, 2u);
}

TEST(AsioLoop, takes_posts_from_many_threads) {
  auto loop = make_asio_loop();
  constexpr int kThreads = 4, kPosts = 1000;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kPosts; ++j) {
        loop->post([&] {
          if (++count == kThreads * kPosts) loop->stop();
        });
      }
    });
  }
  loop->run();
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, kThreads * kPosts);
}

TEST(AsioLoop, fires_timers_by_time_and_not_the_cancelled_ones) {
  auto loop = make_asio_loop();
  std::vector<std::string> log;
  loop->after(milliseconds(20), [&] {
    log.push_back("later");
    loop->stop();
  });
  loop->after(milliseconds(1), [&] { log.push_back("sooner"); });
  TimerId never = loop->after(milliseconds(5), [&] { log.push_back("never"); });
  loop->cancel(never);
  loop->after(Duration::max(), [&] { log.push_back("in ten years"); });
  Time before = loop->now();
  loop->run();
  EXPECT_EQ(log, (std::vector<std::string>{"sooner", "later"}));
  EXPECT_GE(loop->now() - before, milliseconds(20));
}

TEST(AsioLoop, counts_slow_tasks) {
  auto loop = make_asio_loop();
  loop->post([&] {
    Time until = loop->now() + milliseconds(4);
    while (loop->now() < until) {
    }
    loop->stop();
  });
  loop->run();
  EXPECT_EQ(loop->statistics().slow_tasks, 1u);
}

TEST(AsioLoop, runs_blocking_work_elsewhere_and_done_here) {
  auto loop = make_asio_loop();
  std::thread::id here = std::this_thread::get_id(), there;
  int done = 0;
  for (int i = 0; i < 20; ++i) {
    loop->run_blocking(
        [&, i] {
          if (i == 0) there = std::this_thread::get_id();
        },
        [&] {
          EXPECT_EQ(std::this_thread::get_id(), here);
          if (++done == 20) loop->stop();
        });
  }
  loop->run();
  EXPECT_NE(there, here);
  EXPECT_EQ(done, 20);
}

TEST(AsioLoop, watches_a_descriptor_until_it_is_forgotten) {
  auto loop = make_asio_loop();
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  uint64_t one = 1, value = 0;
  int times = 0;
  ASSERT_EQ(write(fd, &one, sizeof one), 8);
  loop->on_readable(fd, [&] {
    // Readable until it has been read: the second call is for the same write.
    if (++times == 1) return;
    EXPECT_EQ(read(fd, &value, sizeof value), 8);
    loop->forget_readable(fd);
    EXPECT_EQ(write(fd, &one, sizeof one), 8);
    loop->after(milliseconds(5), [&] { loop->stop(); });
  });
  loop->run();
  EXPECT_EQ(times, 2);
  EXPECT_EQ(read(fd, &value, sizeof value), 8) << "the descriptor is still the caller's";
  close(fd);
}

TEST(AsioLoop, stops_on_sigterm) {
  auto loop = make_asio_loop();
  loop->stop_on_signals();
  loop->post([] { raise(SIGTERM); });
  loop->run();
  EXPECT_GE(loop->statistics().tasks, 1u);
}

TEST(AsioLoop, can_be_destroyed_with_everything_pending) {
  auto loop = make_asio_loop();
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  loop->on_readable(fd, [] {});
  loop->after(seconds(60), [] {});
  loop->run_blocking([] {}, [] {});
  loop->post([] {});
  loop.reset();
  EXPECT_EQ(close(fd), 0) << "the descriptor is still open";
}

}  // namespace
}  // namespace yard
