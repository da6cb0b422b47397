#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

void set_defaults(Json& object) {
  Json* subsets = find(object, "subsets");
  if (subsets == nullptr || !subsets->is_array()) return;
  for (Json& subset : subsets->get_array()) {
    Json* ports = find(subset, "ports");
    if (ports == nullptr || !ports->is_array()) continue;
    for (Json& port : ports->get_array()) {
      if (port.is_object()) set_missing(port.get_object(), "protocol", "TCP");
    }
  }
}

void check_subset_addresses(FieldErrors& errors, const FieldPath& path,
                            const JsonArray& addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    check_endpoint_ip(errors, path.index(i).child("ip"), text_at(addresses[i], {"ip"}));
    std::string_view hostname = text_at(addresses[i], {"hostname"});
    if (hostname.empty()) continue;
    add_problems(errors, path.index(i).child("hostname"), hostname,
                 dns1123_label_problems(hostname));
  }
}

void check_subset_ports(FieldErrors& errors, const FieldPath& path, const JsonArray& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    FieldPath at = path.index(i);
    std::string_view name = text_at(ports[i], {"name"});
    if (!name.empty()) {
      add_problems(errors, at.child("name"), name, dns1123_label_problems(name));
    } else if (ports.size() > 1) {
      errors.push_back(required(at.child("name")));
    }
    check_port(errors, at.child("port"), int_at(ports[i], {"port"}));
    check_one_of(errors, at.child("protocol"), find(ports[i], "protocol"), {"SCTP", "TCP", "UDP"},
                 Presence::Required);
  }
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const JsonArray& subsets = list_at(object, {"subsets"});
  for (size_t i = 0; i < subsets.size(); ++i) {
    FieldPath path = FieldPath("subsets").index(i);
    const JsonArray& ready = list_at(subsets[i], {"addresses"});
    const JsonArray& not_ready = list_at(subsets[i], {"notReadyAddresses"});
    if (ready.empty() && not_ready.empty()) {
      errors.push_back(required(path, "must specify `addresses` or `notReadyAddresses`"));
    }
    check_subset_addresses(errors, path.child("addresses"), ready);
    check_subset_addresses(errors, path.child("notReadyAddresses"), not_ready);
    check_subset_ports(errors, path.child("ports"), list_at(subsets[i], {"ports"}));
  }
  return errors;
}

}  // namespace

Kind endpoints_kind() {
  Kind row = ordinary_kind({"", "v1", "Endpoints", "endpoints"});
  row.short_names = {"ep"};
  row.creates_on_update = true;
  row.deprecation_warning =
      "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  row.columns = endpoints_columns();
  row.cells = endpoints_cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  return row;
}

}  // namespace yard
