#include "controllers/network/endpoints_controller.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

using namespace std::chrono_literals;
constexpr Duration kSettled = 300ms;  // changes are gathered for a moment
const std::string kSpace = "/api/v1/namespaces/default";

class EndpointsControllerTest : public testing::Test {
 protected:
  EndpointsControllerTest() { yard.make_namespace("default"); }
  void create(const std::string& plural, const std::string& text) {
    const Answer made = yard.call("POST", kSpace + "/" + plural, to_text(yaml(text)));
    ASSERT_EQ(made.status, 201) << made.text;
    yard.loop.advance(kSettled);
  }
  void set_status(const std::string& name, const std::string& ip) {
    const Answer set = yard.patch(
        kSpace + "/pods/" + name + "/status",
        to_text(yaml(fmt::format("{{status: {{phase: Running, podIP: {0}, podIPs: [{{ip: {0}}}], "
                                 "conditions: [{{type: Ready, status: 'True'}}]}}}}",
                                 ip))));
    ASSERT_EQ(set.status, 200) << set.text;
    yard.loop.advance(kSettled);
  }
  // `10.0.0.1 10.0.0.2` over all slices.
  std::string addresses(const std::string& service) {
    std::string out;
    for (const ObjectPtr& slice : client.list(kEndpointSliceResource, "default")) {
      if (slice->label(kServiceNameLabel) != service) continue;
      const Json tree = slice->tree();
      for (const Json& endpoint : list_at(tree, {"endpoints"}))
        out += (out.empty() ? "" : " ") + std::string(text_of(list_at(endpoint, {"addresses"})[0]));
    }
    return out;
  }

  ApiHarness yard;
  DirectClient client{*yard.store, yard.api->committer(), [this] { return yard.api->kinds(); },
                      "test"};
  EndpointsController controller{yard.loop, client};
};

TEST_F(EndpointsControllerTest, FollowsPodsAndLabels) {
  create("services", "{metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}");
  EXPECT_EQ(client.list(kEndpointSliceResource, "default").size(), 1u);
  create("pods",
         "{metadata: {name: a, labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}");
  EXPECT_EQ(addresses("web"), "");
  set_status("a", "127.64.0.1");
  EXPECT_EQ(addresses("web"), "127.64.0.1");
  EXPECT_NE(client.get(kEndpointsResource, "default", "web")->body().find("127.64.0.1"),
            std::string_view::npos);
  EXPECT_EQ(yard.patch(kSpace + "/pods/a", R"({"metadata":{"labels":{"app":"other"}}})").status,
            200);
  yard.loop.advance(kSettled);
  EXPECT_EQ(addresses("web"), "");
  create("services",
         "{metadata: {name: late}, spec: {selector: {app: other}, ports: [{port: 80}]}}");
  EXPECT_EQ(addresses("late"), "127.64.0.1");
  EXPECT_EQ(yard.call("DELETE", kSpace + "/services/late").status, 200);
  yard.loop.advance(kSettled);
  EXPECT_EQ(client.get(kEndpointsResource, "default", "late"), nullptr);
  EXPECT_TRUE(controller.is_idle());
}

// More labels than pods are kept by: the rest is found all the same, before and after the pod.
TEST_F(EndpointsControllerTest, ServicesMayAskForAnyLabel) {
  const auto service = [&](int number) {
    create("services",
           fmt::format("{{metadata: {{name: s{0}}}, spec: {{selector: {{l{0}: x}}, ports: "
                       "[{{port: 80}}]}}}}",
                       number));
  };
  for (int i = 0; i < 40; ++i)
    service(i);
  create("pods",
         "{metadata: {name: a, labels: {l2: x, l38: x, l50: x}}, spec: {containers: [{name: c, "
         "image: i}]}}");
  set_status("a", "127.64.0.1");
  service(50);
  for (const char* name : {"s2", "s38", "s50"})
    EXPECT_EQ(addresses(name), "127.64.0.1") << name;
  EXPECT_EQ(addresses("s3"), "");
  EXPECT_EQ(yard.call("DELETE", kSpace + "/pods/a", R"({"gracePeriodSeconds":0})").status, 200);
  yard.loop.advance(kSettled);
  for (const char* name : {"s2", "s38", "s50"})
    EXPECT_EQ(addresses(name), "") << name;
}

TEST_F(EndpointsControllerTest, PutsBackWhatOthersTookAway) {
  create("services", "{metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}");
  const std::string slice(client.list(kEndpointSliceResource, "default")[0]->name());
  yard.call("DELETE", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/" + slice);
  yard.call("DELETE", kSpace + "/endpoints/web");
  yard.loop.advance(kSettled);
  EXPECT_EQ(client.list(kEndpointSliceResource, "default").size(), 1u);
  EXPECT_NE(client.get(kEndpointsResource, "default", "web"), nullptr);
}

}  // namespace
}  // namespace yard
