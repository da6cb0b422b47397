#include "controllers/batch/backoff.h"

#include <algorithm>

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirst = 10s, kLongest = 600s;

Duration delay_after(int failures) {
  if (failures <= 0) return Duration::zero();
  if (failures > 7) return kLongest;
  return std::min<Duration>(kFirst * (1 << (failures - 1)), kLongest);
}

Duration remaining(int failures, Time last_failure, Time now) {
  return std::max<Duration>(Duration::zero(), last_failure + delay_after(failures) - now);
}

Time latest(const PodRefs& pods) {
  Time last{};
  for (const PodFacts* pod : pods)
    last = std::max(last, pod->finished);
  return last;
}

}  // namespace

BackoffRecord next_backoff(BackoffRecord record, const PodRefs& succeeded, const PodRefs& failed) {
  if (!succeeded.empty()) record = {};
  const Time last_success = succeeded.empty() ? Time::min() : latest(succeeded);
  for (const PodFacts* pod : failed) {
    if (pod->finished <= last_success) continue;
    ++record.failures;
    record.last_failure = std::max(record.last_failure, pod->finished);
  }
  return record;
}

Duration remaining_backoff(const BackoffRecord& record, Time now) {
  return record.failures == 0 ? Duration::zero()
                              : remaining(record.failures, record.last_failure, now);
}

Duration remaining_index_backoff(const PodFacts& failed, Time now) {
  return remaining(failed.index_failures + failed.index_ignored_failures + 1, failed.finished, now);
}

}  // namespace yard
