#include "node/network/service_turns.h"

#include <algorithm>
#include <arpa/inet.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kAffinity = "affinity=";
constexpr size_t kMostClients = 4096;

bool is_same(const sockaddr_in& left, const sockaddr_in& right) {
  return left.sin_addr.s_addr == right.sin_addr.s_addr && left.sin_port == right.sin_port;
}

}  // namespace

std::optional<sockaddr_in> socket_address(std::string_view address, std::string_view port) {
  const auto number = parse_uint64(port);
  const auto host = parse_ipv4(address);
  if (!host || !number || *number == 0 || *number > 65535) return std::nullopt;
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<uint16_t>(*number));
  out.sin_addr.s_addr = htonl(*host);
  return out;
}

bool ServiceTurns::set(std::string_view text) {
  targets_.clear();
  affinity_s_ = 0;
  for (const std::string_view target : split(text, ',')) {
    if (target.starts_with(kAffinity)) {
      const auto seconds = parse_uint64(target.substr(kAffinity.size()));
      affinity_s_ = static_cast<int64_t>(std::min<uint64_t>(seconds.value_or(0), 86400));
      continue;
    }
    const size_t colon = target.rfind(':');
    if (colon == std::string_view::npos) continue;
    if (const auto address = socket_address(target.substr(0, colon), target.substr(colon + 1)))
      targets_.push_back(*address);
  }
  if (affinity_s_ == 0) clients_.clear();
  return !targets_.empty();
}

const sockaddr_in& ServiceTurns::next(Ipv4 client, int64_t now_s) {
  const auto take_turn = [&]() -> const sockaddr_in& {
    return targets_[turn_++ % targets_.size()];
  };
  if (affinity_s_ == 0) return take_turn();
  const auto known = clients_.find(client);
  if (known != clients_.end() && known->second.until_s > now_s) {
    const auto found = std::ranges::find_if(
        targets_, [&](const sockaddr_in& each) { return is_same(each, known->second.target); });
    if (found != targets_.end()) {
      known->second.until_s = now_s + affinity_s_;
      return *found;
    }
  }
  const sockaddr_in& target = take_turn();
  if (known == clients_.end() && clients_.size() >= kMostClients) forget_clients(now_s);
  clients_[client] = {target, now_s + affinity_s_};
  return target;
}

// Those whose time is over; when there are none, the one that has been silent for longest.
void ServiceTurns::forget_clients(int64_t now_s) {
  std::erase_if(clients_, [&](const auto& entry) { return entry.second.until_s <= now_s; });
  if (clients_.size() < kMostClients) return;
  clients_.erase(std::ranges::min_element(clients_, {},
                                          [](const auto& entry) { return entry.second.until_s; }));
}

}  // namespace yard
