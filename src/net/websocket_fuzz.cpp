// Any bytes, cut anywhere, mean the same frames.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "net/websocket.h"

namespace {

std::string meaning(std::string_view bytes, size_t step) {
  yard::WebSocketReader reader(yard::WebSocketReader::Side::Server);
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::string_view fresh = bytes.substr(at, step);
    while (auto event = reader.next(fresh)) {
      if (event->starts_message) out += event->is_text ? "T" : "B";
      if (event->type != yard::WebSocketEvent::Type::Data)
        out += std::to_string(static_cast<int>(event->type)) + ":";
      out += event->bytes;
      if (event->ends_message) out += "$";
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
