#pragma once
// An agent with its scheduler on the real API server, with played pods: for its tests.

#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "node/agent.h"
#include "scheduler/scheduler.h"
#include "sim/api_harness.h"
#include "sim/sim_pod_runtime.h"

namespace yard {

// The namespace `ns` has what pods need; their one pod is called `p`. Started by the test.
class AgentFixture : public ::testing::Test {
 protected:
  AgentFixture()
      : client_(
            *harness_.store, harness_.api->committer(), [this] { return harness_.api->kinds(); },
            "trainyard"),
        runtime_(harness_.loop) {
    harness_.make_namespace("ns");
    harness_.call("POST", "/api/v1/namespaces/ns/serviceaccounts",
                  R"({"metadata":{"name":"default"}})");
    harness_.call("POST", "/api/v1/namespaces/ns/configmaps",
                  R"({"metadata":{"name":"kube-root-ca.crt"},"data":{"ca.crt":"x"}})");
  }
  void start(NodeImages* images = nullptr) {
    MachineFacts machine;
    machine.hostname = "Box";
    machine.cpus = 4;
    machine.memory_bytes = int64_t{8} << 30;
    scheduler_ = std::make_unique<Scheduler>(client_, harness_.loop);
    agent_ =
        std::make_unique<Agent>(client_, harness_.loop, runtime_, network_, NodeOptions{}, machine);
    scheduler_->set_binding_listener({[this](const Object& pod, const std::string& node) {
                                        if (agent_) agent_->binding_begins(pod, node);
                                      },
                                      [this](const std::string& uid) {
                                        if (agent_) agent_->binding_failed(uid);
                                      }});
    if (images != nullptr) agent_->set_images(images);
    agent_->start();
    settle();
  }
  void settle(Duration length = std::chrono::milliseconds(200)) { harness_.loop.advance(length); }
  Json pod() { return harness_.call("GET", "/api/v1/namespaces/ns/pods/p").json; }
  std::string phase() {
    const Json now = pod();
    return std::string(text_at(now, {"status", "phase"}));
  }
  std::vector<std::string> messages_of(std::string_view reason) {
    std::vector<std::string> out;
    const Json events = harness_.call("GET", "/api/v1/namespaces/ns/events").json;
    for (const Json& event : list_at(events, {"items"})) {
      if (text_at(event, {"reason"}) == reason) out.emplace_back(text_at(event, {"message"}));
    }
    return out;
  }

  ApiHarness harness_;
  DirectClient client_;
  SimPodRuntime runtime_;
  SharedNetwork network_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace yard
