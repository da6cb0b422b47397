#include "node/service_links.h"

#include <gtest/gtest.h>

#include "json/yaml.h"

namespace yard {
namespace {

Json yaml(std::string_view text) {
  auto parsed = parse_yaml(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed && !parsed->empty() ? parsed->front().parsed.value : Json();
}

std::string shown(const Environment& environment) {
  std::string out;
  for (const auto& [name, value] : environment)
    out += name + "=" + value + "\n";
  return out;
}

TEST(ServiceLinks, NameWhatHasAnAddress) {
  const std::vector<Json> services{
      yaml("{metadata: {name: foo-service}, spec: {clusterIP: 10.96.0.7, ports: [{name: web-1, "
           "port: "
           "80, protocol: TCP}, {port: 53, protocol: UDP}]}}"),
      yaml("{metadata: {name: headless}, spec: {clusterIP: None, ports: [{port: 1}]}}"),
      yaml("{metadata: {name: elsewhere}, spec: {type: ExternalName, externalName: a.b}}"),
  };
  EXPECT_EQ(shown(service_links(services)),
            "FOO_SERVICE_SERVICE_HOST=10.96.0.7\n"
            "FOO_SERVICE_SERVICE_PORT=80\n"
            "FOO_SERVICE_SERVICE_PORT_WEB_1=80\n"
            "FOO_SERVICE_PORT=tcp://10.96.0.7:80\n"
            "FOO_SERVICE_PORT_80_TCP=tcp://10.96.0.7:80\n"
            "FOO_SERVICE_PORT_80_TCP_PROTO=tcp\n"
            "FOO_SERVICE_PORT_80_TCP_PORT=80\n"
            "FOO_SERVICE_PORT_80_TCP_ADDR=10.96.0.7\n"
            "FOO_SERVICE_PORT_53_UDP=udp://10.96.0.7:53\n"
            "FOO_SERVICE_PORT_53_UDP_PROTO=udp\n"
            "FOO_SERVICE_PORT_53_UDP_PORT=53\n"
            "FOO_SERVICE_PORT_53_UDP_ADDR=10.96.0.7\n");
}

}  // namespace
}  // namespace yard
