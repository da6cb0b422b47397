// The agent and the scheduler on the real API server, with played pods.

#include "sim/agent_harness.h"

namespace yard {
namespace {

class AgentTest : public AgentFixture {
 protected:
  AgentTest() { start(); }
  void restart_server() {
    agent_.reset();
    scheduler_.reset();
    start();
  }
  std::string uid() {
    const Json now = pod();
    return std::string(text_at(now, {"metadata", "uid"}));
  }
  void create(const std::string& more) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","command":["x"]}],)" +
            more + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  // A pod whose only container has these members too.
  void create_with(const std::string& members) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","command":["x"],)" +
            members + "}]}}");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  int64_t restarts() {
    const Json now = pod();
    return int_at(list_at(now, {"status", "containerStatuses"})[0], {"restartCount"});
  }
  std::vector<std::string> reasons() {
    std::vector<std::string> out;
    const Json events = harness_.call("GET", "/api/v1/namespaces/ns/events").json;
    for (const Json& event : list_at(events, {"items"}))
      out.emplace_back(text_at(event, {"reason"}));
    std::ranges::sort(out);
    return out;
  }
};

TEST_F(AgentTest, TheNodeIsReadyAndTakesPods) {
  const Json node = harness_.call("GET", "/api/v1/nodes/box").json;
  EXPECT_EQ(condition_status(node, "Ready"), "True");
  EXPECT_EQ(text_at(node, {"status", "capacity", "cpu"}), "4");
  EXPECT_TRUE(list_at(node, {"spec", "taints"}).empty());
}

// Whatever else is written about the node meanwhile, and however far that has come.
TEST_F(AgentTest, WhatTheNetworkLacksIsToldBesideOtherWrites) {
  const auto told = [&] {
    const Json node = harness_.call("GET", "/api/v1/nodes/box").json;
    for (const Json& condition : list_at(node, {"status", "conditions"})) {
      if (text_at(condition, {"type"}) == "NetworkDegraded")
        return std::string(text_at(condition, {"message"}));
    }
    return std::string();
  };
  for (int steps = 0; steps < 30; ++steps) {
    const std::string before = "no way out " + std::to_string(steps);
    const std::string after = "no names " + std::to_string(steps);
    agent_->set_network_problem(before);
    for (int step = 0; step < steps; ++step)
      harness_.loop.run_one();
    agent_->set_network_problem(after);
    settle();
    EXPECT_EQ(told(), after) << steps << " steps after the one before";
  }
}

TEST_F(AgentTest, APodRunsToItsEnd) {
  create(R"("restartPolicy":"Never")");
  EXPECT_EQ(phase(), "Running");
  const Json bound = pod();
  EXPECT_EQ(text_at(bound, {"spec", "nodeName"}), "box");
  runtime_.exit(uid(), "c", 0);
  settle();
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_TRUE(runtime_.records.empty()) << "nothing of a finished pod stays on the machine";
  EXPECT_EQ(reasons(), (std::vector<std::string>{"Created", "Pulled", "Scheduled", "Started"}));
}

class GateTest : public AgentTest {
 protected:
  void create_pod(const std::string& name, const std::string& annotations) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        R"({"metadata":{"name":")" + name + R"(","annotations":{)" + annotations +
            R"(}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["x"]}]}})");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  void create_worker() { create_pod("p", R"("trainyard.dev/wait-for":"m:23456")"); }
  bool has_started() {
    const PodRecord* record = runtime_.find(uid());
    return record != nullptr && !record->runs.empty();
  }
  void pass(int ms) { harness_.loop.advance(std::chrono::milliseconds(ms)); }
};

TEST_F(GateTest, AWorkerStartsBesideItsMasterAndItsConnectionsAreHeld) {
  create_worker();
  pass(1000);
  EXPECT_FALSE(has_started());
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(messages_of("WaitingForMaster").empty()) << "a second is not long";
  create_pod("m", "");
  pass(300);
  EXPECT_TRUE(has_started());
  EXPECT_EQ(phase(), "Running");
  const HeldConnections& held = runtime_.launches.back().held;
  EXPECT_EQ(held.port, 23456);
  EXPECT_FALSE(held.address.empty());
  EXPECT_GT(held.longest, std::chrono::seconds(3));
  EXPECT_LE(held.longest, std::chrono::seconds(5));
  EXPECT_TRUE(runtime_.launches.front().held.address.empty()) << "the master waits for nobody";
}

TEST_F(GateTest, AMasterThatIsNotThereIsNotWaitedForForEver) {
  create_worker();
  pass(3000);
  EXPECT_FALSE(has_started());
  EXPECT_EQ(messages_of("WaitingForMaster").size(), 1u);
  pass(3000);
  EXPECT_TRUE(has_started());
  EXPECT_TRUE(runtime_.launches.back().held.address.empty());
  EXPECT_EQ(messages_of("WaitingForMaster").size(), 1u);
  runtime_.exit(uid(), "c", 0);
  settle();
  EXPECT_EQ(phase(), "Succeeded");
}

TEST_F(GateTest, AMasterThatHasEndedOpensTheGate) {
  create_pod("m", "");
  pass(100);
  const Json master = harness_.call("GET", "/api/v1/namespaces/ns/pods/m").json;
  runtime_.exit(std::string(text_at(master, {"metadata", "uid"})), "c", 1);
  pass(100);
  create_worker();
  pass(400);
  EXPECT_TRUE(has_started());
  EXPECT_TRUE(runtime_.launches.back().held.address.empty());
}

TEST_F(AgentTest, ARestartedServerStartsNothingAgain) {
  create(R"("restartPolicy":"Always")");
  const size_t launches = runtime_.launches.size();
  restart_server();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(runtime_.launches.size(), launches);
  EXPECT_EQ(reasons().size(), 4u) << "no event is repeated";
}

TEST_F(AgentTest, ACrashLoopBacksOff) {
  create(R"("restartPolicy":"Always")");
  for (int i = 0; i < 3; ++i) {
    runtime_.exit(uid(), "c", 1);
    settle();
    if (i > 0) {
      const Json now = pod();
      EXPECT_EQ(
          text_at(list_at(now, {"status", "containerStatuses"})[0], {"state", "waiting", "reason"}),
          "CrashLoopBackOff");
      harness_.loop.advance(std::chrono::seconds(10 << (i - 1)));
    }
    EXPECT_EQ(runtime_.launches.size(), static_cast<size_t>(i + 2));
  }
}

TEST_F(AgentTest, RestartsOnlyEverCountUp) {
  runtime_.play_command = [](const auto&, const auto&) { return CommandOutcome{1, false, ""}; };
  create_with(
      R"("livenessProbe":{"exec":{"command":["false"]},"periodSeconds":5,"failureThreshold":1})");
  std::vector<int64_t> seen{0};
  for (int second = 0; second < 600 && seen.back() < 6; ++second) {
    harness_.loop.advance(std::chrono::seconds(1));
    if (restarts() != seen.back()) seen.push_back(restarts());
    if (second == 60) restart_server();
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(AgentTest, AShimThatCannotBeginIsTriedAgainMoreAndMoreSeldom) {
  runtime_.shims_die = true;
  create(R"("restartPolicy":"Always")");
  EXPECT_EQ(runtime_.started_shims, 1);
  harness_.loop.advance(std::chrono::seconds(60));
  EXPECT_GE(runtime_.started_shims, 5);
  EXPECT_LE(runtime_.started_shims, 8) << "1, 2, 4 ... seconds apart";
  EXPECT_EQ(phase(), "Pending");
  EXPECT_FALSE(messages_of("FailedCreatePodSandBox").empty());
  runtime_.shims_die = false;
  harness_.loop.advance(std::chrono::seconds(70));
  EXPECT_EQ(phase(), "Running");
}

TEST_F(AgentTest, GpusOfOutsidersAreNotOfferedUntilTheyEnd) {
  agent_.reset();
  MachineFacts machine;
  machine.hostname = "Box";
  agent_ =
      std::make_unique<Agent>(client_, harness_.loop, runtime_, network_, NodeOptions{}, machine);
  agent_->set_gpus(pretended_gpus(2));
  std::vector<GpuProcess> outsiders{{"0", 77, "python3"}};
  agent_->set_gpu_processes([&](const std::vector<int>&) { return outsiders; });
  agent_->start();
  settle();
  const auto node = [&] { return client_.get({"v1", "Node"}, "", "box")->tree(); };
  const auto offered = [&] {
    return std::string(text_at(node(), {"status", "allocatable", "nvidia.com/gpu"})) + " of " +
           std::string(text_at(node(), {"status", "capacity", "nvidia.com/gpu"}));
  };
  EXPECT_EQ(offered(), "1 of 2");
  EXPECT_EQ(text_at(node(), {"metadata", "annotations", "trainyard.dev/gpus-in-use"}),
            "GPU 0: process 77 (python3)");
  create_with(R"("resources":{"limits":{"nvidia.com/gpu":1}})");
  EXPECT_EQ(runtime_.pod_launches[uid()].gpus, std::vector<std::string>{"1"});
  EXPECT_TRUE(messages_of("GPUInUse").empty());
  outsiders.clear();
  harness_.loop.advance(std::chrono::seconds(11));
  EXPECT_EQ(offered(), "2 of 2");
  EXPECT_EQ(text_at(node(), {"metadata", "annotations", "trainyard.dev/gpus-in-use"}), "");
  // One that comes while no pod asks for a device.
  outsiders = {{"0", 78, "notebook"}};
  harness_.loop.advance(std::chrono::seconds(61));
  EXPECT_EQ(offered(), "1 of 2");
}

TEST_F(AgentTest, OutsidersOnAPodsGpuAreNoticed) {
  agent_.reset();
  MachineFacts machine;
  machine.hostname = "Box";
  machine.cpus = 4;
  machine.memory_bytes = int64_t{8} << 30;
  agent_ =
      std::make_unique<Agent>(client_, harness_.loop, runtime_, network_, NodeOptions{}, machine);
  agent_->set_gpus(pretended_gpus(2));
  std::vector<GpuProcess> outsiders;
  agent_->set_gpu_processes([&](const std::vector<int>&) { return outsiders; });
  agent_->start();
  settle();
  outsiders = {{"0", 77, "python3"}, {"1", 78, "other"}};  // while nobody looks
  create_with(R"("resources":{"limits":{"nvidia.com/gpu":1}})");
  EXPECT_EQ(messages_of("GPUInUse"),
            (std::vector<std::string>{
                "GPU 0 is also used by process 77 (python3), which belongs to no pod"}));
}

// A machine that a test makes run short.
class PressureTest : public AgentTest, public UsageSource {
 protected:
  PressureTest() {
    room_.memory_available = int64_t{4} << 30;
    agent_->set_meter([this] { return room_; }, this);
  }
  void measure(std::function<void(const UsageReport&)> done) override {
    ++measured_;
    harness_.loop.post([this, done = std::move(done)] { done(report_); });
  }
  Json node() { return harness_.call("GET", "/api/v1/nodes/box").json; }
  void pass(int seconds) { harness_.loop.advance(std::chrono::seconds(seconds)); }

  MachineRoom room_;
  UsageReport report_;
  int measured_ = 0;
};

TEST_F(PressureTest, AGreedyPodGoesAndTheNodeTakesNoMoreUntilItIsOver) {
  create(R"("restartPolicy":"Always")");
  const std::string greedy = uid();
  pass(60);
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(measured_, 0) << "pods are measured only when there is need";
  room_.memory_available = int64_t{50} << 20;
  report_.pods[greedy]["c"].memory_bytes = int64_t{1} << 30;
  pass(15);
  const Json gone = pod();
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(text_at(gone, {"status", "reason"}), "Evicted");
  const std::string words =
      "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
      "Container c was using 1Gi, request is 0, has larger consumption of memory. ";
  EXPECT_EQ(text_at(gone, {"status", "message"}), words);
  EXPECT_EQ(condition_status(gone, "DisruptionTarget"), "True");
  EXPECT_EQ(messages_of("Evicted"), std::vector<std::string>{words});
  EXPECT_EQ(condition_status(node(), "MemoryPressure"), "True");
  const Json tainted = node();
  ASSERT_EQ(list_at(tainted, {"spec", "taints"}).size(), 1u);
  EXPECT_EQ(text_at(list_at(tainted, {"spec", "taints"})[0], {"key"}),
            "node.kubernetes.io/memory-pressure");
  room_.memory_available = int64_t{4} << 30;
  pass(200);
  EXPECT_EQ(condition_status(node(), "MemoryPressure"), "True") << "it does not come and go";
  pass(150);
  EXPECT_EQ(condition_status(node(), "MemoryPressure"), "False");
  EXPECT_TRUE(list_at(node(), {"spec", "taints"}).empty());
}

TEST_F(PressureTest, AFullDiskEvictsWhoWroteMost) {
  create(R"("restartPolicy":"Always")");
  room_.disk_total = int64_t{100} << 30;
  room_.disk_available = int64_t{1} << 30;
  runtime_.usage.containers["c"] = uint64_t{3} << 30;
  pass(15);
  const Json gone = pod();
  EXPECT_EQ(text_at(gone, {"status", "message"}),
            "The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: "
            "1Gi. Container c was using 3Gi, request is 0, has larger consumption of "
            "ephemeral-storage. ");
  EXPECT_EQ(condition_status(node(), "DiskPressure"), "True");
}

TEST_F(AgentTest, ADeletionWaitsForTheGraceOnly) {
  create(R"("terminationGracePeriodSeconds":5)");
  runtime_.ignores_term = true;
  harness_.call("DELETE", "/api/v1/namespaces/ns/pods/p");
  settle();
  EXPECT_EQ(runtime_.signals, (std::vector<std::string>{"c 15"}));
  EXPECT_EQ(harness_.call("GET", "/api/v1/namespaces/ns/pods/p").status, 200);
  harness_.loop.advance(std::chrono::seconds(6));
  EXPECT_EQ(runtime_.signals.back(), "c 9");
  EXPECT_EQ(harness_.call("GET", "/api/v1/namespaces/ns/pods/p").status, 404);
  EXPECT_TRUE(runtime_.records.empty());
}

TEST_F(AgentTest, AForcedDeletionEndsTheProcessesToo) {
  create(R"("restartPolicy":"Always")");
  harness_.call("DELETE", "/api/v1/namespaces/ns/pods/p?gracePeriodSeconds=0");
  settle();
  EXPECT_EQ(harness_.call("GET", "/api/v1/namespaces/ns/pods/p").status, 404);
  EXPECT_TRUE(runtime_.records.empty());
}

TEST_F(AgentTest, APodDeletedWhileTheServerWasDownIsEnded) {
  create(R"("restartPolicy":"Always")");
  agent_.reset();
  harness_.call("DELETE", "/api/v1/namespaces/ns/pods/p?gracePeriodSeconds=0");
  restart_server();
  EXPECT_TRUE(runtime_.records.empty());
}

TEST_F(AgentTest, TheDeadlineFiresByTimer) {
  create(R"("activeDeadlineSeconds":7,"restartPolicy":"Never")");
  harness_.loop.advance(std::chrono::seconds(8));
  EXPECT_EQ(phase(), "Failed");
  const Json failed = pod();
  EXPECT_EQ(text_at(failed, {"status", "reason"}), "DeadlineExceeded");
}

TEST_F(AgentTest, AMissingConfigMapIsToldAndTriedAgain) {
  create(R"("volumes":[{"name":"v","configMap":{"name":"later"}}])");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(runtime_.records.empty());
  harness_.call("POST", "/api/v1/namespaces/ns/configmaps",
                R"({"metadata":{"name":"later"},"data":{"k":"v"}})");
  harness_.loop.advance(std::chrono::seconds(5));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(runtime_.pod_launches[uid()].volumes[0].files[0].content, "v");
}

TEST_F(AgentTest, ALostShimUnderNeverFailsThePod) {
  create(R"("restartPolicy":"Never")");
  runtime_.kill_shim(uid());
  settle();
  EXPECT_EQ(phase(), "Failed");
  const Json failed = pod();
  EXPECT_EQ(text_at(list_at(failed, {"status", "containerStatuses"})[0],
                    {"state", "terminated", "reason"}),
            "ContainerStatusUnknown");
}

TEST_F(AgentTest, AFailingLivenessProbeRestartsTheContainer) {
  runtime_.play_command = [](const auto&, const auto&) {
    return CommandOutcome{1, false, "no such file\n"};
  };
  create_with(R"("livenessProbe":{"exec":{"command":["cat","/healthy"]},"periodSeconds":2,
                  "failureThreshold":2})");
  harness_.loop.advance(std::chrono::seconds(3));
  EXPECT_EQ(runtime_.signals, (std::vector<std::string>{"c 15"}));
  EXPECT_EQ(restarts(), 1);
  EXPECT_EQ(messages_of("Unhealthy"),
            (std::vector<std::string>{"Liveness probe failed: no such file\n"}));
  EXPECT_EQ(messages_of("Killing"),
            (std::vector<std::string>{"Container c failed liveness probe, will be restarted"}));
}

TEST_F(AgentTest, AReadinessProbeDecidesTheConditions) {
  bool good = false;
  runtime_.play_command = [&](const auto&, const auto&) {
    return CommandOutcome{good ? 0 : 1, false, ""};
  };
  create_with(R"("readinessProbe":{"exec":{"command":["x"]},"periodSeconds":1})");
  harness_.loop.advance(std::chrono::seconds(5));
  EXPECT_EQ(condition_status(pod(), "Ready"), "False");
  good = true;
  harness_.loop.advance(std::chrono::seconds(2));
  EXPECT_EQ(condition_status(pod(), "ContainersReady"), "True");
  restart_server();
  EXPECT_EQ(condition_status(pod(), "Ready"), "True");
  good = false;
  harness_.loop.advance(std::chrono::seconds(5));
  EXPECT_EQ(condition_status(pod(), "Ready"), "False");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(restarts(), 0);
}

TEST_F(AgentTest, HooksRunAroundTheContainer) {
  std::vector<std::string> commands;
  runtime_.play_command = [&](const auto&, const std::vector<std::string>& argv) {
    commands.push_back(argv[0]);
    return CommandOutcome{argv[0] == "before" ? 0 : 1, false, ""};
  };
  create_with(R"("lifecycle":{"postStart":{"exec":{"command":["before"]}},
                              "preStop":{"exec":{"command":["after"]}}})");
  EXPECT_EQ(phase(), "Running");
  harness_.call("DELETE", "/api/v1/namespaces/ns/pods/p");
  settle();
  EXPECT_EQ(commands, (std::vector<std::string>{"before", "after"}));
  EXPECT_EQ(messages_of("FailedPreStopHook"), (std::vector<std::string>{"PreStopHook failed"}));
  EXPECT_EQ(harness_.call("GET", "/api/v1/namespaces/ns/pods/p").status, 404);
}

TEST_F(AgentTest, AFailedPostStartHookKillsTheContainer) {
  runtime_.play_command = [](const auto&, const auto&) { return CommandOutcome{1, false, ""}; };
  create_with(R"("lifecycle":{"postStart":{"exec":{"command":["before"]}}})");
  EXPECT_EQ(messages_of("FailedPostStartHook"), (std::vector<std::string>{"PostStartHook failed"}));
  EXPECT_EQ(messages_of("Killing"), (std::vector<std::string>{"FailedPostStartHook"}));
  EXPECT_GE(restarts(), 1);
}

TEST_F(AgentTest, APodThatFillsItsVolumeIsEvicted) {
  create(R"("volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}}])");
  harness_.loop.advance(std::chrono::seconds(11));
  EXPECT_EQ(phase(), "Running");
  runtime_.usage.volumes["v"] = 2 << 20;
  harness_.loop.advance(std::chrono::seconds(6));
  const Json evicted = pod();
  EXPECT_EQ(text_at(evicted, {"status", "phase"}), "Failed");
  EXPECT_EQ(text_at(evicted, {"status", "reason"}), "Evicted");
  EXPECT_EQ(text_at(evicted, {"status", "message"}),
            "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". ");
  EXPECT_EQ(condition_status(evicted, "DisruptionTarget"), "");
  EXPECT_EQ(messages_of("Evicted").size(), 1u);
}

TEST_F(AgentTest, AShutdownEndsWhatRunsAndBeginsNothing) {
  create(R"("terminationGracePeriodSeconds":60)");
  runtime_.ignores_term = true;
  bool done = false;
  agent_->shut_down([&] { done = true; });
  settle();
  EXPECT_EQ(runtime_.signals, (std::vector<std::string>{"c 15"}));
  EXPECT_FALSE(done);
  harness_.loop.advance(std::chrono::seconds(11));
  EXPECT_TRUE(done);
  const Json ended = pod();
  EXPECT_EQ(text_at(ended, {"status", "phase"}), "Failed");
  EXPECT_EQ(text_at(ended, {"status", "reason"}), "Terminated");
  EXPECT_EQ(text_at(ended, {"status", "message"}),
            "Pod was terminated in response to imminent node shutdown.");
  EXPECT_EQ(condition_status(ended, "DisruptionTarget"), "True");
  EXPECT_TRUE(runtime_.records.empty());
}

TEST_F(AgentTest, TheDeadlineIsOnTheWallWhateverTheClockDoes) {
  create(R"("activeDeadlineSeconds":100,"restartPolicy":"Never")");
  harness_.loop.advance(std::chrono::seconds(10));
  harness_.loop.jump_clock(-std::chrono::seconds(30));
  harness_.loop.advance(std::chrono::seconds(60));
  EXPECT_EQ(phase(), "Running") << "set back: it strikes no sooner";
  harness_.loop.jump_clock(std::chrono::hours(8));
  settle();
  EXPECT_EQ(phase(), "Failed") << "a laptop that slept";
}

TEST_F(AgentTest, AClockSetBackHoldsUpNoRestart) {
  create(R"("restartPolicy":"Always")");
  for (int i = 0; i < 2; ++i) {
    runtime_.exit(uid(), "c", 1);
    settle();
  }
  EXPECT_EQ(restarts(), 1);
  harness_.loop.jump_clock(-std::chrono::hours(2));
  runtime_.touch(uid());
  settle();
  EXPECT_EQ(restarts(), 2);
}

TEST_F(AgentTest, WhatFitsNowhereSaysWhyAndGoesWhenThereIsRoom) {
  create(R"("restartPolicy":"Always","nodeSelector":{"disk":"ssd"})");
  EXPECT_EQ(phase(), "Pending");
  const Json waiting = pod();
  EXPECT_EQ(condition_status(waiting, "PodScheduled"), "False");
  harness_.patch("/api/v1/nodes/box", R"({"metadata":{"labels":{"disk":"ssd"}}})");
  settle();
  EXPECT_EQ(phase(), "Running");
}

}  // namespace
}  // namespace yard
