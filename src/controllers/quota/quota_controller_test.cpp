#include "controllers/quota/quota_controller.h"

#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

using namespace std::chrono_literals;
const std::string kSpace = "/api/v1/namespaces/default";

TEST(QuotaController, TellsWhatIsUsed) {
  ApiHarness yard;
  yard.make_namespace("default");
  DirectClient client(
      *yard.store, yard.api->committer(), [&] { return yard.api->kinds(); }, "test");
  QuotaController controller(yard.loop, client);
  const auto create = [&](const std::string& plural, const std::string& text) {
    const Answer made = yard.call("POST", kSpace + "/" + plural, to_text(yaml(text)));
    ASSERT_EQ(made.status, 201) << made.text;
    yard.loop.advance(100ms);
  };
  const auto used = [&] {
    const Json tree = client.get(kQuotaResource, "default", "q")->tree();
    return to_text(*find(tree, "status"));
  };
  create("configmaps", "{metadata: {name: a}}");
  create("resourcequotas",
         "{metadata: {name: q}, spec: {hard: {configmaps: '5', pods: '2', requests.cpu: '4'}}}");
  EXPECT_EQ(used(), R"({"hard":{"configmaps":"5","pods":"2","requests.cpu":"4"},)"
                    R"("used":{"configmaps":"1","pods":"0","requests.cpu":"0"}})");
  create("pods",
         "{metadata: {name: p}, spec: {containers: [{name: c, image: i, resources: {requests: "
         "{cpu: 500m}}}]}}");
  EXPECT_NE(used().find(R"("used":{"configmaps":"1","pods":"1","requests.cpu":"500m"})"),
            std::string::npos)
      << used();
  yard.patch(kSpace + "/pods/p/status", R"({"status":{"phase":"Succeeded"}})");
  yard.call("DELETE", kSpace + "/configmaps/a");
  yard.loop.advance(100ms);
  EXPECT_NE(used().find(R"("used":{"configmaps":"0","pods":"0","requests.cpu":"0"})"),
            std::string::npos)
      << used();
  yard.call("DELETE", kSpace + "/resourcequotas/q");
  create("configmaps", "{metadata: {name: b}}");
  EXPECT_TRUE(controller.is_idle());
}

}  // namespace
}  // namespace yard
