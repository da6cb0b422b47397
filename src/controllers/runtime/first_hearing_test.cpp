#include "controllers/runtime/first_hearing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/direct_client.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

const Resource kConfigMap{"v1", "ConfigMap"};
constexpr int kMany = 450;

class FirstHearingTest : public testing::Test {
 protected:
  FirstHearingTest() {
    yard.make_namespace("default");
    int made = 0;
    for (int i = 0; i < kMany; ++i) {
      submit(ClientWrite::Verb::Create, i, [&made] { ++made; });
    }
    EXPECT_TRUE(yard.loop.run_until([&] { return made == kMany; }));
  }
  static std::string name(int number) { return fmt::format("n-{:03}", number); }
  void submit(ClientWrite::Verb verb, int number, std::function<void()> done) {
    client.submit({verb, kConfigMap, "default", name(number),
                   verb == ClientWrite::Verb::Delete
                       ? Json(JsonObject())
                       : Json(JsonObject{{"apiVersion", "v1"},
                                         {"kind", "ConfigMap"},
                                         {"metadata", JsonObject{{"name", name(number)}}}})},
                  [done = std::move(done)](const Result<ObjectPtr>& answer) {
                    EXPECT_TRUE(answer);
                    done();
                  });
  }
  FirstHearing::Setup setup() {
    return {.hear = [this](const ObjectPtr& one) { heard.emplace_back(one->name()); },
            .then = [this] { ++ends; }};
  }

  ApiHarness yard;
  DirectClient client{*yard.store, yard.api->committer(), [this] { return yard.api->kinds(); },
                      "test"};
  FirstHearing hearing{yard.loop, client};
  std::vector<std::string> heard;
  int ends = 0;
};

TEST_F(FirstHearingTest, TellsAllInTheirOrderOverSeveralTurns) {
  hearing.begin(kConfigMap, setup());
  EXPECT_FALSE(heard.empty()) << "the first at once";
  EXPECT_LT(heard.size(), size_t{kMany});
  EXPECT_FALSE(hearing.is_over());
  ASSERT_TRUE(yard.loop.run_until([&] { return hearing.is_over(); }));
  ASSERT_EQ(heard.size(), size_t{kMany});
  for (int i = 0; i < kMany; ++i)
    EXPECT_EQ(heard[static_cast<size_t>(i)], name(i));
  EXPECT_EQ(ends, 1);
}

TEST_F(FirstHearingTest, LeavesOutWhatHasGoneMeanwhile) {
  bool busy = true, gone = false;
  FirstHearing::Setup held = setup();
  held.is_busy = [&busy] { return busy; };
  hearing.begin(kConfigMap, held);
  submit(ClientWrite::Verb::Delete, kMany - 1, [&gone] { gone = true; });
  ASSERT_TRUE(yard.loop.run_until([&] { return gone; }));
  EXPECT_LT(heard.size(), size_t{kMany}) << "nothing more while it is busy";
  busy = false;
  ASSERT_TRUE(yard.loop.run_until([&] { return hearing.is_over(); }));
  EXPECT_EQ(heard.size(), size_t{kMany - 1});
  EXPECT_EQ(heard.back(), name(kMany - 2));
}

TEST_F(FirstHearingTest, ASecondOneTakesTheFirstOnesPlace) {
  hearing.begin(kConfigMap, setup());
  heard.clear();
  hearing.begin(kConfigMap, setup());
  ASSERT_TRUE(yard.loop.run_until([&] { return hearing.is_over(); }));
  EXPECT_EQ(heard.size(), size_t{kMany});
  EXPECT_EQ(ends, 1);
}

TEST_F(FirstHearingTest, TheEndMayBeginTheNext) {
  FirstHearing::Setup first = setup();
  first.then = [this] { hearing.begin({"v1", "Namespace"}, setup()); };
  hearing.begin(kConfigMap, std::move(first));
  ASSERT_TRUE(yard.loop.run_until([&] { return ends == 1; }));
  EXPECT_GT(heard.size(), size_t{kMany});
}

}  // namespace
}  // namespace yard
