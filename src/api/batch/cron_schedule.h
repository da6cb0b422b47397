#pragma once
// A cron schedule: `*/5 9-17 * * MON-FRI`, `@daily`, `@every 90m`. A pure value; time zones are not
// its matter.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace yard {

class CronSchedule {
 public:
  // BadRequest in the words users of CronJobs know: `expected exactly 5 fields, found 3: [1 2 3]`.
  static Result<CronSchedule> parse(std::string_view text);

  // The first slot strictly after `time`, in UTC; none when there is none within five years
  // (30 February).
  std::optional<Time> next_after(Time time) const;

 private:
  bool matches_day(std::chrono::sys_days day) const;

  // One bit a value. A day matches when both day fields do, or either where both are restricted.
  uint64_t minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  bool any_day_ = false, any_weekday_ = false;  // written as * or ?
  Duration every_{0};                           // @every: the other members are unused
};

}  // namespace yard
