#include "apiserver/plan_thread.h"

#include <future>

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(PlanThread, RunsInTheOrderTheyCame) {
  PlanThread thread;
  std::vector<int> ran;
  std::promise<void> done;
  for (int i = 0; i < 1000; ++i)
    thread.run([&ran, i] { ran.push_back(i); });
  thread.run([&done] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(ran.size(), 1000U);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(ran[static_cast<size_t>(i)], i);
}

TEST(PlanThread, EndsWithWhatItHasBegun) {
  std::promise<void> begun, go_on;
  bool finished = false;
  {
    PlanThread thread;
    thread.run([&, may = go_on.get_future().share()] {
      begun.set_value();
      may.wait();
      finished = true;
    });
    begun.get_future().wait();
    go_on.set_value();
  }
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace yard
