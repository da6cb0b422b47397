#include "controllers/runtime/controller.h"

#include <gtest/gtest.h>

#include "apiserver/direct_client.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const Resource kConfigMap{"v1", "ConfigMap"};

ObjectKey key(const std::string& name) {
  return {kConfigMap, "default", name};
}

ClientWrite create(const std::string& name) {
  return {
      ClientWrite::Verb::Create, kConfigMap, "default", name,
      JsonObject{
          {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", JsonObject{{"name", name}}}}};
}

ClientWrite remove(const std::string& name) {
  return {ClientWrite::Verb::Delete, kConfigMap, "default", name,
          JsonObject{{"propagationPolicy", "Background"}}};
}

ClientWrite label(const std::string& name, const std::string& revision) {
  return {ClientWrite::Verb::MergePatch, kConfigMap, "default", name,
          JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"a", "b"}}},
                                             {"resourceVersion", revision}}}}};
}

TEST(Plan, PrintsAsText) {
  EXPECT_EQ(to_text(Plan{}), "");
  EXPECT_EQ(to_text(Plan{{create("a"), remove("b")}, label("c", "7"), 90s}),
            "create ConfigMap default/a\n"
            "delete ConfigMap default/b (Background)\n"
            "patch ConfigMap default/c "
            "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"resourceVersion\":\"7\"}}\n"
            "again after 90s");
}

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() { yard.make_namespace("default"); }
  bool exists(const std::string& name) const {
    return client.get(kConfigMap, "default", name) != nullptr;
  }
  ControllerSetup setup(std::function<Plan(const ObjectKey&)> plan) const {
    return {.name = "test", .plan = std::move(plan)};
  }

  ApiHarness yard;
  DirectClient client{*yard.store, yard.api->committer(), [this] { return yard.api->kinds(); },
                      "test"};
};

TEST_F(ControllerTest, AKeyIsHeldUntilItsWritesShow) {
  int passes = 0;
  Controller controller(
      yard.loop, client, setup([&](const ObjectKey&) -> Plan {
        ++passes;
        if (exists("a") && exists("b")) return {};
        EXPECT_FALSE(exists("a") || exists("b")) << "no pass sees half of the last one";
        return {
            .writes = {create("a"), create("b")}, .last = {}, .requeue_after = Duration::zero()};
      }));
  controller.add(key("x"));
  yard.loop.run_ready();
  controller.add(key("x"));
  ASSERT_TRUE(yard.loop.run_until([&] { return controller.is_idle(); }));
  EXPECT_EQ(passes, 2);
  EXPECT_TRUE(exists("a") && exists("b"));
}

TEST_F(ControllerTest, TheLastWriteWaitsForTheOthers) {
  Controller controller(
      yard.loop, client, setup([&](const ObjectKey& at) -> Plan {
        if (exists("last")) return {};
        if (at.name == "bad" && exists("taken"))
          return {.writes = {create("taken")}, .last = create("last"), .requeue_after = {}};
        return {.writes = {create("taken")}, .last = {}, .requeue_after = {}};
      }));
  controller.add(key("good"));
  ASSERT_TRUE(yard.loop.run_until([&] { return controller.is_idle(); }));
  controller.add(key("bad"));
  yard.loop.advance(10s);
  EXPECT_FALSE(exists("last"));
  EXPECT_FALSE(controller.is_idle()) << "what failed is tried again";
}

TEST_F(ControllerTest, AConflictIsObservedAgain) {
  ASSERT_EQ(
      yard.call("POST", "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"m\"}}")
          .status,
      201);
  int passes = 0;
  Controller controller(
      yard.loop, client, setup([&](const ObjectKey&) -> Plan {
        const ObjectPtr map = client.get(kConfigMap, "default", "m");
        if (map->label("a")) return {};
        const Revision revision = ++passes == 1 ? 1 : map->revision();
        return {.writes = {label("m", std::to_string(revision))}, .last = {}, .requeue_after = {}};
      }));
  controller.add(key("m"));
  ASSERT_TRUE(yard.loop.run_until([&] { return controller.is_idle(); }));
  EXPECT_EQ(passes, 2);
  EXPECT_EQ(client.get(kConfigMap, "default", "m")->label("a"), "b");
}

TEST_F(ControllerTest, WhatAnotherIsRemovingIsLookedAtAgainButNotAtOnce) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(yard.call("POST", maps, "{\"metadata\":{\"name\":\"m\"}}").status, 201);
  int passes = 0;
  Controller controller(
      yard.loop, client, setup([&](const ObjectKey&) -> Plan {
        ++passes;
        if (!exists("m")) return {};
        return {.writes = {remove("m")}, .last = {}, .requeue_after = Duration::zero()};
      }));
  // Its removal is in the store's hands and not durable yet: reads still show it, a delete finds
  // nothing.
  yard.send("DELETE", maps + "/m");
  yard.loop.run_ready();
  ASSERT_TRUE(exists("m"));
  controller.add(key("m"));
  ASSERT_TRUE(yard.loop.run_until([&] { return controller.is_idle(); }));
  EXPECT_FALSE(exists("m"));
  EXPECT_LE(passes, 4);
}

TEST_F(ControllerTest, AFailedCommitIsTriedAgain) {
  yard.log->fail_next(3);
  Controller controller(yard.loop, client, setup([&](const ObjectKey&) -> Plan {
                          if (exists("a")) return {};
                          return {.writes = {create("a")}, .last = {}, .requeue_after = {}};
                        }));
  controller.add(key("a"));
  ASSERT_TRUE(yard.loop.run_until([&] { return exists("a"); }, 1s));
}

TEST_F(ControllerTest, AfterAFullQueueEverythingIsLookedAtAgain) {
  std::set<std::string> seen;
  int asked = 0;
  Controller* itself = nullptr;
  ControllerSetup small = setup([&](const ObjectKey& at) -> Plan {
    seen.insert(at.name);
    return {};
  });
  small.limits.most_keys = 2;
  small.add_all = [&] {
    ++asked;
    itself->add(key("c"));
  };
  Controller controller(yard.loop, client, small);
  itself = &controller;
  for (const char* name : {"a", "b", "c"})
    controller.add(key(name));
  yard.loop.run_ready();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b", "c"}));
}

TEST_F(ControllerTest, AnswersAfterItsEndAreHeardByNobody) {
  auto controller = std::make_unique<Controller>(
      yard.loop, client, setup([&](const ObjectKey&) -> Plan {
        return {.writes = {create("a")}, .last = {}, .requeue_after = {}};
      }));
  controller->add(key("a"));
  yard.loop.run_ready();
  controller.reset();
  yard.loop.advance(1s);
  EXPECT_TRUE(exists("a"));
}

}  // namespace
}  // namespace yard
