// The scheduler on the real API server, with an agent that plays pods.

#include <algorithm>

#include <fmt/format.h>

#include "sim/agent_harness.h"

namespace yard {
namespace {

class SchedulingTest : public AgentFixture {
 protected:
  SchedulingTest() { start(); }
  void create(const std::string& name, const std::string& metadata, const std::string& spec) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        R"({"metadata":{"name":")" + name + "\"" + metadata +
            R"(},"spec":{"containers":[{"name":"c","image":"i","command":["x"]}],)" + spec + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  // On the node's four processors one of these fits.
  void create_big(const std::string& name) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        R"({"metadata":{"name":")" + name +
            R"("},"spec":{"containers":[{"name":"c","image":"i","command":["x"],"resources":{"requests":{"cpu":"3"}}}]}})");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  Json named(const std::string& name) {
    return harness_.call("GET", "/api/v1/namespaces/ns/pods/" + name).json;
  }
  std::string node_of(const std::string& name) {
    const Json found = named(name);
    return std::string(text_at(found, {"spec", "nodeName"}));
  }
  std::string why(const std::string& name) {
    const Json found = named(name);
    for (const Json& condition : list_at(found, {"status", "conditions"})) {
      if (text_at(condition, {"type"}) == "PodScheduled")
        return std::string(text_at(condition, {"message"}));
    }
    return "";
  }
};

TEST_F(SchedulingTest, WhoWaitsForCompanyGoesWhenItComes) {
  create(
      "guest", "",
      R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"host"}}}]}})");
  EXPECT_EQ(node_of("guest"), "");
  create("host", R"(,"labels":{"app":"host"})", R"("restartPolicy":"Never")");
  EXPECT_EQ(node_of("host"), "box");
  EXPECT_EQ(node_of("guest"), "box");
}

TEST_F(SchedulingTest, ManyThatWaitGoOneAfterTheOther) {
  for (int i = 0; i < 300; ++i)
    create_big("big-" + std::to_string(i));
  EXPECT_EQ(node_of("big-0"), "box");
  EXPECT_EQ(node_of("big-1"), "");
  for (int i = 0; i < 3; ++i) {
    harness_.call("DELETE", "/api/v1/namespaces/ns/pods/big-" + std::to_string(i));
    settle(std::chrono::seconds(40));
    EXPECT_EQ(node_of("big-" + std::to_string(i + 1)), "box") << "who came first is first";
    EXPECT_EQ(node_of("big-" + std::to_string(i + 2)), "");
  }
}

// The reason follows what happens, but not with every pod that comes or goes beside it.
TEST_F(SchedulingTest, TheReasonIsWrittenAgainAfterAWhile) {
  create_big("first");
  create_big("second");
  const std::string before = why("second");
  EXPECT_NE(before.find("1 of 4 free"), std::string::npos) << before;
  harness_.call("PATCH", "/api/v1/nodes/box", R"({"spec":{"unschedulable":true}})",
                {{"Content-Type", "application/merge-patch+json"}});
  settle(std::chrono::seconds(1));
  EXPECT_EQ(why("second"), before);
  settle(std::chrono::seconds(15));
  EXPECT_NE(why("second").find("1 node(s) were unschedulable"), std::string::npos) << why("second");
}

// Those of a template that was refused are passed by as one (scheduler/placer.h), and still: the
// higher priority first, then who came first, each where there is room for it, and nobody for ever.
TEST_F(SchedulingTest, TemplatesThatWaitBesideEachOtherKeepTheirOrder) {
  const auto post = [&](const std::string& path, const std::string& body) {
    const Answer made = harness_.call("POST", path, body);
    ASSERT_EQ(made.status, 201) << made.text;
  };
  post("/apis/scheduling.k8s.io/v1/priorityclasses",
       R"({"metadata":{"name":"high"},"value":100,"preemptionPolicy":"Never"})");
  create_big("filler");  // leaves one of the machine's four processors
  struct Waits {
    std::string name;
    bool is_high;
    int cpus;
  };
  std::vector<Waits> waiting;
  for (int i = 0; i < 45; ++i) {
    const Waits each{"w-" + std::to_string(i), i % 5 == 3, 2 + i % 3};
    post("/api/v1/namespaces/ns/pods",
         fmt::format(
             R"({{"metadata":{{"name":"{}"}},"spec":{{{}"tolerations":[{{"operator":"Exists"}}],
             "containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
             each.name, each.is_high ? R"("priorityClassName":"high",)" : "", each.cpus));
    waiting.push_back(each);
  }
  settle(std::chrono::seconds(1));
  std::ranges::stable_partition(waiting, &Waits::is_high);
  for (int node = 0; !waiting.empty(); ++node) {
    ASSERT_LT(node, 60) << waiting.front().name << " is still there";
    const std::string name = "n-" + std::to_string(node);
    post(
        "/api/v1/nodes",
        fmt::format(
            R"({{"metadata":{{"name":"{}"}},"status":{{"allocatable":{{"cpu":"5","pods":"9"}}}}}})",
            name));
    settle(std::chrono::seconds(1));
    int free = 5;
    std::erase_if(waiting, [&](const Waits& each) {
      const bool fits = each.cpus <= free;
      if (fits) free -= each.cpus;
      EXPECT_EQ(node_of(each.name), fits ? name : "") << each.name;
      return fits;
    });
    if (node % 8 != 7 || waiting.empty()) continue;
    settle(std::chrono::seconds(15));
    for (const Waits& each : waiting)
      EXPECT_TRUE(why(each.name).starts_with(fmt::format("0/{} nodes", node + 2)))
          << why(each.name);
  }
}

}  // namespace
}  // namespace yard
