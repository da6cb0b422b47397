#include "controllers/lifecycle/after_restore.h"

#include <gtest/gtest.h>

#include "api/tree.h"

namespace yard {
namespace {

Json pod(const char* node, const char* phase, bool begun) {
  Json out = JsonObject{{"metadata", JsonObject{{"name", "p"}}},
                        {"spec", JsonObject{{"nodeName", node}}},
                        {"status", JsonObject{{"phase", phase}}}};
  if (!begun) return out;
  JsonObject& status = section(out, "status");
  status["startTime"] = "2024-01-01T00:00:00Z";
  status["conditions"] = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
  status["containerStatuses"] = JsonArray{JsonObject{
      {"name", "c"},
      {"ready", true},
      {"state", JsonObject{{"running", JsonObject{{"startedAt", "2024-01-01T00:00:00Z"}}}}}}};
  return out;
}

TEST(PodsAfterARestore, AreLostWhenTheirProcessesAre) {
  const Time now = from_unix_seconds(1'704'067'200);
  struct Case {
    const char* about;
    Json pod;
    bool node_is_ours;
    bool lost;
  };
  const Case cases[] = {
      {"a pod that ran is lost", pod("here", "Running", true), true, true},
      {"also one that pulled its image", pod("here", "Pending", true), true, true},
      {"one that was only bound is started", pod("here", "Pending", false), true, false},
      {"unless to another machine", pod("there", "Pending", false), false, true},
      {"one that waits for a node waits on", pod("", "Pending", false), false, false},
      {"what has ended stays as it is", pod("there", "Succeeded", true), false, false},
      {"also when it failed", pod("here", "Failed", true), true, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.about);
    const auto next = pod_after_restore(one.pod, one.node_is_ours, now);
    ASSERT_EQ(next.has_value(), one.lost);
    if (!next) continue;
    EXPECT_EQ(text_at(*next, {"status", "phase"}), "Failed");
    EXPECT_EQ(text_at(*next, {"status", "reason"}), "NodeLost");
  }
}

TEST(PodsAfterARestore, SayWhatBecameOfTheirContainers) {
  const auto next =
      pod_after_restore(pod("here", "Running", true), true, from_unix_seconds(1'704'067'200));
  ASSERT_TRUE(next);
  const Json& container = list_at(*next, {"status", "containerStatuses"})[0];
  EXPECT_EQ(text_at(container, {"state", "terminated", "reason"}), "ContainerStatusUnknown");
  EXPECT_EQ(find_path(container, {"state", "running"}), nullptr);
  EXPECT_EQ(to_text(*find_path(container, {"ready"})), "false");
  std::string conditions;
  for (const Json& condition : list_at(*next, {"status", "conditions"}))
    conditions += std::string(text_at(condition, {"type"})) + "=" +
                  std::string(text_at(condition, {"status"})) + " ";
  EXPECT_EQ(conditions, "Ready=False ContainersReady=False DisruptionTarget=True ");
}

}  // namespace
}  // namespace yard
