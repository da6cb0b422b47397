// Any bytes as a write-ahead log: read within their bounds, and a place within them named.

#include "base/check.h"
#include "store/wal_damage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto damage =
      yard::find_wal_damage(std::string_view(reinterpret_cast<const char*>(data), size));
  yard::check(!damage || *damage < size, "the damage lies within the log");
  return 0;
}
