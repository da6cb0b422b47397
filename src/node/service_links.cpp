#include "node/service_links.h"

#include <iterator>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

std::string variable_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return out;
}

}  // namespace

Environment service_variables(std::string_view name, std::string_view address,
                              const JsonArray& ports) {
  Environment out;
  if (ports.empty()) return out;
  const std::string service = variable_name(name);
  out.emplace_back(service + "_SERVICE_HOST", address);
  out.emplace_back(service + "_SERVICE_PORT", std::to_string(int_at(ports.front(), {"port"})));
  for (const Json& port : ports) {
    const std::string_view port_name = text_at(port, {"name"});
    if (port_name.empty()) continue;
    out.emplace_back(fmt::format("{}_SERVICE_PORT_{}", service, variable_name(port_name)),
                     std::to_string(int_at(port, {"port"})));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string_view protocol = text_at(ports[i], {"protocol"}, "TCP");
    const int64_t number = int_at(ports[i], {"port"});
    const std::string scheme = lower(protocol);
    const std::string url = fmt::format("{}://{}:{}", scheme, address, number);
    const std::string prefix = fmt::format("{}_PORT_{}_{}", service, number, protocol);
    if (i == 0) out.emplace_back(service + "_PORT", url);
    out.emplace_back(prefix, url);
    out.emplace_back(prefix + "_PROTO", scheme);
    out.emplace_back(prefix + "_PORT", std::to_string(number));
    out.emplace_back(prefix + "_ADDR", address);
  }
  return out;
}

Environment service_links(const std::vector<Json>& services) {
  Environment out;
  for (const Json& service : services) {
    const std::string_view address = text_at(service, {"spec", "clusterIP"});
    if (address.empty() || address == "None") continue;
    Environment variables = service_variables(text_at(service, {"metadata", "name"}), address,
                                              list_at(service, {"spec", "ports"}));
    out.insert(out.end(), std::make_move_iterator(variables.begin()),
               std::make_move_iterator(variables.end()));
  }
  return out;
}

}  // namespace yard
