#include "controllers/batch/cron_times.h"

#include <fmt/format.h>

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kMostMissed = 100;

constexpr int kMostZoneChanges = 64;  // looked over for one slot; five years have about ten

// A schedule as the clocks of a zone show it: slots they skip do not come, slots they show twice
// come twice.
class Slots {
 public:
  Slots(const CronSchedule& schedule, const TimeZone* zone) : schedule_(schedule), zone_(zone) {}

  std::optional<Time> next_after(Time time) const {
    if (zone_ == nullptr) return schedule_.next_after(time);
    for (int looks = 0; looks < kMostZoneChanges; ++looks) {
      // `time` is the moment before the part of the clock's time that is looked at.
      const Duration offset = zone_->offset_at(time + 1ns);
      const auto end = zone_->next_change_after(time + 1ns);
      const auto shown = schedule_.next_after(time + offset);
      if (!shown) return std::nullopt;
      if (!end || *shown - offset < *end) return *shown - offset;
      time = *end - 1ns;
    }
    return std::nullopt;
  }

 private:
  const CronSchedule& schedule_;
  const TimeZone* zone_;
};

// The newest slot in (earliest, now]: looks back from now over longer and longer windows, so that a
// schedule of every minute that was forgotten for a year costs no more than one forgotten for an
// hour.
std::optional<Time> latest_slot(const Slots& slots, Time earliest, Time now) {
  for (Duration window = 2min;; window *= 2) {
    const bool is_all = now - earliest <= window;
    std::optional<Time> latest;
    for (auto slot = slots.next_after(is_all ? earliest : now - window); slot && *slot <= now;
         slot = slots.next_after(*slot))
      latest = slot;
    if (latest || is_all) return latest;
  }
}

}  // namespace

CronSlots cron_slots(const CronSchedule& schedule, std::string_view text, Time earliest, Time now,
                     const TimeZone* zone) {
  CronSlots out;
  const bool is_every = text.starts_with("@every");
  const Slots slots(schedule, is_every ? nullptr : zone);
  const auto first = slots.next_after(earliest);
  if (!first || *first > now) {
    out.next = first;
    return out;
  }
  const auto second = slots.next_after(*first);
  const Duration between = second ? *second - *first : Duration::max();
  const int64_t missed = (now - *first) / between + 1;
  out.missed_too_many = missed > kMostMissed;
  out.latest = is_every ? *first + (missed - 1) * between : latest_slot(slots, earliest, now);
  out.next = slots.next_after(out.latest.value_or(now));
  return out;
}

std::string rfc1123z(Time time) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format(
      "{}, {:02} {} {} {:02}:{:02}:{:02} +0000", kDays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

}  // namespace yard
