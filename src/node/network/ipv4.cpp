#include "node/network/ipv4.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

std::optional<Ipv4> parse_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  Ipv4 out = 0;
  for (const std::string_view part : parts) {
    const auto number = part.size() <= 3 ? parse_uint64(part) : std::nullopt;
    if (!number || *number > 255) return std::nullopt;
    out = out << 8 | static_cast<Ipv4>(*number);
  }
  return out;
}

std::string ipv4_text(Ipv4 address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255);
}

std::optional<Ipv4> AddressPool::take() {
  const Ipv4 count = range_.last() - range_.first - kReserved;
  for (Ipv4 tries = 0; tries < count; ++tries) {
    const Ipv4 address = next_++;
    if (!is_ours(next_)) next_ = range_.first + kReserved;
    if (taken_.insert(address).second) return address;
  }
  return std::nullopt;
}

bool AddressPool::take(Ipv4 address) {
  return is_ours(address) && taken_.insert(address).second;
}

}  // namespace yard
