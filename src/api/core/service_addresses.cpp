#include "api/core/service_addresses.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/field_errors.h"
#include "api/validation.h"

namespace yard {

namespace {

constexpr std::string_view kServiceRange = "10.96.0.0/16", kServicePrefix = "10.96.";

std::string_view type_of(const Json& service) {
  return text_at(service, {"spec", "type"}, "ClusterIP");
}

bool needs_cluster_ip(const Json& service) {
  return type_of(service) != "ExternalName";
}

// Chance, not a search: the server sees all services, and asks again when the address is taken
// (apiserver/commit_checks.h).
std::string some_cluster_ip(Random& random) {
  // The first 256 are for fixed addresses: the API server has 10.96.0.1, names 10.96.0.10.
  const uint64_t host = 256 + random.below(65536 - 257);
  return fmt::format("10.96.{}.{}", host / 256, host % 256);
}

void fill_cluster_ip(Json& service, Random& random) {
  JsonObject& spec = section(service, "spec");
  if (text_at(service, {"spec", "clusterIP"}).empty()) {
    const JsonArray& given = list_at(service, {"spec", "clusterIPs"});
    spec["clusterIP"] = given.empty() ? Json(some_cluster_ip(random)) : given[0];
  }
  if (list_at(service, {"spec", "clusterIPs"}).empty()) {
    Json address = spec["clusterIP"];
    spec["clusterIPs"] = JsonArray{std::move(address)};
  }
  if (list_at(service, {"spec", "ipFamilies"}).empty()) {
    bool is_ipv6 = text_at(service, {"spec", "clusterIP"}).find(':') != std::string_view::npos;
    spec["ipFamilies"] = JsonArray{is_ipv6 ? "IPv6" : "IPv4"};
  }
  set_missing(spec, "ipFamilyPolicy", "SingleStack");
}

// An address that was asked for must be one of ours.
Result<void> check_range(const Json& service) {
  const std::string_view address = text_at(service, {"spec", "clusterIP"});
  if (!is_ipv4(address) || address.starts_with(kServicePrefix)) return {};
  return invalid_object(
      "", "Service", name_of(service),
      {invalid(FieldPath("spec.clusterIPs"), *find_path(service, {"spec", "clusterIPs"}),
               fmt::format("failed to allocate IP {}: the provided IP ({}) is not in the valid "
                           "range. The range of valid IPs is {}",
                           address, address, kServiceRange))});
}

JsonArray* ports_of(Json& service) {
  Json* ports = find_path(service, {"spec", "ports"});
  return ports != nullptr && ports->is_array() ? &ports->get_array() : nullptr;
}

bool uses_node_port(const JsonArray& ports, int64_t number) {
  return std::ranges::any_of(
      ports, [&](const Json& port) { return int_at(port, {"nodePort"}) == number; });
}

bool wants_node_ports(const Json& service) {
  return has_node_ports(type_of(service)) &&
         bool_at(service, {"spec", "allocateLoadBalancerNodePorts"}, true);
}

void fill_node_ports(Json& service, Random& random) {
  JsonArray* ports = ports_of(service);
  if (ports == nullptr || !wants_node_ports(service)) return;
  constexpr int64_t kRange = kLastNodePort - kFirstNodePort + 1;
  if (static_cast<int64_t>(ports->size()) > kRange) return;  // there are not that many to give
  for (Json& port : *ports) {
    if (!port.is_object() || int_at(port, {"nodePort"}) != 0) continue;
    int64_t number = kFirstNodePort + static_cast<int64_t>(random.below(kRange));
    while (uses_node_port(*ports, number)) {
      number = number == kLastNodePort ? kFirstNodePort : number + 1;
    }
    port.get_object()["nodePort"] = number;
  }
}

const Json* same_port(const Json& live, const Json& port) {
  for (const Json& candidate : list_at(live, {"spec", "ports"})) {
    if (int_at(candidate, {"port"}) == int_at(port, {"port"}) &&
        text_at(candidate, {"protocol"}) == text_at(port, {"protocol"})) {
      return &candidate;
    }
  }
  return nullptr;
}

void keep_node_ports(Json& service, const Json& live) {
  JsonArray* ports = ports_of(service);
  if (ports == nullptr) return;
  bool wanted = has_node_ports(type_of(service));
  for (Json& port : *ports) {
    const Json* before = port.is_object() ? same_port(live, port) : nullptr;
    int64_t live_number = before == nullptr ? 0 : int_at(*before, {"nodePort"});
    if (live_number == 0) continue;
    int64_t number = int_at(port, {"nodePort"});
    if (wanted && number == 0 && !uses_node_port(*ports, live_number)) {
      port.get_object()["nodePort"] = live_number;
    } else if (!wanted && number == live_number) {
      port.get_object().erase("nodePort");
    }
  }
}

}  // namespace

bool has_node_ports(std::string_view service_type) {
  return service_type == "NodePort" || service_type == "LoadBalancer";
}

bool is_headless(const Json& service) {
  return text_at(service, {"spec", "clusterIP"}) == "None";
}

Result<void> allocate_service_addresses(Json& service, const Admission& admission) {
  service.get_object()["status"] = JsonObject{{"loadBalancer", JsonObject()}};
  if (needs_cluster_ip(service)) {
    fill_cluster_ip(service, admission.random);
    TRY(check_range(service));
  }
  fill_node_ports(service, admission.random);
  return {};
}

Result<void> keep_service_addresses(Json& service, const Json& live, const Admission& admission) {
  JsonObject& spec = section(service, "spec");
  constexpr std::string_view kAllocated[] = {"clusterIP", "clusterIPs", "ipFamilies",
                                             "ipFamilyPolicy"};
  for (std::string_view member : kAllocated) {
    const Json* before = find_path(live, {"spec", member});
    if (needs_cluster_ip(service)) {
      if (before != nullptr && same(spec.if_contains(member), nullptr)) spec[member] = *before;
    } else if (same(spec.if_contains(member), before)) {
      spec.erase(member);
    }
  }
  if (needs_cluster_ip(service)) {
    fill_cluster_ip(service, admission.random);
    if (text_at(service, {"spec", "clusterIP"}) != text_at(live, {"spec", "clusterIP"}))
      TRY(check_range(service));
  }
  keep_node_ports(service, live);
  fill_node_ports(service, admission.random);
  return {};
}

}  // namespace yard
