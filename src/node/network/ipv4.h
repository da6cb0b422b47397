#pragma once
// IPv4 addresses as numbers, and ranges of them that are handed out. Pure.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace yard {

using Ipv4 = uint32_t;  // in the host's byte order: 10.244.0.1 is 0x0af40001

std::optional<Ipv4> parse_ipv4(std::string_view text);  // four decimal parts, nothing else
std::string ipv4_text(Ipv4 address);

struct Ipv4Range {
  Ipv4 first = 0;
  int prefix = 32;
  constexpr Ipv4 last() const {
    return first + static_cast<Ipv4>((uint64_t{1} << (32 - prefix)) - 1);
  }
  constexpr bool contains(Ipv4 address) const { return address >= first && address <= last(); }
};

// The addresses of a range, the longest unused first: a name that a client still remembers leads
// nowhere rather than to a stranger.
class AddressPool {
 public:
  // Without the range's first, its gateway and its last.
  explicit AddressPool(Ipv4Range range) : range_(range), next_(range.first + kReserved) {}

  std::optional<Ipv4> take();
  bool take(Ipv4 address);  // one that is known from before; false: in use, or none of ours
  void release(Ipv4 address) { taken_.erase(address); }

 private:
  static constexpr Ipv4 kReserved = 2;
  bool is_ours(Ipv4 address) const {
    return address >= range_.first + kReserved && address < range_.last();
  }
  Ipv4Range range_;
  Ipv4 next_;
  std::set<Ipv4> taken_;
};

// The island. These addresses exist only in namespaces of ours.
inline constexpr Ipv4Range kPodRange{0x0af40000, 16};      // 10.244.0.0/16
inline constexpr Ipv4 kGateway = 0x0af40001;               // 10.244.0.1, the bridge
inline constexpr Ipv4Range kServiceRange{0x0a600000, 12};  // 10.96.0.0/12
inline constexpr Ipv4 kApiAddress = 0x0a600001;            // 10.96.0.1, Service kubernetes
inline constexpr int kApiPort = 443;
inline constexpr Ipv4 kDnsAddress = 0x0a60000a;  // 10.96.0.10
// Of pods that share the host's network.
inline constexpr Ipv4Range kLoopbackRange{0x7f400000, 10};  // 127.64.0.0/10

}  // namespace yard
