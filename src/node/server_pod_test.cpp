#include "node/server_pod.h"

#include <gtest/gtest.h>

#include "api/core/mirror_pod.h"
#include "api/tree.h"

namespace yard {
namespace {

ServerPodFacts facts_of(int pid, bool follows_crash = false) {
  ServerPodFacts out;
  out.process = {
      pid, from_unix_seconds(1'700'000'000 + pid), {"trainyard", "serve"}, follows_crash};
  out.node = "box";
  out.node_uid = "n-uid";
  out.address = "127.0.0.1";
  return out;
}

// The pod as the server would have stored it.
Json stored(Json pod, const char* uid) {
  pod.get_object()["metadata"].get_object()["uid"] = uid;
  return pod;
}
Json made(const ServerPodFacts& facts) {
  return stored(plan_server_pod(facts, Json(), Json())->object, "1");
}
Json shown(const ServerPodFacts& facts, const Json& live, const Json& known = Json()) {
  const auto write = plan_server_pod(facts, live, known);
  return write ? write->object : live;
}
const Json& container_of(const Json& pod) {
  return list_at(pod, {"status", "containerStatuses"}).at(0);
}

TEST(ServerPod, IsMadeAsAMirrorOfItsNode) {
  const auto write = plan_server_pod(facts_of(7), Json(), Json());
  ASSERT_TRUE(write);
  EXPECT_EQ(write->verb, ClientWrite::Verb::Create);
  EXPECT_EQ(write->ns + "/" + write->name, "kubeflow/training-operator-box");
  EXPECT_TRUE(is_mirror_pod(write->object));
  EXPECT_EQ(text_at(write->object, {"spec", "nodeName"}), "box");
}

TEST(ServerPod, RunsSinceTheProcessDoes) {
  const Json pod = shown(facts_of(7), made(facts_of(7)));
  EXPECT_EQ(text_at(pod, {"status", "phase"}), "Running");
  EXPECT_EQ(text_at(pod, {"status", "startTime"}), "2023-11-14T22:13:27Z");
  EXPECT_EQ(int_at(container_of(pod), {"restartCount"}), 0);
  EXPECT_FALSE(plan_server_pod(facts_of(7), pod, Json())) << "and then nothing is left to write";
}

TEST(ServerPod, ANewProcessIsARestartOfTheSamePod) {
  const Json before = shown(facts_of(7), made(facts_of(7)));
  struct Row {
    bool crashed;
    int code;
    const char* reason;
  };
  for (const Row& row : {Row{false, 0, "Completed"}, Row{true, 137, "ContainerStatusUnknown"}}) {
    const Json after = shown(facts_of(9, row.crashed), before, *find(before, "status"));
    EXPECT_EQ(text_at(after, {"metadata", "uid"}), "1");
    EXPECT_EQ(int_at(container_of(after), {"restartCount"}), 1);
    EXPECT_EQ(int_at(container_of(after), {"lastState", "terminated", "exitCode"}), row.code);
    EXPECT_EQ(text_at(container_of(after), {"lastState", "terminated", "reason"}), row.reason);
  }
}

TEST(ServerPod, WhoeverDeletesItGetsItBackWithItsCounts) {
  const ServerPodFacts facts = facts_of(9);
  const Json first = shown(facts_of(7), made(facts_of(7)));
  Json leaving = shown(facts, first, *find(first, "status"));
  const Json known = *find(leaving, "status");
  leaving.get_object()["metadata"].get_object()["deletionTimestamp"] = "2023-11-14T23:00:00Z";
  const auto removal = plan_server_pod(facts, leaving, known);
  ASSERT_TRUE(removal);
  EXPECT_EQ(removal->verb, ClientWrite::Verb::Delete);
  EXPECT_EQ(text_at(removal->object, {"preconditions", "uid"}), "1");
  const Json again = shown(facts, stored(made(facts), "2"), known);
  EXPECT_EQ(int_at(container_of(again), {"restartCount"}), 1) << "nothing was started";
}

TEST(ServerPod, LeavesAPodThatOnlyHasItsName) {
  const Json theirs = JsonObject{
      {"metadata", JsonObject{{"name", "training-operator-box"}, {"namespace", "kubeflow"}}}};
  EXPECT_FALSE(plan_server_pod(facts_of(7), theirs, Json()));
}

TEST(ServerPod, AnotherCommandLineIsAnotherPod) {
  ServerPodFacts other = facts_of(9);
  other.process.command.emplace_back("--fake-gpus");
  const auto write = plan_server_pod(other, made(facts_of(7)), Json());
  ASSERT_TRUE(write);
  EXPECT_EQ(write->verb, ClientWrite::Verb::Delete);
}

TEST(ServerPod, ThisProcessIsOlderThanNow) {
  const Time now = from_unix_seconds(2'000'000'000);
  const ServerProcess own = read_own_process(now);
  EXPECT_GT(own.pid, 0);
  EXPECT_LE(own.started, now);
  EXPECT_GT(own.started, now - std::chrono::hours(1));
  ASSERT_FALSE(own.command.empty());
}

}  // namespace
}  // namespace yard
