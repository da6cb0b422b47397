#include "api/batch/cron_schedule.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

struct FieldRule {
  unsigned least, most;
  const char* names;  // comma-separated, the first is `first_named`
  unsigned first_named;
};

constexpr FieldRule kMinutes = {0, 59, "", 0};
constexpr FieldRule kHours = {0, 23, "", 0};
constexpr FieldRule kDays = {1, 31, "", 0};
constexpr FieldRule kMonths = {1, 12, "jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec", 1};
constexpr FieldRule kWeekdays = {0, 6, "sun,mon,tue,wed,thu,fri,sat", 0};

struct FieldBits {
  uint64_t bits = 0;
  bool any = false;
};

Error refusal(std::string message) {
  return error(Reason::BadRequest, std::move(message));
}

Result<unsigned> number(std::string_view text) {
  const std::optional<int64_t> value = parse_int64(text);
  if (!value || *value > 1'000'000) {
    return refusal(fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: {}", text,
                               quoted(text), value ? "value out of range" : "invalid syntax"));
  }
  if (*value < 0) return refusal(fmt::format("negative number ({}) not allowed: {}", *value, text));
  return static_cast<unsigned>(*value);
}

Result<unsigned> value_or_name(std::string_view text, const FieldRule& rule) {
  const std::vector<std::string_view> names = split(rule.names, ',');
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && equals_ignore_case(names[i], text)) {
      return rule.first_named + static_cast<unsigned>(i);
    }
  }
  return number(text);
}

uint64_t every_nth(unsigned first, unsigned last, unsigned step) {
  uint64_t bits = 0;
  for (unsigned value = first; value <= last; value += step)
    bits |= uint64_t{1} << value;
  return bits;
}

// `*`, `5`, `1-5`, `*/15`, `10/5`, `1-9/2`.
Result<FieldBits> range_bits(std::string_view text, const FieldRule& rule) {
  const std::vector<std::string_view> with_step = split(text, '/');
  const std::vector<std::string_view> ends = split(with_step[0], '-');
  if (ends.size() > 2) return refusal(fmt::format("too many hyphens: {}", text));
  if (with_step.size() > 2) return refusal(fmt::format("too many slashes: {}", text));
  const bool any = ends[0] == "*" || ends[0] == "?";
  unsigned first = rule.least;
  unsigned last = rule.most;
  if (!any) {
    first = TRY(value_or_name(ends[0], rule));
    last = first;
    if (ends.size() == 2) last = TRY(value_or_name(ends[1], rule));
  } else if (ends.size() == 2) {
    return refusal(fmt::format("too many hyphens: {}", text));
  }
  unsigned step = 1;
  if (with_step.size() == 2) {
    step = TRY(number(with_step[1]));
    // N/step means N-max/step.
    if (ends.size() == 1) last = rule.most;
  }
  if (first < rule.least) {
    return refusal(
        fmt::format("beginning of range ({}) below minimum ({}): {}", first, rule.least, text));
  }
  if (last > rule.most) {
    return refusal(fmt::format("end of range ({}) above maximum ({}): {}", last, rule.most, text));
  }
  if (first > last) {
    return refusal(
        fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, text));
  }
  if (step == 0) {
    return refusal(fmt::format("step of range should be a positive number: {}", text));
  }
  return FieldBits{every_nth(first, last, std::min(step, 64U)), any && step == 1};
}

Result<FieldBits> field_bits(std::string_view text, const FieldRule& rule) {
  FieldBits all;
  for (std::string_view part : split(text, ',')) {
    if (part.empty()) continue;
    const FieldBits bits = TRY(range_bits(part, rule));
    all.bits |= bits.bits;
    all.any = all.any || bits.any;
  }
  return all;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t\r\n", at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

std::string_view spelled_out(std::string_view descriptor) {
  if (descriptor == "@yearly" || descriptor == "@annually") return "0 0 1 1 *";
  if (descriptor == "@monthly") return "0 0 1 * *";
  if (descriptor == "@weekly") return "0 0 * * 0";
  if (descriptor == "@daily" || descriptor == "@midnight") return "0 0 * * *";
  if (descriptor == "@hourly") return "0 * * * *";
  return "";
}

bool has_bit(uint64_t bits, unsigned value) {
  return (bits >> value & 1) != 0;
}

// The first set bit at or after `from`, or 64.
unsigned next_bit(uint64_t bits, unsigned from) {
  const uint64_t rest = from < 64 ? bits >> from << from : 0;
  return rest == 0 ? 64 : static_cast<unsigned>(std::countr_zero(rest));
}

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  if (text.empty()) return refusal("empty spec string");
  CronSchedule schedule;
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    const std::optional<Duration> period = parse_go_duration(text.substr(kEvery.size()));
    if (!period) return refusal(fmt::format("failed to parse duration {}", text));
    // Whole seconds, and at least one: a shorter period could never be kept.
    schedule.every_ = std::max<Duration>(std::chrono::floor<seconds>(*period), seconds(1));
    return schedule;
  }
  if (text.starts_with('@')) {
    const std::string_view plain = spelled_out(text);
    if (plain.empty()) return refusal(fmt::format("unrecognized descriptor: {}", text));
    return parse(plain);
  }
  const std::vector<std::string_view> fields = words(text);
  if (fields.size() != 5) {
    return refusal(fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                               fmt::join(fields, " ")));
  }
  schedule.minutes_ = TRY(field_bits(fields[0], kMinutes)).bits;
  schedule.hours_ = TRY(field_bits(fields[1], kHours)).bits;
  const FieldBits month_days = TRY(field_bits(fields[2], kDays));
  schedule.months_ = TRY(field_bits(fields[3], kMonths)).bits;
  const FieldBits weekdays = TRY(field_bits(fields[4], kWeekdays));
  schedule.days_ = month_days.bits;
  schedule.any_day_ = month_days.any;
  schedule.weekdays_ = weekdays.bits;
  schedule.any_weekday_ = weekdays.any;
  return schedule;
}

bool CronSchedule::matches_day(std::chrono::sys_days day) const {
  const std::chrono::year_month_day date(day);
  if (!has_bit(months_, static_cast<unsigned>(date.month()))) return false;
  const bool by_day = has_bit(days_, static_cast<unsigned>(date.day()));
  const bool by_weekday = has_bit(weekdays_, std::chrono::weekday(day).c_encoding());
  return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<Time> CronSchedule::next_after(Time time) const {
  if (every_ > Duration{0}) {
    return std::chrono::floor<seconds>(time) + std::chrono::duration_cast<seconds>(every_);
  }
  if (minutes_ == 0 || hours_ == 0) return std::nullopt;
  const auto start = std::chrono::floor<minutes>(time) + minutes(1);
  auto day = std::chrono::floor<days>(start);
  unsigned hour = static_cast<unsigned>(std::chrono::duration_cast<hours>(start - day).count());
  unsigned minute = static_cast<unsigned>((start - day - hours(hour)).count());
  const auto last_day = day + days(5 * 366);
  for (; day <= last_day; day += days(1), hour = 0, minute = 0) {
    if (!matches_day(day)) continue;
    while (hour < 24) {
      const unsigned next_hour = next_bit(hours_, hour);
      if (next_hour >= 24) break;
      const unsigned slot = next_bit(minutes_, next_hour == hour ? minute : 0);
      if (slot < 60) return day + hours(next_hour) + minutes(slot);
      hour = next_hour + 1;
      minute = 0;
    }
  }
  return std::nullopt;
}

}  // namespace yard
