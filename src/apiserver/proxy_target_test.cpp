#include "apiserver/proxy_target.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

TEST(ProxyTarget, Names) {
  const struct {
    const char *text, *read;
  } cases[] = {{"a", "http a "},
               {"a:80", "http a 80"},
               {"a:web", "http a web"},
               {"http:a:80", "http a 80"},
               {"https:a:443", "https a 443"},
               {"https:a:", "https a "},
               {":a:80", "http a 80"},
               {"ftp:a:80", ""},
               {"", ""},
               {":80", ""},
               {"a:b:c:d", ""}};
  for (const auto& row : cases) {
    const auto name = parse_proxy_name(row.text);
    const std::string read =
        name ? (name->tls ? "https " : "http ") + name->name + " " + name->port : "";
    EXPECT_EQ(read, row.read) << row.text;
  }
}

TEST(ProxyTarget, PathsAreKeptAsTheyWereSent) {
  EXPECT_EQ(proxied_path("/api/v1/namespaces/n/pods/p/proxy/a%2Fb//c/"), "/a%2Fb//c/");
  EXPECT_EQ(proxied_path("/api/v1/namespaces/proxy/pods/proxy/proxy/proxy"), "/proxy");
  EXPECT_EQ(proxied_path("/api/v1/namespaces/n/pods/p/proxy"), "");
}

TEST(ProxyTarget, AServiceLeadsToOneOfItsReadyPods) {
  const Json service =
      yaml("metadata: {name: s}\nspec: {ports: [{name: web, port: 80}, {name: other, port: 81}]}");
  const Json endpoints = yaml(
      "subsets: [{addresses: [{targetRef: {uid: u1}}, {targetRef: {uid: u2}}, {ip: 1.2.3.4}], "
      "ports: [{name: web, port: 8080}, {name: other, port: 8081}]}]");
  EXPECT_EQ(service_place(service, endpoints, "web", 0)->pod_uid, "u1");
  EXPECT_EQ(service_place(service, endpoints, "80", 3)->pod_uid, "u2");
  EXPECT_EQ(service_place(service, endpoints, "81", 0)->port, 8081);
  EXPECT_EQ(service_place(service, endpoints, "", 0).error().message,
            "no service port \"\" found for service \"s\"");
  EXPECT_EQ(service_place(service, yaml("{}"), "web", 0).error().message,
            "no endpoints available for service \"s\"");
}

TEST(ProxyTarget, APodsFirstPort) {
  EXPECT_EQ(*pod_port(yaml("spec: {containers: [{}, {ports: [{containerPort: 90}]}]}"), ""), 90);
  EXPECT_EQ(*pod_port(yaml("spec: {containers: [{}]}"), ""), 80);
  EXPECT_EQ(*pod_port(yaml("spec: {containers: [{}]}"), "1234"), 1234);
  EXPECT_FALSE(pod_port(yaml("spec: {}"), "70000"));
}

}  // namespace
}  // namespace yard
