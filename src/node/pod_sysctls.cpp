#include "node/pod_sysctls.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"

namespace yard {
namespace {

// As a kubelet of 1.34 knows them.
constexpr std::string_view kSafe[] = {
    "kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem"};

// Both a.b/c and a/b.c are written; the first sign that parts says which is meant.
std::string with_dots(std::string_view name) {
  std::string out(name);
  const size_t first = out.find_first_of("./");
  if (first == std::string::npos || out[first] == '.') return out;
  for (char& c : out)
    c = c == '/' ? '.' : c == '.' ? '/' : c;
  return out;
}

}  // namespace

std::optional<std::string> sysctl_refusal(const Json& pod) {
  for (const Json& each : list_at(pod, {"spec", "securityContext", "sysctls"})) {
    const std::string name = with_dots(text_at(each, {"name"}));
    if (std::ranges::find(kSafe, name) == std::end(kSafe))
      return fmt::format("forbidden sysctl: \"{}\" not allowlisted", name);
    const bool of_network = name.starts_with("net.");
    if (bool_at(pod, {"spec", of_network ? "hostNetwork" : "hostIPC"}))
      return fmt::format("forbidden sysctl: \"{}\" not allowed with host {} enabled", name,
                         of_network ? "net" : "ipc");
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> pod_sysctls(const Json& pod) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Json& each : list_at(pod, {"spec", "securityContext", "sysctls"})) {
    std::string path = with_dots(text_at(each, {"name"}));
    std::ranges::replace(path, '.', '/');
    out.emplace_back(std::move(path), text_at(each, {"value"}));
  }
  return out;
}

}  // namespace yard
