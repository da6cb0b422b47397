// Any bytes, cut anywhere, mean the same frames.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "net/spdy.h"

namespace {

std::string meaning(std::string_view bytes, size_t step) {
  yard::SpdyReader reader;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::string_view fresh = bytes.substr(at, step);
    while (auto event = reader.next(fresh)) {
      // Pieces of data are cut where the input is: only what they say together is compared.
      if (event->type != yard::SpdyEvent::Type::Data)
        out += std::to_string(static_cast<int>(event->type)) + ":" + std::to_string(event->stream);
      out += event->bytes;
      for (const auto& [name, value] : event->headers)
        out.append(name).append("=").append(value);
      if (event->is_last) out += "$";
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 65536) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (meaning(bytes, size ? size : 1) != meaning(bytes, 1 + size / 7)) std::abort();
  return 0;
}
