// What a user who floods the server is answered, and that others are not harmed.

#include <gtest/gtest.h>

#include "apiserver/server.h"
#include "client/pod_streams.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

// A node whose pods never stop talking.
class EndlessLogs : public PodStreams {
 public:
  void read_log(PodLogRequest, std::function<Result<std::shared_ptr<PodLogSink>>()> open_sink,
                std::function<void(Error)>) override {
    auto sink = open_sink();
    ASSERT_TRUE(sink.has_value());
    (*sink)->write("a line\n");
    sinks.push_back(std::move(*sink));
  }
  void exec(PodProcessRequest, std::function<void(Result<ProcessStreams>)>) override {}
  void attach(PodProcessRequest, std::function<void(Result<ProcessStreams>)>) override {}
  void dial(std::string, int, std::function<void(Result<int>)>) override {}
  std::vector<std::shared_ptr<PodLogSink>> sinks;
};

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    yard.make_namespace("default");
    ApiServerOptions options;
    options.budget.most_writes = 8;
    options.budget.most_writes_of_one = 4;
    options.budget.most_watches_of_one = 2;
    options.budget.most_streams_of_one = 2;
    options.budget.requests_per_second = 5;
    options.budget.burst = 10;
    api = std::make_unique<ApiServer>(yard.loop, *yard.store, 7, options);
    api->set_ready(true);
  }

  std::shared_ptr<SimResponder> ask(const std::string& user, const std::string& method,
                                    const std::string& target, const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.peer.common_name = user;
    if (user == "root") request.peer.organizations = {"system:masters"};
    auto responder = std::make_shared<SimResponder>(yard.loop);
    api->handle(std::move(request), responder);
    return responder;
  }
  std::shared_ptr<SimResponder> create(const std::string& user, int number) {
    return ask(user, "POST", kMaps,
               R"({"metadata":{"name":"m)" + user + std::to_string(number) + R"("}})");
  }
  // One that runs, as far as anybody can tell.
  void make_pod(const std::string& name) {
    const std::string pods = "/api/v1/namespaces/default/pods";
    yard.call("POST", pods,
              R"({"metadata":{"name":")" + name +
                  R"("},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}})");
    const Answer runs = yard.patch(
        pods + "/" + name + "/status",
        R"({"status":{"phase":"Running","containerStatuses":[{"name":"c","image":"x","imageID":"",)"
        R"("ready":true,"restartCount":0,"state":{"running":{}}}]}})");
    EXPECT_EQ(runs.status, 200) << runs.text;
  }
  void settle() { yard.loop.advance(std::chrono::milliseconds(100)); }

  ApiHarness yard;
  std::unique_ptr<ApiServer> api;
};

TEST_F(LimitsTest, WhatIsTooMuchAtATimeIsToldToComeBack) {
  std::vector<std::shared_ptr<SimResponder>> asked;
  for (int i = 0; i < 10; ++i)
    asked.push_back(create("root", i));
  const auto other = create("second", 0);  // has no rights, and is not turned away
  settle();
  int made = 0, turned_away = 0;
  for (const auto& one : asked) {
    made += one->answer.status == 201 ? 1 : 0;
    if (one->answer.status != 429) continue;
    ++turned_away;
    EXPECT_EQ(one->answer.header("Retry-After"), "1");
    EXPECT_EQ(one->answer.text, "Too many requests, please try again later.\n");
  }
  EXPECT_EQ(made, 4);
  EXPECT_EQ(turned_away, 6);
  EXPECT_EQ(other->answer.status, 403);
  const auto later = create("root", 99);
  settle();
  EXPECT_EQ(later->answer.status, 201);
}

TEST_F(LimitsTest, AUsersRateIsBoundedAndFillsAgain) {
  std::map<int, int> codes;
  for (int i = 0; i < 30; ++i) {
    const auto one = ask("ann", "GET", kMaps);
    settle();
    ++codes[one->answer.status];
  }
  // Ten at once, and five a second over the three seconds that this took.
  EXPECT_EQ(codes[403], 24) << codes[429];
  const auto other = ask("bob", "GET", kMaps);
  const auto admin = ask("root", "GET", kMaps);
  settle();
  EXPECT_EQ(other->answer.status, 403);
  EXPECT_EQ(admin->answer.status, 200);
}

TEST_F(LimitsTest, WatchesOfOneUserAreBoundedAndComeBackWhenTheyEnd) {
  const std::string watch = std::string(kMaps) + "?watch=1&timeoutSeconds=60";
  const auto first = ask("root", "GET", watch), second = ask("root", "GET", watch);
  settle();
  const auto third = ask("root", "GET", watch);
  settle();
  EXPECT_EQ(first->answer.status, 200);
  EXPECT_EQ(second->answer.status, 200);
  EXPECT_EQ(third->answer.status, 429);
  EXPECT_EQ(third->answer.header("Retry-After"), "1");
  first->streamed->close();
  settle();
  const auto fourth = ask("root", "GET", watch);
  settle();
  EXPECT_EQ(fourth->answer.status, 200);
}

TEST_F(LimitsTest, StreamsOfPodsAreBoundedAndComeBackWhenTheyEnd) {
  EndlessLogs node;
  api->set_pod_streams(&node);
  make_pod("p");
  const std::string log = "/api/v1/namespaces/default/pods/p/log?follow=true";
  const auto first = ask("root", "GET", log), second = ask("root", "GET", log);
  settle();
  const auto third = ask("root", "GET", log);
  settle();
  EXPECT_EQ(first->answer.status, 200) << first->answer.text;
  EXPECT_EQ(second->answer.status, 200);
  EXPECT_EQ(third->answer.status, 429);
  EXPECT_EQ(third->answer.header("Retry-After"), "1");
  EXPECT_EQ(third->answer.text, "Too many requests, please try again later.\n");
  first->streamed->close();  // the client leaves; the reader has not noticed yet
  settle();
  const auto fourth = ask("root", "GET", log);
  settle();
  EXPECT_EQ(fourth->answer.status, 200);
  node.sinks.clear();
}

TEST_F(LimitsTest, ALogIsCutWhenTheRightToItEnds) {
  EndlessLogs node;
  api->set_pod_streams(&node);
  make_pod("p");
  const std::string access = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  yard.call("POST", access + "roles",
            R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods/log"],)"
            R"("verbs":["get"]}]})");
  const Answer bound = yard.call(
      "POST", access + "rolebindings",
      R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role",)"
      R"("name":"r"},"subjects":[{"kind":"User","name":"ann"}]})");
  ASSERT_EQ(bound.status, 201) << bound.text;
  const auto one = ask("ann", "GET", "/api/v1/namespaces/default/pods/p/log?follow=true");
  settle();
  ASSERT_EQ(one->answer.status, 200) << one->answer.text;
  EXPECT_FALSE(one->streamed->closed);
  yard.call("DELETE", access + "rolebindings/b");
  settle();
  EXPECT_TRUE(one->streamed->closed);
  ASSERT_EQ(node.sinks.size(), 1u);
  EXPECT_TRUE(node.sinks[0]->is_gone());
  EXPECT_EQ(one->streamed->text, "a line\n");
}

}  // namespace
}  // namespace yard
