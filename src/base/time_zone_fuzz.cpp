// Whatever a zone file holds, reading it ends and answers.

#include "base/time_zone.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto zone = yard::TimeZone::parse({reinterpret_cast<const char*>(data), size});
  if (zone) {
    const yard::Time now = yard::from_unix_seconds(1'700'000'000);
    (void)zone->offset_at(now);
    (void)zone->next_change_after(now);
  }
  return 0;
}
