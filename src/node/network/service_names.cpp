#include "node/network/service_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/network/dns_zone.h"
#include "node/network/ipv4.h"

namespace yard {
namespace {

bool has_readiness(const Json& pod) {
  if (!list_at(pod, {"spec", "readinessGates"}).empty()) return true;
  return std::ranges::any_of(list_at(pod, {"spec", "containers"}), [](const Json& container) {
    return find(container, "readinessProbe") != nullptr;
  });
}

bool has_begun(const Json& pod) {
  return text_at(pod, {"status", "phase"}) == "Running";
}

void add_ports(std::vector<std::pair<std::string, int>>& out, const Json& pod, const char* list) {
  for (const Json& container : list_at(pod, {"spec", list})) {
    for (const Json& port : list_at(container, {"ports"})) {
      if (const std::string_view name = text_at(port, {"name"}); !name.empty())
        out.emplace_back(name, static_cast<int>(int_at(port, {"containerPort"})));
    }
  }
}

std::string dashed(std::string address) {
  std::ranges::replace(address, '.', '-');
  return address;
}

// Where a port of the service leads at this endpoint; 0: it has no port of that name.
int target_port(const Json& port, const ServiceEndpoint& endpoint) {
  const auto named = [&](std::string_view name) {
    const auto found = std::ranges::find(endpoint.ports, name, &std::pair<std::string, int>::first);
    return found == endpoint.ports.end() ? 0 : found->second;
  };
  if (endpoint.by_hand) return named(text_at(port, {"name"}));
  const Json* target = find(port, "targetPort");
  if (target == nullptr || target->is_null()) return static_cast<int>(int_at(port, {"port"}));
  if (!target->is_string()) {
    const int64_t number = int_at(port, {"targetPort"});
    return static_cast<int>(number != 0 ? number : int_at(port, {"port"}));
  }
  const std::string_view name = target->get_string();
  if (const auto number = parse_int64(name)) return static_cast<int>(*number);
  return named(name);
}

// The name of a port for SRV questions; "" where the port has none.
std::string port_name(const Json& port, const std::string& domain) {
  const std::string_view name = text_at(port, {"name"});
  if (name.empty()) return "";
  return fmt::format("_{}._{}.{}", name, lower(text_at(port, {"protocol"}, "TCP")), domain);
}

void add_headless(ServiceNames& out, const Json& service, const std::string& domain,
                  const std::vector<ServiceEndpoint>& endpoints) {
  const bool all = bool_at(service, {"spec", "publishNotReadyAddresses"});
  for (const ServiceEndpoint& endpoint : endpoints) {
    if (!endpoint.named && !endpoint.ready && !all) continue;
    const std::string own =
        (endpoint.hostname.empty() ? dashed(endpoint.address) : endpoint.hostname) + "." + domain;
    out.records.insert(fmt::format("{} A {}", domain, endpoint.address));
    out.records.insert(fmt::format("{} A {}", own, endpoint.address));
    if (!endpoint.hostname.empty())
      out.records.insert(fmt::format("{} PTR {}", endpoint.address, own));
    for (const Json& port : list_at(service, {"spec", "ports"})) {
      const std::string name = port_name(port, domain);
      const int number = target_port(port, endpoint);
      if (!name.empty() && number > 0)
        out.records.insert(fmt::format("{} SRV {} {}", name, number, own));
    }
  }
}

// How long a client stays with the pod it had; "": everybody takes turns.
std::string affinity_of(const Json& service) {
  constexpr int64_t kThreeHours = 10800;
  if (text_at(service, {"spec", "sessionAffinity"}) != "ClientIP") return "";
  return fmt::format(
      ",affinity={}",
      int_at(service, {"spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"},
             kThreeHours));
}

void add_cluster_ip(ServiceNames& out, const Json& service, const std::string& domain,
                    std::string_view address, const std::vector<ServiceEndpoint>& endpoints) {
  out.records.insert(fmt::format("{} A {}", domain, address));
  out.records.insert(fmt::format("{} PTR {}", address, domain));
  const bool all = bool_at(service, {"spec", "publishNotReadyAddresses"});
  for (const Json& port : list_at(service, {"spec", "ports"})) {
    const std::string_view protocol = text_at(port, {"protocol"}, "TCP");
    const int64_t number = int_at(port, {"port"});
    if (const std::string name = port_name(port, domain); !name.empty())
      out.records.insert(fmt::format("{} SRV {} {}", name, number, domain));
    std::vector<std::string> targets;
    for (const ServiceEndpoint& endpoint : endpoints) {
      const int target = target_port(port, endpoint);
      if ((endpoint.ready || all) && target > 0)
        targets.push_back(fmt::format("{}:{}", endpoint.address, target));
    }
    std::ranges::sort(targets);
    if (targets.empty()) continue;
    const std::string leads_to = join(targets, ",") + affinity_of(service);
    out.forwards.insert(fmt::format("{} {} {} {}", address, number, protocol, leads_to));
    if (const int64_t node_port = int_at(port, {"nodePort"}); node_port > 0) {
      for (const std::string& node : {std::string("host"), ipv4_text(kGateway)})
        out.forwards.insert(fmt::format("{} {} {} {}", node, node_port, protocol, leads_to));
    }
  }
}

}  // namespace

std::optional<ServiceEndpoint> pod_endpoint(const Json& pod, std::string_view address,
                                            const Json& service) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  if (address.empty() || phase == "Succeeded" || phase == "Failed") return std::nullopt;
  ServiceEndpoint out;
  out.address = address;
  const std::string_view hostname = text_at(pod, {"spec", "hostname"});
  if (!hostname.empty() && text_at(pod, {"spec", "subdomain"}) == name_of(service))
    out.hostname = hostname;
  const bool deleting = is_being_deleted(pod);
  out.ready = !deleting && condition_status(pod, "Ready") == "True";
  out.named = out.ready || (!deleting && !has_readiness(pod) && !has_begun(pod)) ||
              (!deleting && !out.hostname.empty());
  add_ports(out.ports, pod, "containers");
  add_ports(out.ports, pod, "initContainers");
  return out;
}

std::vector<ServiceEndpoint> slice_endpoints(const Json& slice) {
  std::vector<ServiceEndpoint> out;
  for (const Json& entry : list_at(slice, {"endpoints"})) {
    for (const Json& address : list_at(entry, {"addresses"})) {
      if (!parse_ipv4(text_of(address))) continue;
      ServiceEndpoint endpoint;
      endpoint.address = text_of(address);
      endpoint.hostname = text_at(entry, {"hostname"});
      endpoint.by_hand = true;
      endpoint.ready = endpoint.named = bool_at(entry, {"conditions", "ready"}, true);
      for (const Json& port : list_at(slice, {"ports"}))
        endpoint.ports.emplace_back(text_at(port, {"name"}),
                                    static_cast<int>(int_at(port, {"port"})));
      out.push_back(std::move(endpoint));
    }
  }
  return out;
}

std::vector<ServiceEndpoint> endpoints_endpoints(const Json& endpoints) {
  std::vector<ServiceEndpoint> out;
  for (const Json& subset : list_at(endpoints, {"subsets"})) {
    for (const Json& entry : list_at(subset, {"addresses"})) {
      if (!parse_ipv4(text_at(entry, {"ip"}))) continue;
      ServiceEndpoint endpoint;
      endpoint.address = text_at(entry, {"ip"});
      endpoint.hostname = text_at(entry, {"hostname"});
      endpoint.by_hand = true;
      endpoint.ready = endpoint.named = true;
      for (const Json& port : list_at(subset, {"ports"}))
        endpoint.ports.emplace_back(text_at(port, {"name"}),
                                    static_cast<int>(int_at(port, {"port"})));
      out.push_back(std::move(endpoint));
    }
  }
  return out;
}

ServiceNames service_names(const Json& service, const std::vector<ServiceEndpoint>& endpoints) {
  ServiceNames out;
  const std::string domain =
      fmt::format("{}.{}.svc.{}", name_of(service), text_at(service, {"metadata", "namespace"}),
                  kClusterDomain);
  if (text_at(service, {"spec", "type"}) == "ExternalName") {
    std::string_view target = text_at(service, {"spec", "externalName"});
    while (target.ends_with('.'))
      target.remove_suffix(1);
    if (!target.empty()) out.records.insert(fmt::format("{} CNAME {}", domain, target));
    return out;
  }
  const std::string_view address = text_at(service, {"spec", "clusterIP"});
  if (address == "None") {
    add_headless(out, service, domain, endpoints);
  } else if (parse_ipv4(address)) {
    add_cluster_ip(out, service, domain, address, endpoints);
  }
  return out;
}

}  // namespace yard
