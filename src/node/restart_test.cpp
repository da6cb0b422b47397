#include "node/restart.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

// Runs of `lengths` seconds, each started as soon as it was due.
std::vector<int64_t> waits(RestartPolicy policy, const std::vector<int>& lengths, int code) {
  std::vector<ContainerRun> runs(lengths.size());
  std::vector<const ContainerRun*> seen;
  std::vector<int64_t> out;
  Time at = from_unix_seconds(1'700'000'000);
  for (size_t i = 0; i < lengths.size(); ++i) {
    runs[i].started = at;
    runs[i].exit = ContainerExit{code, false, false, at + std::chrono::seconds(lengths[i]), ""};
    seen.push_back(&runs[i]);
    const Restart next = next_restart(policy, seen);
    if (!next.again) {
      out.push_back(-1);
      break;
    }
    out.push_back(std::chrono::duration_cast<std::chrono::seconds>(next.backoff).count());
    at = next.due;
  }
  return out;
}

TEST(Restart, WaitsTwiceAsLongEachTimeUpToFiveMinutes) {
  EXPECT_EQ(waits(RestartPolicy::Always, {1, 1, 1, 1, 1, 1, 1, 1}, 1),
            (std::vector<int64_t>{0, 10, 20, 40, 80, 160, 300, 300}));
}

TEST(Restart, ARunOfMoreThanTenMinutesIsForgiven) {
  EXPECT_EQ(waits(RestartPolicy::Always, {1, 1, 1, 601, 1, 1}, 1),
            (std::vector<int64_t>{0, 10, 20, 0, 10, 20}));
}

TEST(Restart, PolicyDecides) {
  EXPECT_EQ(waits(RestartPolicy::Never, {1}, 1), (std::vector<int64_t>{-1}));
  EXPECT_EQ(waits(RestartPolicy::OnFailure, {1}, 0), (std::vector<int64_t>{-1}));
  EXPECT_EQ(waits(RestartPolicy::OnFailure, {1}, 1), (std::vector<int64_t>{0}));
  EXPECT_EQ(waits(RestartPolicy::Always, {1}, 0), (std::vector<int64_t>{0}));
}

}  // namespace
}  // namespace yard
