#pragma once
// The real server with the life-cycle controllers on a simulated loop, for their tests.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/direct_client.h"
#include "controllers/lifecycle/event_expiry.h"
#include "controllers/lifecycle/garbage_collector.h"
#include "controllers/lifecycle/namespaces.h"
#include "sim/api_harness.h"

namespace yard {

class LifecycleTest : public testing::Test {
 protected:
  LifecycleTest() {
    yard.make_namespace("default");
    start();
  }
  ~LifecycleTest() override { stop(); }

  void start() {
    client = std::make_unique<DirectClient>(
        *yard.store, yard.api->committer(), [this] { return yard.api->kinds(); }, "lifecycle");
    garbage_collector = std::make_unique<GarbageCollector>(yard.loop, *client);
    namespaces = std::make_unique<NamespaceTermination>(yard.loop, *client);
    event_expiry = std::make_unique<EventExpiry>(yard.loop, *client);
  }
  void stop() {
    event_expiry.reset();
    namespaces.reset();
    garbage_collector.reset();
    client.reset();
  }
  // Everything that is due happens; waits for finalizers and graces stay.
  void settle() { yard.loop.advance(std::chrono::seconds(5)); }

  // Makes a ConfigMap and answers its uid. `metadata` is further members, without braces.
  std::string make(const std::string& name, const std::string& metadata = "",
                   const std::string& ns = "default") {
    const Answer made = yard.call("POST", maps(ns),
                                  fmt::format(R"({{"metadata":{{"name":"{}"{}{}}}}})", name,
                                              metadata.empty() ? "" : ",", metadata));
    EXPECT_EQ(made.status, 201) << made.text;
    return std::string(text_at(made.json, {"metadata", "uid"}));
  }
  static std::string reference(const std::string& name, const std::string& uid,
                               bool blocks = true) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","name":"{}","uid":"{}","blockOwnerDeletion":{}}})",
        name, uid, blocks);
  }
  static std::string owned_by(const std::string& references) {
    return "\"ownerReferences\":[" + references + "]";
  }
  static std::string maps(const std::string& ns = "default") {
    return "/api/v1/namespaces/" + ns + "/configmaps";
  }
  static std::string map(const std::string& name, const std::string& ns = "default") {
    return maps(ns) + "/" + name;
  }
  void remove(const std::string& target, const std::string& policy = "Background") {
    const Answer removed =
        yard.call("DELETE", target, fmt::format(R"({{"propagationPolicy":"{}"}})", policy));
    EXPECT_EQ(removed.status, 200) << removed.text;
  }
  bool exists(const std::string& target) { return yard.call("GET", target).status == 200; }
  Json get(const std::string& target) { return yard.call("GET", target).json; }

  ApiHarness yard;
  std::unique_ptr<DirectClient> client;
  std::unique_ptr<GarbageCollector> garbage_collector;
  std::unique_ptr<NamespaceTermination> namespaces;
  std::unique_ptr<EventExpiry> event_expiry;
};

}  // namespace yard
