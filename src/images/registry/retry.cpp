#include "images/registry/retry.h"

#include <algorithm>

#include "images/registry/registry_fault.h"

namespace yard {
namespace {

constexpr int kMostTries = 5, kMostTriesUnreached = 3, kMostTriesOfMirror = 2;
constexpr Duration kFirstWait = std::chrono::milliseconds(500),
                   kLongestWait = std::chrono::seconds(8);
// A server that wants more is left alone: the pod's own back-off comes back later.
constexpr Duration kLongestAskedWait = std::chrono::seconds(30);

bool was_reached(const Error& failure) {
  return std::ranges::none_of(failure.details.causes,
                              [](const Cause& cause) { return cause.reason == "Unreachable"; });
}

}  // namespace

std::optional<Duration> wait_before_retry(const FailedTry& tried) {
  const RegistryFault fault = fault_of(*tried.failure);
  if (fault != RegistryFault::Unavailable && fault != RegistryFault::TooMany) return std::nullopt;
  const int most = tried.is_mirror                ? kMostTriesOfMirror
                   : !was_reached(*tried.failure) ? kMostTriesUnreached
                                                  : kMostTries;
  if (tried.failures >= most) return std::nullopt;
  const Duration doubled = kFirstWait * (1 << std::min(tried.failures - 1, 10));
  const Duration wait = std::min(doubled, kLongestWait);
  const auto spread = std::chrono::duration_cast<Duration>(wait * (0.75 + tried.chance / 2));
  const Duration asked = std::chrono::seconds(tried.failure->details.retry_after_seconds);
  if (asked > kLongestAskedWait) return std::nullopt;
  return std::max(spread, asked);
}

}  // namespace yard
