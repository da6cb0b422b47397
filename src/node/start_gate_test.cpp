#include "node/start_gate.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

using std::chrono::milliseconds;

const Time kNow = from_unix_seconds(1'700'000'000);

Time ago(int ms) {
  return kNow - milliseconds(ms);
}

StartGate waiting(int began_ago_ms) {
  StartGate gate;
  gate.began = ago(began_ago_ms);
  return gate;
}
StartGate announced(StartGate gate) {
  gate.announced = true;
  return gate;
}
StartGate opened() {
  StartGate gate = waiting(10);
  gate.opened = true;
  return gate;
}

const AwaitedPod kNone;
const AwaitedPod kPending{true, false, "10.0.0.1", std::nullopt};
const AwaitedPod kEnded{true, true, "10.0.0.1", std::nullopt};
AwaitedPod running(int since_ago_ms) {
  return {true, false, "10.0.0.1", ago(since_ago_ms)};
}

std::string in_words(const GateStep& step) {
  std::string out = step.opens ? "open" : "wait";
  if (step.holds_until)
    out +=
        ", hold " +
        std::to_string(std::chrono::duration_cast<milliseconds>(*step.holds_until - kNow).count());
  if (step.announce) out += ", announce";
  if (step.look_again)
    out += " " + std::to_string(
                     std::chrono::duration_cast<milliseconds>(*step.look_again - kNow).count());
  return out;
}

struct Case {
  const char* about;
  StartGate gate;
  AwaitedPod awaited;
  const char* step;  // and milliseconds until the next look
};

const Case kCases[] = {
    {"when the master runs the worker starts, and its connects are held",
     {},
     running(10),
     "open, hold 4990"},
    {"not for a master without an address", {}, {true, false, "", ago(10)}, "wait 20"},
    {"a master that does not run yet is looked at again", {}, kPending, "wait 20"},
    {"the pause grows with the wait", waiting(800), kPending, "wait 100"},
    {"and not without end", announced(waiting(60'000)), kPending, "wait 250"},
    {"after two seconds it is said", waiting(2000), kPending, "wait, announce 250"},
    {"five seconds after the master runs nothing is held", waiting(6000), running(5000), "open"},
    {"a master that has ended opens it", waiting(10), kEnded, "open"},
    {"what has opened stays open", opened(), kPending, "open"},
    {"a master that is not there is waited for", waiting(100), kNone, "wait 20"},
    {"for five seconds", announced(waiting(5000)), kNone, "open"},
};

TEST(StartGate, DecidesByWhatIsKnownOfTheMaster) {
  for (const Case& row : kCases)
    EXPECT_EQ(in_words(gate_step(row.gate, row.awaited, kNow)), row.step) << row.about;
}

struct AddressCase {
  const char* annotation;
  const char* address;
};

TEST(StartGate, AnAddressIsANameAndAPort) {
  const AddressCase cases[] = {
      {"j-master-0:23456", "j-master-0 23456"},
      {"", "none"},
      {"j-master-0", "none"},
      {":80", "none"},
      {"j:0", "none"},
      {"j:65536", "none"},
      {"j:8x", "none"},
  };
  for (const AddressCase& row : cases) {
    const Json pod =
        JsonObject{{"metadata",
                    JsonObject{{"annotations", JsonObject{{kWaitForAnnotation, row.annotation}}}}}};
    const auto address = gate_address(pod);
    EXPECT_EQ(address ? address->host + " " + std::to_string(address->port) : "none", row.address)
        << row.annotation;
  }
  EXPECT_FALSE(gate_address(JsonObject{}));
}

TEST(StartGate, AMasterRunsSinceItsFirstContainer) {
  const AwaitedPod awaited = awaited_pod(yaml(R"(
status:
  phase: Running
  podIP: 10.0.0.1
  containerStatuses:
  - {name: a, state: {running: {startedAt: "2023-11-14T22:13:21Z"}}}
  - {name: b, state: {running: {startedAt: "2023-11-14T22:13:20Z"}}}
)"));
  EXPECT_EQ(awaited.address, "10.0.0.1");
  EXPECT_EQ(awaited.runs_since, kNow);
  EXPECT_FALSE(awaited_pod(Json()).exists);
  EXPECT_TRUE(awaited_pod(yaml("status: {phase: Failed}")).ended);
}

}  // namespace
}  // namespace yard
