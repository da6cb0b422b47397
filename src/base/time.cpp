#include "base/time.h"

#include <charconv>

#include <fmt/format.h>

namespace yard {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// The number's last digits, so many, before `end`.
void put_digits(char* end, unsigned number, size_t digits) {
  for (; digits > 0; --digits, number /= 10)
    *--end = static_cast<char>('0' + number % 10);
}

// By hand: a pod's status has some forty of them, and a general formatter takes ten times as long.
// `form` is the text with zeros in the places of the digits.
std::string date_and_clock(Time time, std::string_view form) {
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const auto second = static_cast<unsigned>(std::chrono::floor<seconds>(time - day).count());
  std::string out(form);
  put_digits(&out[4], static_cast<unsigned>(static_cast<int>(date.year())), 4);
  put_digits(&out[7], static_cast<unsigned>(date.month()), 2);
  put_digits(&out[10], static_cast<unsigned>(date.day()), 2);
  put_digits(&out[13], second / 3600, 2);
  put_digits(&out[16], second / 60 % 60, 2);
  put_digits(&out[19], second % 60, 2);
  return out;
}

int64_t fraction_nanos(Time time) {
  return (time - std::chrono::floor<seconds>(time)).count();
}

// Reads exactly `digits` decimal digits at `at`; -1 when they are not there.
int read_digits(std::string_view text, size_t at, size_t digits) {
  if (at + digits > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::optional<Duration> unit_length(std::string_view unit) {
  if (unit == "ns") return Duration{1};
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs") return std::chrono::microseconds{1};
  if (unit == "ms") return std::chrono::milliseconds{1};
  if (unit == "s") return seconds{1};
  if (unit == "m") return minutes{1};
  if (unit == "h") return hours{1};
  return std::nullopt;
}

}  // namespace

std::string rfc3339(Time time) {
  return date_and_clock(time, "0000-00-00T00:00:00Z");
}

std::string rfc3339_micro(Time time) {
  std::string out = date_and_clock(time, "0000-00-00T00:00:00.000000Z");
  put_digits(&out[26], static_cast<unsigned>(fraction_nanos(time) / 1000), 6);
  return out;
}

std::string rfc3339_nano(Time time) {
  std::string out = date_and_clock(time, "0000-00-00T00:00:00.000000000Z");
  put_digits(&out[29], static_cast<unsigned>(fraction_nanos(time)), 9);
  return out;
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  const int year = read_digits(text, 0, 4), month = read_digits(text, 5, 2),
            day = read_digits(text, 8, 2), hour = read_digits(text, 11, 2),
            minute = read_digits(text, 14, 2), second = read_digits(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  // Nanoseconds in 64 bits reach from 1678 to 2261; outside there is no Time to answer.
  if (!date.ok() || hour > 23 || minute > 59 || second > 59 || year < 1678 || year > 2261) {
    return std::nullopt;
  }
  size_t at = 19;
  int64_t nanos = 0;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    ++at;
    const size_t first = at;
    int64_t scale = 100'000'000;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) {
      nanos += (text[at] - '0') * scale;
    }
    if (at == first) return std::nullopt;
  }
  if (at >= text.size()) return std::nullopt;
  minutes offset{0};
  if (text[at] == 'Z' || text[at] == 'z') {
    if (at + 1 != text.size()) return std::nullopt;
  } else if (text[at] == '+' || text[at] == '-') {
    const int offset_hours = read_digits(text, at + 1, 2),
              offset_minutes = read_digits(text, at + 4, 2);
    if (text.size() != at + 6 || text[at + 3] != ':' || offset_hours < 0 || offset_hours > 23 ||
        offset_minutes < 0 || offset_minutes > 59) {
      return std::nullopt;
    }
    offset = hours{offset_hours} + minutes{offset_minutes};
    if (text[at] == '-') offset = -offset;
  } else {
    return std::nullopt;
  }
  return Time{std::chrono::sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} +
         Duration{nanos} - offset;
}

std::string human_duration(Duration length) {
  const int64_t s = std::chrono::duration_cast<seconds>(length).count();  // truncates towards zero
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  const int64_t m = s / 60, h = m / 60, d = h / 24, y = d / 365;
  const auto pair = [](int64_t big, char big_unit, int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit)
                      : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (s < 120) return fmt::format("{}s", s);
  if (m < 10) return pair(m, 'm', s % 60, 's');
  if (h < 3) return fmt::format("{}m", m);
  if (h < 8) return pair(h, 'h', m % 60, 'm');
  if (h < 48) return fmt::format("{}h", h);
  if (d < 8) return pair(d, 'd', h % 24, 'h');
  if (d < 2 * 365) return fmt::format("{}d", d);
  if (d < 8 * 365) return pair(y, 'y', d % 365, 'd');
  return fmt::format("{}y", y);
}

std::optional<Duration> parse_go_duration(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    size_t digits = 0;
    while (digits < text.size() &&
           (text[digits] == '.' || (text[digits] >= '0' && text[digits] <= '9'))) {
      ++digits;
    }
    double number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + digits, number);
    if (digits == 0 || parsed.ec != std::errc{} || parsed.ptr != text.data() + digits)
      return std::nullopt;
    text.remove_prefix(digits);
    size_t letters = 0;
    while (letters < text.size() && text[letters] != '.' &&
           (text[letters] < '0' || text[letters] > '9')) {
      ++letters;
    }
    const auto unit = unit_length(text.substr(0, letters));
    if (!unit) return std::nullopt;
    text.remove_prefix(letters);
    total += number * static_cast<double>(unit->count());
  }
  if (total > 9.2e18) return std::nullopt;
  const auto nanos = static_cast<int64_t>(total);
  return Duration{negative ? -nanos : nanos};
}

}  // namespace yard
