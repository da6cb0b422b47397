#include "client/event_recorder.h"

#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "client/patient_client.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const Resource kConfigMap{"v1", "ConfigMap"}, kEvent{"v1", "Event"};

class EventRecorderTest : public testing::Test {
 protected:
  EventRecorderTest() {
    yard.make_namespace("default");
    yard.call("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m"}})");
    about = client.get(kConfigMap, "default", "m");
  }
  void tell(const std::string& message, const std::string& reason = "Why") {
    recorder.record(kConfigMap, *about, {EventNote::Type::Warning, reason, message});
    yard.loop.advance(1s);
  }
  std::vector<Json> events() const {
    std::vector<Json> out;
    for (const ObjectPtr& event : client.list(kEvent, ""))
      out.push_back(event->tree());
    return out;
  }

  ApiHarness yard;
  DirectClient client{*yard.store, yard.api->committer(), [this] { return yard.api->kinds(); },
                      "test"};
  EventRecorder recorder{yard.loop, client, "tester", "host", {.most_known = 2}};
  ObjectPtr about;
};

TEST_F(EventRecorderTest, TheSameAgainOnlyCounts) {
  tell("it broke");
  tell("it broke");
  tell("it broke");
  ASSERT_EQ(events().size(), 1u);
  const Json event = events()[0];
  EXPECT_EQ(int_at(event, {"count"}), 3);
  EXPECT_EQ(text_at(event, {"type"}), "Warning");
  EXPECT_EQ(text_at(event, {"source", "component"}), "tester");
  EXPECT_EQ(text_at(event, {"involvedObject", "uid"}), about->uid());
  EXPECT_EQ(name_of(event).substr(0, 2), "m.");
  EXPECT_GT(*time_at(event, {"lastTimestamp"}), *time_at(event, {"firstTimestamp"}));
}

TEST_F(EventRecorderTest, ManyThatDifferShareALine) {
  for (int i = 0; i < 20; ++i)
    tell("number " + std::to_string(i));
  ASSERT_EQ(events().size(), 11u);
  EXPECT_EQ(text_at(events()[10], {"message"}), "(combined from similar events): number 19");
  EXPECT_EQ(int_at(events()[10], {"count"}), 10);
}

TEST_F(EventRecorderTest, OneObjectCannotFlood) {
  for (int i = 0; i < 100; ++i)
    tell("x", "Reason" + std::to_string(i));
  EXPECT_LE(events().size(), 26u);
  yard.loop.advance(10min);
  const size_t before = events().size();
  tell("later");
  EXPECT_EQ(events().size(), before + 1);
}

TEST_F(EventRecorderTest, AnEventThatExpiredBeginsAnew) {
  tell("it broke");
  yard.call("DELETE", "/api/v1/namespaces/default/events/" + std::string(name_of(events()[0])));
  tell("it broke");
  tell("it broke");
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(int_at(events()[0], {"count"}), 1);
}

TEST_F(EventRecorderTest, ATreeIsToldOfAsAnObjectIsAndAPartOfItByItsPath) {
  tell("it broke");
  const EventNote note{EventNote::Type::Warning, "Why", "it broke"};
  recorder.record(about->tree(), note);
  yard.loop.advance(1s);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(int_at(events()[0], {"count"}), 2);
  recorder.record(about->tree(), {note.type, note.reason, note.message, "spec.containers{a}"});
  yard.loop.advance(1s);
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(text_at(events()[1], {"involvedObject", "fieldPath"}), "spec.containers{a}");
  EXPECT_EQ(text_at(events()[1], {"involvedObject", "kind"}), "ConfigMap");
  EXPECT_EQ(text_at(events()[1], {"source", "host"}), "host");
  EXPECT_EQ(text_at(events()[1], {"reportingInstance"}), "host");
}

TEST_F(EventRecorderTest, EventsGiveWay) {
  PatientClient patient(yard.loop, client);
  size_t told = 0, acted = 0;
  const auto submit = [&](const Resource& resource, const std::string& name) {
    Json object = JsonObject{{"apiVersion", "v1"},
                             {"kind", resource.kind},
                             {"metadata", JsonObject{{"name", name}, {"namespace", "default"}}}};
    if (resource == kEvent)
      object.get_object()["involvedObject"] = JsonObject{{"namespace", "default"}};
    patient.submit({ClientWrite::Verb::Create, resource, "default", name, std::move(object)},
                   [&](const Result<ObjectPtr>& made) {
                     EXPECT_TRUE(made) << made.error().message;
                     ++(resource == kEvent ? told : acted);
                   });
  };
  submit(kEvent, "quiet");
  yard.loop.advance(10ms);
  EXPECT_EQ(told, 1u) << "nothing else is done: at once";
  int number = 0;
  for (Duration passed{}; passed < 4s; passed += 10ms) {  // a thousand writes a second
    for (int i = 0; i < 10; ++i)
      submit(kConfigMap, "m" + std::to_string(++number));
    if (passed == 200ms)
      for (int i = 0; i < 40; ++i)
        submit(kEvent, "e" + std::to_string(i));
    yard.loop.advance(10ms);
  }
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(acted, 4000u);
  yard.loop.advance(200ms);
  EXPECT_EQ(told, 41u) << "it is quiet again";
  submit(kEvent, "last");
  for (Duration passed{}; passed < 6s; passed += 10ms) {
    for (int i = 0; i < 10; ++i)
      submit(kConfigMap, "m" + std::to_string(++number));
    if (passed == 200ms) submit(kEvent, "late");
    yard.loop.advance(10ms);
  }
  EXPECT_EQ(told, 43u) << "nothing waits for ever";
}

}  // namespace
}  // namespace yard
