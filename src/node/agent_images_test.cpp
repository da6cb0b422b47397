// Pulls as the agent sees them: on the real API server, with played images and pods.

#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "node/agent.h"
#include "scheduler/scheduler.h"
#include "sim/api_harness.h"
#include "sim/sim_pod_runtime.h"

namespace yard {
namespace {

using std::chrono::seconds;

// A registry that answers when the test says so.
class PlayedImages : public NodeImages {
 public:
  const ImageEntry* find(std::string_view) override { return is_here ? &entry : nullptr; }
  std::vector<ImageCatalog::Listed> list() override { return {}; }
  std::uint64_t version() override { return 0; }
  void touch(std::string_view) override {}
  bool asks_registry(std::string_view, bool) const override { return true; }
  void pull(PullOrder order, std::function<void(const Result<PulledImage>&)> done) override {
    orders.push_back(std::move(order.image));
    waiting.push_back(std::move(done));
  }
  void answer(const Result<PulledImage>& outcome) {
    auto all = std::exchange(waiting, {});
    is_here = static_cast<bool>(outcome);
    for (const auto& each : all)
      each(outcome);
  }

  bool is_here = false;
  ImageEntry entry = [] {
    auto unpacked = std::make_shared<UnpackedImage>();
    unpacked->layers = {"l/r"};
    unpacked->id = "i@sha256:00";
    unpacked->from_registry = true;
    ImageEntry out;
    out.base = ImageEntry::Base::Layers;
    out.unpacked = std::move(unpacked);
    return out;
  }();
  std::vector<std::string> orders;
  std::vector<std::function<void(const Result<PulledImage>&)>> waiting;
};

class AgentImagesTest : public ::testing::Test {
 protected:
  AgentImagesTest()
      : client_(
            *harness_.store, harness_.api->committer(), [this] { return harness_.api->kinds(); },
            "trainyard"),
        runtime_(harness_.loop) {
    harness_.make_namespace("ns");
    harness_.call("POST", "/api/v1/namespaces/ns/serviceaccounts",
                  R"({"metadata":{"name":"default"}})");
    harness_.call("POST", "/api/v1/namespaces/ns/configmaps",
                  R"({"metadata":{"name":"kube-root-ca.crt"},"data":{"ca.crt":"x"}})");
    MachineFacts machine;
    machine.hostname = "box";
    machine.cpus = 4;
    machine.memory_bytes = int64_t{8} << 30;
    scheduler_ = std::make_unique<Scheduler>(client_, harness_.loop);
    agent_ =
        std::make_unique<Agent>(client_, harness_.loop, runtime_, network_, NodeOptions{}, machine);
    agent_->set_images(&images_);
    agent_->start();
    settle();
  }
  void settle(Duration length = std::chrono::milliseconds(200)) { harness_.loop.advance(length); }
  void create(const char* policy) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        std::string(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",)") +
            R"("command":["x"],"imagePullPolicy":")" + policy + R"("}]}})");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  std::string waiting() {
    const Json now = harness_.call("GET", "/api/v1/namespaces/ns/pods/p").json;
    const JsonArray& statuses = list_at(now, {"status", "containerStatuses"});
    return statuses.empty() ? ""
                            : std::string(text_at(statuses[0], {"state", "waiting", "reason"}));
  }
  std::string phase() {
    const Json now = harness_.call("GET", "/api/v1/namespaces/ns/pods/p").json;
    return std::string(text_at(now, {"status", "phase"}));
  }
  bool has_event(std::string_view reason, std::string_view words) {
    const Json listed = harness_.call("GET", "/api/v1/namespaces/ns/events").json;
    for (const Json& each : list_at(listed, {"items"})) {
      if (text_at(each, {"reason"}) == reason &&
          text_at(each, {"message"}).find(words) != std::string_view::npos)
        return true;
    }
    return false;
  }

  ApiHarness harness_;
  DirectClient client_;
  SimPodRuntime runtime_;
  SharedNetwork network_;
  PlayedImages images_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentImagesTest, TheContainerWaitsForItsImage) {
  create("IfNotPresent");
  EXPECT_EQ(images_.orders, std::vector<std::string>{"i"});
  EXPECT_EQ(waiting(), "ContainerCreating");
  EXPECT_TRUE(has_event("Pulling", "Pulling image \"i\""));
  images_.answer(PulledImage{7, seconds(1), seconds(2)});
  settle();
  EXPECT_EQ(phase(), "Running");
  EXPECT_TRUE(has_event("Pulled", "in 1s (2s including waiting). Image size: 7 bytes."));
  EXPECT_EQ(images_.orders.size(), 1u);
}

TEST_F(AgentImagesTest, AFailureIsShownThenWaitsThenIsTriedAgain) {
  create("IfNotPresent");
  images_.answer(error(Reason::NotFound, "no such manifest"));
  settle();
  EXPECT_EQ(waiting(), "ErrImagePull");
  EXPECT_TRUE(has_event("Failed", "Failed to pull image \"i\": no such manifest"));
  settle(seconds(2));
  EXPECT_EQ(waiting(), "ImagePullBackOff");
  EXPECT_TRUE(has_event("BackOff", "Back-off pulling image \"i\""));
  EXPECT_EQ(images_.orders.size(), 1u);
  settle(seconds(9));
  EXPECT_EQ(images_.orders.size(), 2u);
  images_.answer(error(Reason::NotFound, "no such manifest"));
  settle(seconds(15));
  EXPECT_EQ(images_.orders.size(), 2u) << "the second wait is twice as long";
  settle(seconds(6));
  EXPECT_EQ(images_.orders.size(), 3u);
  images_.answer(PulledImage{1, seconds(1), seconds(1)});
  settle();
  EXPECT_EQ(phase(), "Running");
}

TEST_F(AgentImagesTest, NeverIsNeverPulled) {
  create("Never");
  EXPECT_TRUE(images_.orders.empty());
  EXPECT_EQ(waiting(), "ErrImageNeverPull");
}

TEST_F(AgentImagesTest, AlwaysAsksForWhatIsHereOnceAStart) {
  images_.is_here = true;
  create("Always");
  EXPECT_EQ(images_.orders.size(), 1u);
  images_.answer(PulledImage{1, seconds(1), seconds(1)});
  settle();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(images_.orders.size(), 1u);
}

}  // namespace
}  // namespace yard
