#include "cli/pull_progress.h"

#include <sstream>

#include <gtest/gtest.h>

#include "images/progress_text.h"

namespace yard {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(PullProgress, SaysBytesRateAndLayers) {
  EXPECT_EQ(pull_progress_text({0, 3, 0, 30 * kMiB}, Duration{}), "0 of 3 layers, 0 B of 30.0 MiB");
  EXPECT_EQ(pull_progress_text({1, 3, 12 * kMiB, 30 * kMiB}, std::chrono::seconds(4)),
            "1 of 3 layers, 12.0 MiB of 30.0 MiB, 3.0 MiB/s");
}

TEST(PullProgress, RewritesALineOnATerminalAndPrintsFewElsewhere) {
  Time now = from_unix_seconds(100);
  std::ostringstream seen, piped;
  PullDisplay terminal(seen, true, [&] { return now; });
  PullDisplay pipe(piped, false, [&] { return now; });
  const auto tell = [&](const TakeProgress& progress) {
    terminal.tell(progress);
    pipe.tell(progress);
  };
  tell({0, 0, 0, 0});
  EXPECT_EQ(seen.str() + piped.str(), "") << "nothing has to come";
  for (int i = 0; i < 100; ++i) {
    tell({0, 2, i * kMiB, 100 * kMiB});
    now += std::chrono::milliseconds(10);
  }
  tell({1, 2, 100 * kMiB, 100 * kMiB});
  tell({2, 2, 100 * kMiB, 100 * kMiB});
  terminal.end();
  pipe.end();
  EXPECT_EQ(piped.str(),
            "1 of 2 layers, 100.0 MiB of 100.0 MiB, 100.0 MiB/s\n"
            "2 of 2 layers, 100.0 MiB of 100.0 MiB, 100.0 MiB/s\n");
  const std::string text = seen.str();
  const auto rewritten = std::ranges::count(text, '\r');
  EXPECT_GE(rewritten, 10);
  EXPECT_LE(rewritten, 13) << "not for every piece";
  EXPECT_TRUE(text.ends_with("2 of 2 layers, 100.0 MiB of 100.0 MiB, 100.0 MiB/s\n"));
}

}  // namespace
}  // namespace yard
