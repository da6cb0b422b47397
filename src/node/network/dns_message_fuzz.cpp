// Whatever arrives at the island's DNS is answered or dropped, never believed.

#include <cstddef>
#include <cstdint>

#include "node/network/dns_message.h"
#include "node/network/dns_zone.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const yard::DnsZone zone = [] {
    yard::DnsZone out;
    out.add("trainer.default.svc.cluster.local A 10.244.0.5");
    out.add("away.default.svc.cluster.local CNAME example.org");
    out.add(
        "_http._tcp.trainer.default.svc.cluster.local SRV 80 trainer.default.svc.cluster.local");
    return out;
  }();
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const yard::DnsParse parsed = yard::parse_dns_question(message);
  if (parsed.question) {
    const size_t most = yard::most_over_udp(*parsed.question);
    const std::string answer =
        yard::dns_answer_message(*parsed.question, zone.answer(*parsed.question, size), most);
    if (answer.size() > most + 512) __builtin_trap();
  }
  if (yard::parse_dns_addresses(message) && size < 12) __builtin_trap();
  return 0;
}
