#include "node/images/pull_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

PullNeed pull_need(const PullFacts& facts) {
  if (facts.is_done) return {};
  PullNeed out;
  // A loaded image is not asked for again: nobody else may have it.
  out.from_registry =
      facts.asks_registry && facts.policy != "Never" &&
      (!facts.is_present || (facts.policy == "Always" && facts.origin == ImageOrigin::Registry));
  // Always is the registry's word. Else what lies here costs no network; and what was built again
  // since it was taken over is another image.
  const bool is_newer_here =
      !facts.local_id.empty() && (!facts.is_present || (facts.origin == ImageOrigin::LocalStore &&
                                                        facts.id != facts.local_id));
  out.from_stores = is_newer_here && !(out.from_registry && facts.policy == "Always");
  return out;
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

std::string already_present(std::string_view image) {
  return fmt::format("Container image {} already present on machine", quoted(image));
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
