#include "apiserver/request_budget.h"

#include <vector>

#include <gtest/gtest.h>

namespace yard {
namespace {

constexpr BudgetLimits kSmall{.most_reads = 20,
                              .most_writes = 10,
                              .most_reads_of_one = 12,
                              .most_writes_of_one = 6,
                              .list_seats = 4,
                              .most_watches_of_one = 3,
                              .requests_per_second = 10,
                              .burst = 5};

TEST(RequestBudget, LeavesRoomForOthers) {
  struct Case {
    const char* about;
    RequestSort sort;
    UserLoad user;
    ServerLoad server;
    bool admitted;
  };
  const Case cases[] = {
      {"an idle server takes all", RequestSort::Read, {0, 0, 0, 5}, {0, 0, 1}, true},
      {"one user has half the seats", RequestSort::Read, {11, 0, 0, 5}, {11, 0, 1}, true},
      {"and no more", RequestSort::Read, {12, 0, 0, 5}, {12, 0, 1}, false},
      {"a list takes four", RequestSort::List, {8, 0, 0, 5}, {8, 0, 1}, true},
      {"so it stops earlier", RequestSort::List, {9, 0, 0, 5}, {9, 0, 1}, false},
      {"but one list is always served", RequestSort::List, {0, 0, 0, 5}, {20, 0, 9}, true},
      {"writes have seats of their own", RequestSort::Write, {12, 5, 0, 5}, {20, 5, 1}, true},
      {"also bounded", RequestSort::Write, {0, 6, 0, 5}, {0, 6, 1}, false},
      {"a newcomer to a full server is served", RequestSort::Write, {0, 0, 0, 5}, {0, 10, 3}, true},
      {"up to a fair share", RequestSort::Write, {0, 2, 0, 5}, {0, 10, 3}, true},
      {"and not beyond it", RequestSort::Write, {0, 3, 0, 5}, {0, 10, 3}, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.about);
    const auto decision = decide_budget(kSmall, one.sort, true, one.user, one.server);
    EXPECT_EQ(decision.admitted, one.admitted);
    EXPECT_EQ(decision.retry_after_seconds, one.admitted ? 0 : 1);
  }
}

TEST(RequestBudget, BoundsTheRateOfUsersButNotOfAdministrators) {
  const Time start = from_unix_seconds(1'700'000'000);
  const auto budget = std::make_shared<RequestBudget>(kSmall);
  int admitted = 0;
  for (int i = 0; i < 100; ++i)
    admitted += budget->take("ann", false, RequestSort::Read, start).seat != nullptr ? 1 : 0;
  EXPECT_EQ(admitted, 5);
  const auto refused = budget->take("ann", false, RequestSort::Read, start);
  EXPECT_EQ(refused.retry_after_seconds, 1);
  EXPECT_TRUE(budget->take("bob", false, RequestSort::Read, start).seat);
  admitted = 0;
  for (int i = 0; i < 100; ++i)
    admitted += budget->take("root", true, RequestSort::Read, start).seat != nullptr ? 1 : 0;
  EXPECT_EQ(admitted, 100);
  EXPECT_TRUE(
      budget->take("ann", false, RequestSort::Read, start + std::chrono::milliseconds(150)).seat);
}

TEST(RequestBudget, SeatsComeBack) {
  const Time now = from_unix_seconds(1'700'000'000);
  const auto budget = std::make_shared<RequestBudget>(kSmall);
  std::vector<RequestBudget::Seat> held;
  for (int i = 0; i < 6; ++i)
    held.push_back(budget->take("root", true, RequestSort::Write, now).seat);
  EXPECT_TRUE(held.back());
  EXPECT_FALSE(budget->take("root", true, RequestSort::Write, now).seat);
  held.pop_back();
  EXPECT_TRUE(budget->take("root", true, RequestSort::Write, now).seat);
  EXPECT_EQ(budget->refused(), 1u);
}

TEST(RequestBudget, WatchesAreCountedApartAndPerUser) {
  const Time now = from_unix_seconds(1'700'000'000);
  const auto budget = std::make_shared<RequestBudget>(kSmall);
  std::vector<RequestBudget::Seat> held;
  for (int i = 0; i < 3; ++i)
    held.push_back(budget->take_watch("ann").seat);
  EXPECT_TRUE(held.back());
  EXPECT_FALSE(budget->take_watch("ann").seat);
  EXPECT_TRUE(budget->take_watch("bob").seat);
  EXPECT_TRUE(budget->take("ann", false, RequestSort::Read, now).seat);
  held.clear();
  EXPECT_TRUE(budget->take_watch("ann").seat);
}

TEST(RequestBudget, StreamsOfPodsAreCountedApartToo) {
  BudgetLimits limits = kSmall;
  limits.most_streams_of_one = 2;
  const auto budget = std::make_shared<RequestBudget>(limits);
  const auto first = budget->take_stream("ann").seat;
  auto second = budget->take_stream("ann").seat;
  EXPECT_TRUE(first && second);
  const auto refused = budget->take_stream("ann");
  EXPECT_FALSE(refused.seat);
  EXPECT_EQ(refused.retry_after_seconds, 1);
  EXPECT_TRUE(budget->take_watch("ann").seat);
  EXPECT_TRUE(budget->take_stream("bob").seat);
  second.reset();
  EXPECT_TRUE(budget->take_stream("ann").seat);
}

TEST(RequestBudget, ASeatMayOutliveIt) {
  auto budget = std::make_shared<RequestBudget>(kSmall);
  const auto seat = budget->take("ann", false, RequestSort::Read, Time{}).seat;
  budget.reset();
  EXPECT_TRUE(seat);
}

}  // namespace
}  // namespace yard
