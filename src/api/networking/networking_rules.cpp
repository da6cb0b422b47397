#include "api/networking/networking_rules.h"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostControllerBytes = 250;

// A range of addresses, 10.0.0.0/8.
struct Range {
  std::array<uint8_t, 16> address{};
  int family = 0;
  int bits = 0;
};

std::optional<Range> parse_range(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  const std::string address(text.substr(0, slash));
  const auto bits = parse_int64(text.substr(slash + 1));
  Range out;
  out.family = address.find(':') != std::string::npos ? AF_INET6 : AF_INET;
  if (inet_pton(out.family, address.c_str(), out.address.data()) != 1) return std::nullopt;
  if (!bits || *bits < 0 || *bits > (out.family == AF_INET ? 32 : 128)) return std::nullopt;
  out.bits = static_cast<int>(*bits);
  return out;
}

bool is_strictly_within(const Range& inner, const Range& outer) {
  if (inner.family != outer.family || inner.bits <= outer.bits) return false;
  for (int bit = 0; bit < outer.bits; ++bit) {
    const auto at = static_cast<size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if ((inner.address[at] & mask) != (outer.address[at] & mask)) return false;
  }
  return true;
}

void check_ip_block(FieldErrors& errors, const Json& block, const FieldPath& path) {
  constexpr std::string_view kNoRange =
      "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  const std::string_view text = text_at(block, {"cidr"});
  if (text.empty()) {
    errors.push_back(required(path.child("cidr")));
    return;
  }
  const std::optional<Range> whole = parse_range(text);
  if (!whole) {
    errors.push_back(invalid(path.child("cidr"), Json(text), kNoRange));
    return;
  }
  const JsonArray& except = list_at(block, {"except"});
  for (size_t i = 0; i < except.size(); ++i) {
    const std::optional<Range> part = parse_range(text_of(except[i]));
    const FieldPath at = path.child("except").index(i);
    if (!part) {
      errors.push_back(invalid(at, except[i], kNoRange));
    } else if (!is_strictly_within(*part, *whole)) {
      errors.push_back(invalid(at, except[i], "must be a strict subset of `cidr`"));
    }
  }
}

void check_peer(FieldErrors& errors, const Json& peer, const FieldPath& path) {
  int sorts = 0;
  for (const char* member : {"podSelector", "namespaceSelector"}) {
    const Json* selector = find(peer, member);
    if (selector == nullptr) continue;
    ++sorts;
    append_errors(errors, validate_label_selector(selector, path.child(member)));
  }
  const Json* block = find(peer, "ipBlock");
  if (block != nullptr) check_ip_block(errors, *block, path.child("ipBlock"));
  if (block == nullptr && sorts == 0) errors.push_back(required(path, "must specify a peer"));
  if (block != nullptr && sorts > 0)
    errors.push_back(forbidden(path, "may not specify both ipBlock and another peer"));
}

void check_policy_port(FieldErrors& errors, const Json& entry, const FieldPath& path) {
  check_supported(errors, entry, "protocol", path, {"TCP", "UDP", "SCTP"});
  const Json *port = find(entry, "port"), *end = find(entry, "endPort");
  const FieldPath at = path.child("port"), end_at = path.child("endPort");
  if (port == nullptr) {
    if (end != nullptr)
      errors.push_back(invalid(end_at, *end, "may not be specified when `port` is not specified"));
    return;
  }
  if (port->is_string()) {
    add_problems(errors, at, text_of(*port), port_name_problems(text_of(*port)));
    if (end != nullptr)
      errors.push_back(invalid(end_at, *end, "may not be specified when `port` is non-numeric"));
    return;
  }
  check_port(errors, at, int_of(*port));
  if (end == nullptr) return;
  if (int_of(*end) < int_of(*port))  // upstream shows the port
    errors.push_back(invalid(end_at, *port, "must be greater than or equal to `port`"));
  check_port(errors, end_at, int_of(*end));
}

void check_policy_rules(FieldErrors& errors, const Json& object, const char* direction,
                        const char* peers_member) {
  const JsonArray& rules = list_at(object, {"spec", direction});
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath path = FieldPath("spec").child(direction).index(i);
    const JsonArray& ports = list_at(rules[i], {"ports"});
    for (size_t j = 0; j < ports.size(); ++j)
      check_policy_port(errors, ports[j], path.child("ports").index(j));
    const JsonArray& peers = list_at(rules[i], {peers_member});
    for (size_t j = 0; j < peers.size(); ++j)
      check_peer(errors, peers[j], path.child(peers_member).index(j));
  }
}

// A reference to an object of the same namespace, or of none.
void check_reference(FieldErrors& errors, const Json& reference, const FieldPath& path) {
  const std::string_view group = text_at(reference, {"apiGroup"});
  if (!group.empty())
    add_problems(errors, path.child("apiGroup"), group, dns1123_subdomain_problems(group));
  for (const char* member : {"kind", "name"}) {
    const std::string_view text = text_at(reference, {member});
    if (text.empty()) {
      errors.push_back(required(path.child(member)));
    } else {
      add_problems(errors, path.child(member), text, path_segment_problems(text));
    }
  }
}

void check_service_backend(FieldErrors& errors, const Json& service, const FieldPath& path) {
  const FieldPath at = path.child("service");
  const std::string_view name = text_at(service, {"name"});
  if (name.empty()) {
    errors.push_back(required(at.child("name")));
  } else {
    add_problems(errors, at.child("name"), name, dns1035_label_problems(name));
  }
  const std::string_view port = text_at(service, {"port", "name"});
  const int64_t number = int_at(service, {"port", "number"});
  if (!port.empty() && number != 0) {
    errors.push_back(invalid(path, Json(""), "cannot set both port name & port number"));
  } else if (!port.empty()) {
    add_problems(errors, at.child("port").child("name"), port, port_name_problems(port));
  } else if (number != 0) {
    check_port(errors, at.child("port").child("number"), number);
  } else {
    errors.push_back(required(path, "port name or number is required"));
  }
}

void check_backend(FieldErrors& errors, const Json* backend, const FieldPath& path) {
  const Json* service = backend != nullptr ? find(*backend, "service") : nullptr;
  const Json* resource = backend != nullptr ? find(*backend, "resource") : nullptr;
  if (service != nullptr && resource != nullptr) {
    errors.push_back(invalid(path, Json(""), "cannot set both resource and service backends"));
  } else if (resource != nullptr) {
    check_reference(errors, *resource, path.child("resource"));
  } else if (service != nullptr) {
    check_service_backend(errors, *service, path);
  } else {
    errors.push_back(invalid(path, Json(""), "resource or service backend is required"));
  }
}

void check_exact_path(FieldErrors& errors, std::string_view path, const FieldPath& at) {
  if (!path.starts_with('/')) errors.push_back(invalid(at, Json(path), "must be an absolute path"));
  for (const std::string_view part : {"//", "/./", "/../", "%2f", "%2F"}) {
    if (path.find(part) != std::string_view::npos)
      errors.push_back(invalid(at, Json(path), fmt::format("must not contain '{}'", part)));
  }
  for (const std::string_view end : {"/..", "/."}) {
    if (path.ends_with(end))
      errors.push_back(invalid(at, Json(path), fmt::format("cannot end with '{}'", end)));
  }
}

void check_ingress_path(FieldErrors& errors, const Json& entry, const FieldPath& path) {
  const std::string_view type = text_at(entry, {"pathType"}), text = text_at(entry, {"path"});
  if (type.empty()) {
    errors.push_back(required(path.child("pathType"), "pathType must be specified"));
    return;
  }
  if (type == "Exact" || type == "Prefix") {
    check_exact_path(errors, text, path.child("path"));
  } else if (type != "ImplementationSpecific") {
    errors.push_back(not_supported(path.child("pathType"), Json(type),
                                   {"Exact", "ImplementationSpecific", "Prefix"}));
  } else if (!text.empty() && !text.starts_with('/')) {
    errors.push_back(invalid(path.child("path"), Json(text), "must be an absolute path"));
  }
  check_backend(errors, find(entry, "backend"), path.child("backend"));
}

std::vector<std::string> host_problems(std::string_view host) {
  if (host.find('*') == std::string_view::npos) return dns1123_subdomain_problems(host);
  if (host.starts_with("*.") && dns1123_subdomain_problems(host.substr(2)).empty()) return {};
  return {
      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
      "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
      "alphanumeric character (e.g. '*.example.com', regex used for validation is "
      "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"};
}

void check_ingress_rule(FieldErrors& errors, const Json& rule, const FieldPath& path) {
  const std::string_view host = text_at(rule, {"host"});
  if (is_ip(host)) {
    errors.push_back(
        invalid(path.child("host"), Json(host), "must be a DNS name, not an IP address"));
  } else if (!host.empty()) {
    add_problems(errors, path.child("host"), host, host_problems(host));
  }
  if (find(rule, "http") == nullptr) return;
  const FieldPath at = path.child("http").child("paths");
  const JsonArray& paths = list_at(rule, {"http", "paths"});
  if (paths.empty()) errors.push_back(required(at));
  for (size_t i = 0; i < paths.size(); ++i)
    check_ingress_path(errors, paths[i], at.index(i));
}

void check_ingress_tls(FieldErrors& errors, const Json& tls, const FieldPath& path) {
  const JsonArray& hosts = list_at(tls, {"hosts"});
  for (size_t i = 0; i < hosts.size(); ++i)
    add_problems(errors, path.child("hosts").index(i), text_of(hosts[i]),
                 host_problems(text_of(hosts[i])));
  const std::string_view secret = text_at(tls, {"secretName"});
  if (!secret.empty())
    add_problems(errors, path.child("secretName"), secret, dns1123_subdomain_problems(secret));
}

// example.test/path
bool is_path_of_domain(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && slash + 1 < text.size() &&
         dns1123_subdomain_problems(text.substr(0, slash)).empty();
}

void check_class_parameters(FieldErrors& errors, const Json& parameters, const FieldPath& path) {
  check_reference(errors, parameters, path);
  const Json* ns = find(parameters, "namespace");
  const std::string_view scope = text_at(parameters, {"scope"});
  check_one_of(errors, path.child("scope"), find(parameters, "scope"), {"Cluster", "Namespace"},
               Presence::Required);
  if (scope == "Cluster" && ns != nullptr)
    errors.push_back(forbidden(path.child("namespace"), "`parameters.scope` is set to 'Cluster'"));
  if (scope == "Namespace" && ns == nullptr)
    errors.push_back(required(path.child("namespace"), "`parameters.scope` is set to 'Namespace'"));
  if (scope == "Namespace" && ns != nullptr)
    add_problems(errors, path.child("namespace"), text_of(*ns),
                 dns1123_label_problems(text_of(*ns)));
}

}  // namespace

FieldErrors validate_network_policy(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  append_errors(errors, validate_label_selector(find_path(object, {"spec", "podSelector"}),
                                                path.child("podSelector")));
  check_policy_rules(errors, object, "ingress", "from");
  check_policy_rules(errors, object, "egress", "to");
  const JsonArray& types = list_at(object, {"spec", "policyTypes"});
  if (types.size() > 2) {
    errors.push_back(invalid(path.child("policyTypes"), Json(types),
                             "may not specify more than two policyTypes"));
    return errors;
  }
  for (size_t i = 0; i < types.size(); ++i)
    check_one_of(errors, path.child("policyTypes").index(i), &types[i], {"Ingress", "Egress"},
                 Presence::Required);
  return errors;
}

FieldErrors validate_ingress(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const JsonArray& rules = list_at(object, {"spec", "rules"});
  const Json* fallback = find_path(object, {"spec", "defaultBackend"});
  if (rules.empty() && fallback == nullptr) {
    const Json* given = find_path(object, {"spec", "rules"});
    errors.push_back(invalid(path, given != nullptr ? *given : Json(),
                             "either `defaultBackend` or `rules` must be specified"));
  }
  if (fallback != nullptr) check_backend(errors, fallback, path.child("defaultBackend"));
  for (size_t i = 0; i < rules.size(); ++i)
    check_ingress_rule(errors, rules[i], path.child("rules").index(i));
  const JsonArray& tls = list_at(object, {"spec", "tls"});
  for (size_t i = 0; i < tls.size(); ++i)
    check_ingress_tls(errors, tls[i], path.child("tls").index(i));
  const Json* class_name = find_path(object, {"spec", "ingressClassName"});
  if (class_name != nullptr)
    add_problems(errors, path.child("ingressClassName"), text_of(*class_name),
                 dns1123_subdomain_problems(text_of(*class_name)));
  return errors;
}

FieldErrors validate_ingress_class(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const std::string_view controller = text_at(object, {"spec", "controller"});
  const FieldPath at = path.child("controller");
  if (controller.size() > kMostControllerBytes)
    errors.push_back(too_long(at, kMostControllerBytes));
  if (controller.empty()) {
    errors.push_back(required(at));
  } else if (!is_path_of_domain(controller)) {
    errors.push_back(
        invalid(at, Json(controller), "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  }
  if (const Json* parameters = find_path(object, {"spec", "parameters"}))
    check_class_parameters(errors, *parameters, path.child("parameters"));
  return errors;
}

FieldErrors validate_ingress_class_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("spec.controller"), find_path(object, {"spec", "controller"}),
                  find_path(live, {"spec", "controller"}));
  return errors;
}

}  // namespace yard
