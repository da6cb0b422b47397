// What the agent does ahead of a binding, with played pods.

#include "sim/agent_harness.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};

class BindingTest : public AgentFixture {
 protected:
  BindingTest() { start(); }
  void restart_server() {
    agent_.reset();
    scheduler_.reset();
    start();
  }
  void create(const std::string& name, const std::string& more) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        R"({"metadata":{"name":")" + name +
            R"("},"spec":{"containers":[{"name":"c","image":"i","command":["x"]}])" + more + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  // The scheduler leaves it alone: a test says what becomes of its binding.
  void create_gated(const std::string& name = "p", const std::string& more = "") {
    create(name, R"(,"schedulingGates":[{"name":"g"}])" + more);
    settle();
  }
  ObjectPtr object(const std::string& name = "p") { return client_.get(kPod, "ns", name); }
  void begin_binding(const std::string& name = "p") {
    agent_->binding_begins(*object(name), "box");
    settle();
  }
  void open_gate() {
    const Answer patched =
        harness_.call("PATCH", "/api/v1/namespaces/ns/pods/p", R"({"spec":{"schedulingGates":[]}})",
                      {{"Content-Type", "application/merge-patch+json"}});
    ASSERT_EQ(patched.status, 200) << patched.text;
    settle();
  }
  std::string uid() { return std::string(object()->uid()); }
  bool is_bound() { return !object()->fields()[0].empty(); }
};

TEST_F(BindingTest, APodIsReadiedWhileItsBindingIsStoredAndRunsAfterIt) {
  harness_.send(
      "POST", "/api/v1/namespaces/ns/pods",
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","command":["x"]}]}})");
  bool was_readied = false;
  for (int step = 0; step < 10'000 && runtime_.launches.empty(); ++step) {
    if (!harness_.loop.run_one()) settle(std::chrono::microseconds(100));
    if (object() == nullptr) continue;
    was_readied = was_readied || (!runtime_.records.empty() && !is_bound());
    ASSERT_TRUE(runtime_.launches.empty() || is_bound()) << "step " << step;
  }
  EXPECT_TRUE(was_readied);
  settle();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(runtime_.started_shims, 1);
}

TEST_F(BindingTest, ABindingThatFailsLeavesNothing) {
  create_gated();
  begin_binding();
  ASSERT_NE(runtime_.find(uid()), nullptr);
  EXPECT_FALSE(network_.address_of(uid()).empty());
  agent_->binding_failed(uid());
  settle();
  EXPECT_TRUE(runtime_.records.empty());
  EXPECT_TRUE(runtime_.launches.empty());
  EXPECT_EQ(network_.address_of(uid()), "");
  open_gate();
  EXPECT_EQ(phase(), "Running") << "the next binding is as good as the first";
}

TEST_F(BindingTest, APodThatIsBoundAfterAllWhileItsShimEndsRuns) {
  create_gated();
  begin_binding();
  agent_->binding_failed(uid());
  open_gate();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(runtime_.started_shims, 2);
}

TEST_F(BindingTest, APodDeletedMeanwhileLeavesNothing) {
  create_gated();
  begin_binding();
  const std::string gone = uid();
  harness_.call("DELETE", "/api/v1/namespaces/ns/pods/p?gracePeriodSeconds=0");
  agent_->binding_failed(gone);
  settle();
  EXPECT_TRUE(runtime_.records.empty());
  EXPECT_EQ(network_.address_of(gone), "");
}

TEST_F(BindingTest, WhatAKilledServerReadiedIsEndedByTheNext) {
  create_gated();
  begin_binding();
  ASSERT_FALSE(runtime_.records.empty());
  restart_server();
  EXPECT_TRUE(runtime_.records.empty()) << "it is bound to nobody";
  open_gate();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(runtime_.launches.size(), 1u);
}

TEST_F(BindingTest, WhatIsInTheWayIsToldOnlyOfABoundPod) {
  create_gated("p", R"(,"volumes":[{"name":"v","configMap":{"name":"later"}}])");
  begin_binding();
  EXPECT_TRUE(runtime_.records.empty());
  EXPECT_TRUE(messages_of("FailedMount").empty());
  agent_->binding_failed(uid());
  settle();
  open_gate();
  EXPECT_EQ(messages_of("FailedMount").size(), 1u);
}

TEST_F(BindingTest, AShimThatDiesBeforeTheBindingIsReplacedAfterIt) {
  create_gated();
  begin_binding();
  runtime_.kill_shim(uid());
  settle();
  EXPECT_EQ(runtime_.started_shims, 1) << "nobody waits for it yet";
  open_gate();
  harness_.loop.advance(std::chrono::seconds(2));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(runtime_.started_shims, 2);
}

TEST_F(BindingTest, ManyBindingsAtOnceAreNotAllReadied) {
  for (int i = 0; i < 40; ++i) {
    create_gated("p" + std::to_string(i));
    begin_binding("p" + std::to_string(i));
  }
  EXPECT_EQ(runtime_.records.size(), 16u);
}

TEST_F(BindingTest, ANodeThatShutsDownEndsWhatItReadied) {
  create_gated();
  begin_binding();
  bool is_done = false;
  agent_->shut_down([&] { is_done = true; });
  settle();
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(runtime_.records.empty());
}

TEST_F(BindingTest, BindingsOfOtherNodesAreNotOurs) {
  create_gated();
  agent_->binding_begins(*object(), "elsewhere");
  settle();
  EXPECT_TRUE(runtime_.records.empty());
}

}  // namespace
}  // namespace yard
