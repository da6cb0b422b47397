#pragma once
// Offsets from UTC by name, as the machine's zone files (TZif, RFC 9636) tell them.

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace yard {

class TimeZone {
 public:
  // The bytes of a zone file. What the file leaves to its rule is written out until 2100.
  static Result<TimeZone> parse(std::string_view bytes);

  std::chrono::seconds offset_at(Time time) const;         // east of UTC is positive
  std::optional<Time> next_change_after(Time time) const;  // when the offset may be another

 private:
  struct Change {
    int64_t at = 0;  // unix seconds
    int32_t offset = 0;
  };
  int32_t first_offset_ = 0;
  std::vector<Change> changes_;  // by time
};

// By its IANA name: Europe/Berlin. Null when the machine knows none of that name. Zones are read
// once and kept; any thread.
const TimeZone* find_time_zone(std::string_view name);

}  // namespace yard
