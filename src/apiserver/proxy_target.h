#pragma once
// Where pods/{name}/proxy and services/{name}/proxy lead: `name`, `name:port` or
// `scheme:name:port`. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/json.h"

namespace yard {

struct ProxyName {
  bool tls = false;
  std::string name, port;  // a number, or the name of a port; "": the first
};
Result<ProxyName> parse_proxy_name(std::string_view text);

// The port of a pod: as asked, else its first, else 80.
Result<int> pod_port(const Json& pod, std::string_view port);

// One place behind a service.
struct ServicePlace {
  std::string pod_uid;
  int port = 0;
};
// `turn` chooses among those that are ready. ServiceUnavailable: there are none.
Result<ServicePlace> service_place(const Json& service, const Json& endpoints,
                                   std::string_view port, uint64_t turn);

// What follows `…/proxy` of the path as it was sent; "" when nothing does, not even a slash.
std::string_view proxied_path(std::string_view path);

}  // namespace yard
