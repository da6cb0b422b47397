// TTL of Jobs and pods that nobody needs.

#include <gtest/gtest.h>

#include "controllers/batch/pod_gc.h"
#include "controllers/batch/ttl.h"
#include "controllers/lifecycle/garbage_collector.h"
#include "sim/job_yard.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const std::string kTemplate =
    "  template: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}\n";

TEST(Ttl, CountsFromTheEnd) {
  const struct {
    const char* about;
    const char* job;
    std::optional<int64_t> due;
  } cases[] = {
      {"no ttl",
       "{spec: {}, status: {conditions: [{type: Complete, status: 'True', lastTransitionTime: "
       "'1970-01-01T00:01:00Z'}]}}",
       {}},
      {"still running",
       "{spec: {ttlSecondsAfterFinished: 5}, status: {conditions: [{type: Suspended, status: "
       "'True'}]}}",
       {}},
      {"after success",
       "{spec: {ttlSecondsAfterFinished: 5}, status: {conditions: [{type: Complete, status: "
       "'True', lastTransitionTime: '1970-01-01T00:01:00Z'}]}}",
       65},
      {"after failure, at once",
       "{spec: {ttlSecondsAfterFinished: 0}, status: {conditions: [{type: Failed, status: 'True', "
       "lastTransitionTime: '1970-01-01T00:01:00Z'}]}}",
       60},
      {"a condition that is not so",
       "{spec: {ttlSecondsAfterFinished: 0}, status: {conditions: [{type: Failed, status: 'False', "
       "lastTransitionTime: '1970-01-01T00:01:00Z'}]}}",
       {}},
  };
  for (const auto& row : cases) {
    const auto due = expiry(yaml(row.job));
    EXPECT_EQ(due ? std::optional(unix_seconds(*due)) : std::nullopt, row.due) << row.about;
  }
}

TEST(Ttl, TheJobGoesWithItsPods) {
  JobYard yard;
  JobTtl ttl(yard.api.loop, *yard.client);
  GarbageCollector collector(yard.api.loop, *yard.client);
  yard.create("  ttlSecondsAfterFinished: 60\n" + kTemplate);
  yard.finish(yard.active()[0], 0);
  yard.settle(50s);
  EXPECT_TRUE(yard.job().is_object());
  yard.change_job("spec: {ttlSecondsAfterFinished: 100}");
  yard.settle(20s);
  EXPECT_TRUE(yard.job().is_object()) << "a longer ttl counts";
  yard.settle(40s);
  EXPECT_FALSE(yard.job().is_object());
  EXPECT_TRUE(yard.pods().empty());
}

class PodGcTest : public testing::Test {
 protected:
  void make_node(const std::string& name) {
    EXPECT_EQ(
        yard.api.call("POST", "/api/v1/nodes", R"({"metadata":{"name":")" + name + R"("}})").status,
        201);
  }
  void make_pod(const std::string& name, const std::string& node) {
    const Json pod = yaml("metadata: {name: " + name + "}\nspec: {nodeName: '" + node +
                          "', containers: [{name: main, image: i}]}");
    const Answer made = yard.api.call("POST", "/api/v1/namespaces/default/pods", to_text(pod));
    EXPECT_EQ(made.status, 201) << made.text;
    yard.settle(1s);
  }
  std::string names() const {
    std::string out;
    for (const Json& pod : yard.pods())
      out += (out.empty() ? "" : " ") + std::string(name_of(pod));
    return out;
  }
  JobYard yard;
};

TEST_F(PodGcTest, EndedPodsBeyondTheLimitGoOldestFirst) {
  PodGc gc(yard.api.loop, *yard.client, {.most_ended = 2});
  make_node("n1");
  for (const char* name : {"a", "b", "c", "d"})
    make_pod(name, "n1");
  yard.finish("b", 0);
  yard.finish("a", 1);
  EXPECT_EQ(names(), "a b c d");
  yard.finish("c", 0);
  EXPECT_EQ(names(), "b c d");
  yard.patch_status("d", R"({"phase":"Failed","reason":"Evicted"})");
  EXPECT_EQ(names(), "b c") << "evicted ones go before older ones";
}

TEST_F(PodGcTest, PodsOfAVanishedNodeFailAndGo) {
  PodGc gc(yard.api.loop, *yard.client);
  make_node("n1");
  make_pod("a", "n1");
  yard.api.patch(JobYard::pod_path("a", ""), R"({"metadata":{"finalizers":["example.com/keep"]}})");
  EXPECT_EQ(yard.api.call("DELETE", "/api/v1/nodes/n1").status, 200);
  yard.settle(30s);
  EXPECT_EQ(text_at(yard.pods()[0], {"status", "phase"}), "Pending");
  yard.settle(11s);
  const Json pod = yard.pods()[0];
  EXPECT_EQ(text_at(pod, {"status", "phase"}), "Failed");
  EXPECT_TRUE(is_being_deleted(pod));
  EXPECT_EQ(condition_status(pod, "DisruptionTarget"), "True");
}

TEST_F(PodGcTest, ANodeThatComesBackKeepsItsPods) {
  PodGc gc(yard.api.loop, *yard.client);
  make_node("n1");
  make_pod("a", "n1");
  yard.api.call("DELETE", "/api/v1/nodes/n1");
  yard.settle(30s);
  make_node("n1");
  yard.settle(2min);
  EXPECT_EQ(text_at(yard.pods()[0], {"status", "phase"}), "Pending");
}

}  // namespace
}  // namespace yard
