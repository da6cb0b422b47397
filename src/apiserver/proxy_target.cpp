#include "apiserver/proxy_target.h"

#include <vector>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int kSlashesBefore = 8;  // /api/v1/namespaces/NS/pods/NAME/proxy/…
constexpr int kWebPort = 80;

Error invalid_request(std::string_view text) {
  return error(Reason::BadRequest, fmt::format("invalid pod or service request {}", quoted(text)));
}

Result<int> port_number(std::string_view text) {
  const auto number = parse_int64(text);
  if (!number || *number < 1 || *number > 65535)
    return error(Reason::BadRequest, fmt::format("{} is not a port", quoted(text)));
  return static_cast<int>(*number);
}

}  // namespace

Result<ProxyName> parse_proxy_name(std::string_view text) {
  const auto parts = split(text, ':');
  ProxyName out;
  if (parts.size() == 1) {
    out.name = parts[0];
  } else if (parts.size() == 2) {
    out.name = parts[0];
    out.port = parts[1];
  } else if (parts.size() == 3 && (parts[0] == "http" || parts[0] == "https" || parts[0].empty())) {
    out.tls = parts[0] == "https";
    out.name = parts[1];
    out.port = parts[2];
  } else {
    return invalid_request(text);
  }
  if (out.name.empty()) return invalid_request(text);
  return out;
}

Result<int> pod_port(const Json& pod, std::string_view port) {
  if (!port.empty()) return port_number(port);
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    for (const Json& each : list_at(container, {"ports"}))
      return static_cast<int>(int_at(each, {"containerPort"}, kWebPort));
  }
  return kWebPort;
}

Result<ServicePlace> service_place(const Json& service, const Json& endpoints,
                                   std::string_view port, uint64_t turn) {
  const std::string_view service_name = text_at(service, {"metadata", "name"});
  const JsonArray& ports = list_at(service, {"spec", "ports"});
  const Json* chosen = nullptr;
  for (const Json& each : ports) {
    if (port.empty()
            ? ports.size() == 1
            : text_at(each, {"name"}) == port || std::to_string(int_at(each, {"port"})) == port)
      chosen = &each;
  }
  const Error none =
      error(Reason::ServiceUnavailable,
            fmt::format("no endpoints available for service {}", quoted(service_name)));
  if (chosen == nullptr)
    return error(Reason::ServiceUnavailable, fmt::format("no service port {} found for service {}",
                                                         quoted(port), quoted(service_name)));
  std::vector<ServicePlace> places;
  for (const Json& subset : list_at(endpoints, {"subsets"})) {
    for (const Json& each : list_at(subset, {"ports"})) {
      if (text_at(each, {"name"}) != text_at(*chosen, {"name"})) continue;
      for (const Json& address : list_at(subset, {"addresses"})) {
        const std::string_view uid = text_at(address, {"targetRef", "uid"});
        if (!uid.empty())
          places.push_back({std::string(uid), static_cast<int>(int_at(each, {"port"}))});
      }
    }
  }
  if (places.empty()) return none;
  return places[turn % places.size()];
}

std::string_view proxied_path(std::string_view path) {
  size_t at = 0;
  for (int slashes = 0; at < path.size(); ++at) {
    if (path[at] == '/' && ++slashes == kSlashesBefore) return path.substr(at);
  }
  return "";
}

}  // namespace yard
