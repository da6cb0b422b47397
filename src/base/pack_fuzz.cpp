// Any text comes back as it was, with any sample; any bytes are unpacked or refused.

#include <cstdint>

#include "base/check.h"
#include "base/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = size == 0 ? 0 : data[0] * size / 256;
  const std::string_view sample = input.substr(0, cut), text = input.substr(cut);
  yard::Packer packer(sample);
  std::string back(text.size(), '\0');
  yard::check(yard::unpack(packer.pack(text), sample, back.data(), back.size()), "it unpacks");
  yard::check(back == text, "it is what it was");
  std::string room(2 * size, '\0');
  [[maybe_unused]] const bool taken = yard::unpack(text, sample, room.data(), room.size());
  return 0;
}
