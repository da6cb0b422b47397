#include "controllers/lifecycle/event_expiry.h"

#include "sim/lifecycle_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr const char* kEvents = "/api/v1/namespaces/default/events";

TEST(LastWrite, IsTheLatestTimeThatHasCome) {
  const Time now = *parse_rfc3339("2026-01-01T12:00:00Z");
  const struct {
    const char *about, *event, *time;
  } cases[] = {
      {"its creation, when it says no more",
       "metadata: {creationTimestamp: '2026-01-01T10:00:00Z'}", "2026-01-01T10:00:00Z"},
      {"the last of the counted",
       "{metadata: {creationTimestamp: '2026-01-01T10:00:00Z'}, lastTimestamp: "
       "'2026-01-01T11:00:00Z'}",
       "2026-01-01T11:00:00Z"},
      {"the end of a series",
       "{metadata: {creationTimestamp: '2026-01-01T10:00:00Z'}, eventTime: '2026-01-01T10:00:01Z', "
       "series: {lastObservedTime: '2026-01-01T11:30:00Z'}}",
       "2026-01-01T11:30:00Z"},
      {"what the server noted",
       "metadata: {creationTimestamp: '2026-01-01T10:00:00Z', managedFields: [{time: "
       "'2026-01-01T10:40:00Z'}, {time: '2026-01-01T10:30:00Z'}]}",
       "2026-01-01T10:40:00Z"},
      {"a time to come is not believed",
       "{metadata: {creationTimestamp: '2026-01-01T10:00:00Z'}, lastTimestamp: "
       "'2099-01-01T00:00:00Z'}",
       "2026-01-01T10:00:00Z"},
  };
  for (const auto& row : cases)
    EXPECT_EQ(rfc3339(last_write(yaml(row.event), now)), row.time) << row.about;
}

class EventExpiryTest : public LifecycleTest {
 protected:
  void make_event(const std::string& name) {
    const Answer made = yard.call(
        "POST", kEvents,
        fmt::format(R"({{"metadata":{{"name":"{}"}},"involvedObject":{{"namespace":"default"}}}})",
                    name));
    EXPECT_EQ(made.status, 201) << made.text;
  }
  size_t events() { return client->list({"v1", "Event"}, "").size(); }
};

TEST_F(EventExpiryTest, AnEventGoesAnHourAfterItsLastWrite) {
  make_event("a");
  make_event("b");
  yard.loop.advance(30min);
  EXPECT_EQ(yard.patch(std::string(kEvents) + "/b", R"({"count":2})").status, 200);
  yard.loop.advance(29min);
  EXPECT_EQ(events(), 2u);
  yard.loop.advance(2min);
  EXPECT_EQ(events(), 1u);
  EXPECT_TRUE(exists(std::string(kEvents) + "/b"));
  yard.loop.advance(30min);
  EXPECT_EQ(events(), 0u);
  EXPECT_EQ(event_expiry->known(), 0u);
}

TEST_F(EventExpiryTest, AStartKeepsTheirTime) {
  make_event("a");
  stop();
  yard.loop.advance(50min);
  start();
  yard.loop.advance(9min);
  EXPECT_EQ(events(), 1u);
  yard.loop.advance(2min);
  EXPECT_EQ(events(), 0u);
}

TEST_F(EventExpiryTest, ARemovalThatFailedIsTriedAgain) {
  make_event("a");
  yard.loop.advance(59min);
  yard.log->fail_next(2);
  yard.loop.advance(90s);
  EXPECT_EQ(events(), 1u);
  yard.loop.advance(90s);
  EXPECT_EQ(events(), 0u);
}

TEST_F(EventExpiryTest, ManyGoInBatchesAndNothingWakesAfterwards) {
  for (int i = 0; i < 350; ++i)
    make_event(fmt::format("e{}", i));
  yard.loop.advance(61min);
  EXPECT_EQ(events(), 0u);
  yard.loop.advance(10min);
  EXPECT_EQ(yard.loop.pending(), 0u) << "no Event, no timer";
}

}  // namespace
}  // namespace yard
