#include "node/network/pod_network.h"

#include <filesystem>
#include <unistd.h>

#include "json/json.h"
#include "node/files.h"

namespace yard {
namespace {
constexpr size_t kMostLaunchFile = 16 << 20, kMostResolvConf = 64 << 10;
}

std::string PodNetwork::address_for(const std::string& uid, std::string_view known) {
  if (const auto found = pods_.find(uid); found != pods_.end()) return ipv4_text(found->second);
  const auto before = parse_ipv4(known);
  const auto address = before && addresses_.take(*before) ? before : next_address();
  if (!address) return "";
  pods_[uid] = *address;
  if (allocated_) allocated_(uid);
  return ipv4_text(*address);
}

std::string PodNetwork::address_of(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? "" : ipv4_text(found->second);
}

void PodNetwork::release(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Ipv4 address = found->second;
  pods_.erase(found);
  addresses_.release(address);
  released(address);
}

void PodNetwork::withdraw(const std::string& uid) {
  release(uid);
  if (allocated_) allocated_(uid);
}

void PodNetwork::give_back(int net) {
  close(net);
}

SharedNetwork::SharedNetwork(std::string refusal)
    : PodNetwork({.api_host = "127.0.0.1", .refusal = std::move(refusal)}, kLoopbackRange) {}

void SharedNetwork::prepare_start(const std::string& uid, const std::string&,
                                  std::function<void(Result<PodNamespaces>)> done) {
  publish_names();
  if (starting_) starting_(uid);
  done(PodNamespaces{});
}

std::map<std::string, Ipv4> launched_addresses(const std::string& state_folder) {
  std::map<std::string, Ipv4> out;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(state_folder + "/run", code)) {
    const auto text = read_text(entry.path().string() + "/launch.json", kMostLaunchFile);
    const auto parsed = parse_json(text.value_or(""));
    if (!parsed) continue;
    if (const auto address = parse_ipv4(text_at(parsed->value, {"address"})))
      out[entry.path().filename().string()] = *address;
  }
  return out;
}

std::string host_resolv_conf() {
  return read_text("/etc/resolv.conf", kMostResolvConf).value_or("");
}

}  // namespace yard
