#include "controllers/runtime/work_queue.h"

#include <gtest/gtest.h>

#include "testing/sim_loop.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

ObjectKey key(const std::string& name) {
  return {{"v1", "Pod"}, "default", name};
}

class WorkQueueTest : public testing::Test {
 protected:
  // The names taken now, in order; all stay in work.
  std::string taken() {
    std::string text;
    while (const auto next = queue.take())
      text += next->name;
    return text;
  }

  SimLoop loop;
  int wakes = 0;
  WorkQueue queue{
      loop, {.first_retry = 5ms, .longest_retry = 1s, .most_keys = 3}, [this] { ++wakes; }};
};

TEST_F(WorkQueueTest, AKeyAddedTwiceIsTakenOnce) {
  queue.add(key("b"));
  queue.add(key("a"));
  queue.add(key("b"));
  EXPECT_EQ(taken(), "ba");
  EXPECT_EQ(wakes, 2);
}

TEST_F(WorkQueueTest, AKeyAddedWhileInWorkIsTakenAgainAfterwards) {
  queue.add(key("a"));
  EXPECT_EQ(taken(), "a");
  queue.add(key("a"));
  EXPECT_EQ(taken(), "") << "never two at once";
  queue.done(key("a"));
  EXPECT_EQ(taken(), "a");
  queue.done(key("a"));
  EXPECT_EQ(taken(), "");
  EXPECT_TRUE(queue.is_idle());
}

TEST_F(WorkQueueTest, TheEarliestOfSeveralDelaysCounts) {
  queue.add_after(key("a"), 50ms);
  queue.add_after(key("a"), 10ms);
  queue.add_after(key("a"), 30ms);
  loop.advance(9ms);
  EXPECT_EQ(taken(), "");
  loop.advance(1ms);
  EXPECT_EQ(taken(), "a");
  queue.done(key("a"));
  loop.advance(1s);
  EXPECT_EQ(taken(), "") << "later delays were folded into the first";
  EXPECT_EQ(loop.pending(), 0u);
}

TEST_F(WorkQueueTest, RetriesDoubleUpToTheCapAndBeginAnewAfterSuccess) {
  const auto delay = [&] {
    queue.add_rate_limited(key("a"));
    const Time before = loop.now();
    EXPECT_TRUE(loop.run_until([&] { return queue.has_ready(); }));
    EXPECT_EQ(taken(), "a");
    queue.done(key("a"));
    return std::chrono::duration_cast<std::chrono::milliseconds>(loop.now() - before).count();
  };
  for (const int expected : {5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000})
    EXPECT_EQ(delay(), expected);
  queue.forget(key("a"));
  EXPECT_EQ(delay(), 5);
}

TEST_F(WorkQueueTest, AFullQueueDropsAndSaysSo) {
  for (const char* name : {"a", "b", "c"})
    EXPECT_TRUE(queue.add(key(name)));
  EXPECT_FALSE(queue.take_overflow());
  EXPECT_FALSE(queue.add(key("d")));
  EXPECT_TRUE(queue.add(key("a"))) << "known keys always have their place";
  EXPECT_TRUE(queue.take_overflow());
  EXPECT_FALSE(queue.take_overflow());
  EXPECT_EQ(taken(), "abc");
  queue.done(key("a"));
  EXPECT_TRUE(queue.add(key("d")));
}

}  // namespace
}  // namespace yard
