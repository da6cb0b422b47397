// Whatever is read as an image's name reads the same when it is written down.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "images/registry/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  auto read = yard::parse_reference({reinterpret_cast<const char*>(bytes), size});
  if (!read) return 0;
  auto again = yard::parse_reference(read->text());
  yard::check(again.has_value() && *again == *read, "a reference survives being written down");
  return 0;
}
