#pragma once
// Points in time and lengths of time, and the texts Kubernetes uses for them. Pure: the clock
// itself is Loop::now().

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace yard {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::sys_time<std::chrono::nanoseconds>;  // UTC wall clock

std::string rfc3339(Time time);        // 2026-11-15T06:05:54Z, as metav1.Time
std::string rfc3339_micro(Time time);  // 2026-11-15T06:05:54.123456Z, as metav1.MicroTime
std::string rfc3339_nano(Time time);   // nine digits, as log lines carry
std::optional<Time> parse_rfc3339(std::string_view text);  // any fraction, Z or an offset

// kubectl's short age: 119s, 2m5s, 3h5m, 2d1h, 731d ... ; negative beyond a second is <invalid>.
std::string human_duration(Duration length);
// Go's time.ParseDuration for what query parameters carry: 300ms, 1.5h, 2h45m, -3s.
std::optional<Duration> parse_go_duration(std::string_view text);

inline int64_t unix_seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}
inline Time from_unix_seconds(int64_t seconds) {
  return Time{std::chrono::seconds{seconds}};
}

}  // namespace yard
