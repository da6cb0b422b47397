#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"
#include "base/strings.h"

namespace yard {

namespace {

std::string host_port(std::string_view ip, int64_t port) {
  bool is_ipv6 = ip.find(':') != ip.npos;
  return is_ipv6 ? fmt::format("[{}]:{}", ip, port) : fmt::format("{}:{}", ip, port);
}

std::string_view cluster_ip(const Json& service) {
  const JsonArray& all = list_at(service, {"spec", "clusterIPs"});
  return all.empty() ? text_at(service, {"spec", "clusterIP"}) : text_of(all[0]);
}

std::vector<std::string> load_balancer_addresses(const Json& service) {
  std::vector<std::string> addresses;
  for (const Json& ingress : list_at(service, {"status", "loadBalancer", "ingress"})) {
    std::string_view ip = text_at(ingress, {"ip"});
    addresses.emplace_back(ip.empty() ? text_at(ingress, {"hostname"}) : ip);
  }
  return addresses;
}

std::string external_ip_text(const Json& service) {
  std::string_view type = text_at(service, {"spec", "type"});
  if (type == "ExternalName") return std::string(text_at(service, {"spec", "externalName"}));
  bool balanced = type == "LoadBalancer";
  std::vector<std::string> addresses;
  if (balanced) addresses = load_balancer_addresses(service);
  for (const Json& ip : list_at(service, {"spec", "externalIPs"})) {
    addresses.emplace_back(text_of(ip));
  }
  if (addresses.empty()) return balanced ? "<pending>" : "<none>";
  return join(addresses, ",");
}

std::string service_ports_text(const Json& service) {
  std::vector<std::string> ports;
  for (const Json& port : list_at(service, {"spec", "ports"})) {
    int64_t number = int_at(port, {"port"});
    int64_t node_port = int_at(port, {"nodePort"});
    std::string_view protocol = text_at(port, {"protocol"});
    ports.push_back(node_port > 0 ? fmt::format("{}:{}/{}", number, node_port, protocol)
                                  : fmt::format("{}/{}", number, protocol));
  }
  return or_none(join(ports, ","));
}

std::vector<std::string> endpoint_addresses(const Json& endpoints) {
  std::vector<std::string> addresses;
  for (const Json& subset : list_at(endpoints, {"subsets"})) {
    const JsonArray& ready = list_at(subset, {"addresses"});
    const JsonArray& ports = list_at(subset, {"ports"});
    if (ports.empty()) {  // a headless service may have none
      for (const Json& address : ready)
        addresses.emplace_back(text_at(address, {"ip"}));
    }
    for (const Json& port : ports) {
      for (const Json& address : ready) {
        addresses.push_back(host_port(text_at(address, {"ip"}), int_at(port, {"port"})));
      }
    }
  }
  return addresses;
}

std::string slice_port_text(const Json& port) {
  if (find(port, "port") != nullptr) return std::to_string(int_at(port, {"port"}));
  return std::string(text_at(port, {"name"}, "*"));
}

}  // namespace

std::vector<Column> service_columns() {
  return {
      name_column(),
      column("Type", "How the service is exposed."),
      column("Cluster-IP", "Its address inside the cluster; None for a headless one."),
      column("External-IP", "Its addresses outside the cluster."),
      column("Port(s)", "Its ports and protocols."),
      age_column(),
      wide_column("Selector", "Which pods it leads to."),
  };
}

std::string service_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "type"}));
  row.text(or_none(cluster_ip(object)));
  row.text(external_ip_text(object));
  row.text(service_ports_text(object));
  row.age(created_at(object));
  row.text(labels_text(map_at(object, {"spec", "selector"})));
  return row.finish();
}

std::vector<Column> endpoints_columns() {
  return {name_column(), column("Endpoints", "Addresses and ports behind the service."),
          age_column()};
}

std::string endpoints_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(first_three_text(endpoint_addresses(object), "<none>"));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> endpoint_slice_columns() {
  return {
      name_column(),
      column("AddressType", "What sort of address the endpoints have."),
      column("Ports", "Ports every endpoint listens on."),
      column("Endpoints", "Addresses of the endpoints."),
      age_column(),
  };
}

std::string endpoint_slice_cells(const Json& object) {
  std::vector<std::string> ports;
  for (const Json& port : list_at(object, {"ports"}))
    ports.push_back(slice_port_text(port));
  std::vector<std::string> addresses;
  for (const Json& endpoint : list_at(object, {"endpoints"})) {
    for (const Json& address : list_at(endpoint, {"addresses"})) {
      addresses.emplace_back(text_of(address));
    }
  }
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"addressType"}));
  row.text(first_three_text(ports, "<unset>"));
  row.text(first_three_text(addresses, "<unset>"));
  row.age(created_at(object));
  return row.finish();
}

}  // namespace yard
