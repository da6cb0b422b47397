#pragma once
// What the server gives a Service that did not ask for it: cluster address and node ports.

#include "api/kind.h"

namespace yard {

constexpr int64_t kFirstNodePort = 30000;
constexpr int64_t kLastNodePort = 32767;

bool has_node_ports(std::string_view service_type);  // NodePort, LoadBalancer
bool is_headless(const Json& service);

Result<void> allocate_service_addresses(Json& service, const Admission& admission);
// An update that leaves allocated values out keeps the live ones; a change of type gives them up.
Result<void> keep_service_addresses(Json& service, const Json& live, const Admission& admission);

}  // namespace yard
