#include <set>

#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

constexpr size_t kMaxEndpoints = 1000;
constexpr size_t kMaxAddresses = 100;
constexpr size_t kMaxPorts = 20000;

void set_defaults(Json& object) {
  Json* ports = find(object, "ports");
  if (ports == nullptr || !ports->is_array()) return;
  for (Json& port : ports->get_array()) {
    if (!port.is_object()) continue;
    set_missing(port.get_object(), "name", "");
    set_missing(port.get_object(), "protocol", "TCP");
  }
}

void check_address(FieldErrors& errors, const FieldPath& path, std::string_view address,
                   std::string_view type) {
  if (type == "FQDN") {
    add_problems(errors, path, address, dns1123_subdomain_problems(address));
  } else if (type == "IPv4" && !is_ipv4(address)) {
    errors.push_back(invalid(path, Json(address), "must be a valid IPv4 address"));
  } else if (type == "IPv6" && (!is_ip(address) || is_ipv4(address))) {
    errors.push_back(invalid(path, Json(address), "must be a valid IPv6 address"));
  } else if (type == "IPv4" || type == "IPv6") {
    check_endpoint_ip(errors, path, address);
  }
}

void check_endpoint(FieldErrors& errors, const FieldPath& path, const Json& endpoint,
                    std::string_view type) {
  const JsonArray& addresses = list_at(endpoint, {"addresses"});
  if (addresses.empty()) {
    errors.push_back(required(path.child("addresses"), "must contain at least 1 address"));
  } else if (addresses.size() > kMaxAddresses) {
    errors.push_back(too_many(path.child("addresses"), addresses.size(), kMaxAddresses));
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    check_address(errors, path.child("addresses").index(i), text_of(addresses[i]), type);
  }
  std::string_view hostname = text_at(endpoint, {"hostname"});
  if (!hostname.empty()) {
    add_problems(errors, path.child("hostname"), hostname, dns1123_label_problems(hostname));
  }
}

void check_slice_ports(FieldErrors& errors, const JsonArray& ports) {
  if (ports.size() > kMaxPorts) {
    errors.push_back(too_many(FieldPath("ports"), ports.size(), kMaxPorts));
    return;
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    FieldPath path = FieldPath("ports").index(i);
    std::string_view name = text_at(ports[i], {"name"});
    if (!name.empty()) {
      add_problems(errors, path.child("name"), name, dns1123_label_problems(name));
    }
    if (!names.insert(name).second) errors.push_back(duplicate(path.child("name"), Json(name)));
    check_one_of(errors, path.child("protocol"), find(ports[i], "protocol"), {"SCTP", "TCP", "UDP"},
                 Presence::Required);
    if (find(ports[i], "port") != nullptr) {
      check_port(errors, path.child("port"), int_at(ports[i], {"port"}));
    }
  }
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  check_one_of(errors, FieldPath("addressType"), find(object, "addressType"),
               {"FQDN", "IPv4", "IPv6"}, Presence::Required);
  const JsonArray& endpoints = list_at(object, {"endpoints"});
  if (endpoints.size() > kMaxEndpoints) {
    errors.push_back(too_many(FieldPath("endpoints"), endpoints.size(), kMaxEndpoints));
    return errors;
  }
  std::string_view type = text_at(object, {"addressType"});
  for (size_t i = 0; i < endpoints.size(); ++i) {
    check_endpoint(errors, FieldPath("endpoints").index(i), endpoints[i], type);
  }
  check_slice_ports(errors, list_at(object, {"ports"}));
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("addressType"), find(object, "addressType"),
                  find(live, "addressType"));
  return errors;
}

}  // namespace

Kind endpoint_slice_kind() {
  Kind row = ordinary_kind({"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"});
  row.tracks_generation = true;
  row.columns = endpoint_slice_columns();
  row.cells = endpoint_slice_cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
