#include "node/images/pull_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

bool needs_pull(const PullFacts& facts) {
  if (!facts.asks_registry || facts.policy == "Never" || facts.is_done) return false;
  if (!facts.is_present) return true;
  return facts.policy == "Always" && facts.is_from_registry;
}

Duration pull_back_off(int failures) {
  using std::chrono::seconds;
  constexpr Duration kFirst = seconds(10), kLongest = seconds(300);
  return std::min(kLongest, kFirst * (1 << std::clamp(failures - 1, 0, 10)));
}

std::string go_duration(Duration length) {
  const auto milliseconds = std::chrono::round<std::chrono::milliseconds>(length).count();
  if (milliseconds < 1000) return fmt::format("{}ms", milliseconds);
  std::string seconds = fmt::format("{}.{:03}", milliseconds / 1000 % 60, milliseconds % 1000);
  while (seconds.ends_with('0'))
    seconds.pop_back();
  if (seconds.ends_with('.')) seconds.pop_back();
  const auto minutes = milliseconds / 60'000;
  if (minutes == 0) return seconds + "s";
  if (minutes < 60) return fmt::format("{}m{}s", minutes, seconds);
  return fmt::format("{}h{}m{}s", minutes / 60, minutes % 60, seconds);
}

std::string pull_success(std::string_view image, const PullTimes& times, std::int64_t bytes) {
  return fmt::format(
      "Successfully pulled image {} in {} ({} including waiting). Image size: {} bytes.",
      quoted(image), go_duration(times.took), go_duration(times.with_waiting), bytes);
}

std::string pull_back_off_message(std::string_view image, std::string_view problem) {
  return fmt::format("Back-off pulling image {}: ErrImagePull: {}", quoted(image), problem);
}

}  // namespace yard
