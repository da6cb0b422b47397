// Pulls as the agent sees them: on the real API server, with played images and pods.

#include "sim/agent_harness.h"

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
  bool asks_registry(std::string_view, bool) const override { return has_registry; }
  std::string local_id(std::string_view) override { return store_id; }
  void pull(PullOrder order, PullListener listener) override {
    orders.push_back(std::move(order.image));
    needs.push_back(order.from);
    waiting.push_back(std::move(listener));
  }
  void answer(const Result<PulledImage>& outcome) {
    auto all = std::exchange(waiting, {});
    is_here = static_cast<bool>(outcome);
    for (const auto& each : all)
      each.done(outcome);
  }
  void tell(const TakeProgress& progress) {
    for (const PullListener& each : waiting)
      each.progress(progress, seconds(2));
  }

  bool has_registry = true;
  std::string store_id;  // what podman has
  bool is_here = false;
  ImageEntry entry = [] {
    auto unpacked = std::make_shared<UnpackedImage>();
    unpacked->layers = {"l/r"};
    unpacked->id = "i@sha256:00";
    unpacked->origin = ImageOrigin::Registry;
    ImageEntry out;
    out.base = ImageEntry::Base::Layers;
    out.unpacked = std::move(unpacked);
    return out;
  }();
  std::vector<std::string> orders;
  std::vector<PullNeed> needs;
  std::vector<PullListener> waiting;
};

class AgentImagesTest : public AgentFixture {
 protected:
  AgentImagesTest() { start(&images_); }
  void create(const char* policy) {
    const Answer made = harness_.call(
        "POST", "/api/v1/namespaces/ns/pods",
        std::string(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",)") +
            R"("command":["x"],"imagePullPolicy":")" + policy + R"("}]}})");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  std::string waiting() {
    const Json now = pod();
    const JsonArray& statuses = list_at(now, {"status", "containerStatuses"});
    return statuses.empty() ? ""
                            : std::string(text_at(statuses[0], {"state", "waiting", "reason"}));
  }
  std::string waiting_message() {
    const Json now = pod();
    return std::string(
        text_at(list_at(now, {"status", "containerStatuses"})[0], {"state", "waiting", "message"}));
  }
  bool has_event(std::string_view reason, std::string_view words) {
    return std::ranges::any_of(messages_of(reason), [&](const std::string& message) {
      return message.find(words) != std::string::npos;
    });
  }

  PlayedImages images_;
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

TEST_F(AgentImagesTest, HowFarItHasComeIsToldOnceASecond) {
  create("IfNotPresent");
  images_.tell({1, 3, 5 << 20, 10 << 20});
  settle();
  EXPECT_EQ(waiting_message(), "");
  images_.tell({1, 3, 6 << 20, 10 << 20});
  settle(seconds(1));
  EXPECT_EQ(waiting(), "ContainerCreating");
  EXPECT_EQ(waiting_message(), "pulling its image: 1 of 3 layers, 6.0 MiB of 10.0 MiB, 2.3 MiB/s");
  images_.tell({2, 3, 8 << 20, 10 << 20});
  settle(seconds(1));
  EXPECT_EQ(waiting_message(), "pulling its image: 2 of 3 layers, 8.0 MiB of 10.0 MiB, 3.1 MiB/s");
  images_.answer(PulledImage{7, seconds(3), seconds(3)});
  settle();
  EXPECT_EQ(phase(), "Running");
}

TEST_F(AgentImagesTest, WhatPodmanHasIsTakenWithoutAPull) {
  images_.has_registry = false;
  images_.store_id = "sha256:00";
  create("IfNotPresent");
  EXPECT_EQ(images_.needs, (std::vector<PullNeed>{{true, false}}));
  EXPECT_FALSE(has_event("Pulling", ""));
  images_.answer(PulledImage{7, seconds(1), seconds(1), true});
  settle();
  EXPECT_EQ(phase(), "Running");
  EXPECT_TRUE(has_event("Pulled", "Container image \"i\" already present on machine"));
}

TEST_F(AgentImagesTest, WhatPodmanHasAndDoesNotShowIsPassedOver) {
  images_.has_registry = false;
  images_.store_id = "sha256:00";
  create("IfNotPresent");
  images_.store_id = "";
  images_.answer(error(Reason::NotFound, "Permission denied"));
  settle();
  EXPECT_EQ(phase(), "Running") << "on the host's own programs, as without podman";
  EXPECT_EQ(images_.orders.size(), 1u);
}

TEST_F(AgentImagesTest, WhatPodmanHasAndCannotBeTakenNowWaits) {
  images_.has_registry = false;
  images_.store_id = "sha256:00";
  create("IfNotPresent");
  images_.answer(error(Reason::InternalError, "no space left"));
  settle();
  EXPECT_EQ(waiting(), "ErrImagePull");
  EXPECT_EQ(images_.orders.size(), 1u) << "not again and again at once";
  settle(seconds(11));
  EXPECT_EQ(images_.orders.size(), 2u);
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
