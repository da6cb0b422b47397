#pragma once
// When a CronJob should have started its latest job, and when its next (kubernetes-core B).

#include <optional>
#include <string_view>

#include "api/batch/cron_schedule.h"
#include "base/time_zone.h"

namespace yard {

struct CronSlots {
  std::optional<Time>
      latest;  // the newest slot after `earliest` that has come; older ones are not made up for
  std::optional<Time> next;  // the first one after now
  bool missed_too_many = false;
};
// `text` is the schedule's; slots of @every count from `earliest`. Without a zone clocks show UTC.
CronSlots cron_slots(const CronSchedule& schedule, std::string_view text, Time earliest, Time now,
                     const TimeZone* zone = nullptr);

std::string rfc1123z(Time time);  // Mon, 02 Jan 2006 15:04:05 +0000

}  // namespace yard
