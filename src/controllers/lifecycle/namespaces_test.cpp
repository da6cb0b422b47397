#include "controllers/lifecycle/namespaces.h"

#include "api/tree.h"
#include "sim/lifecycle_harness.h"

namespace yard {
namespace {

NamespaceWorld::Content content(const char* kind, const char* name, bool being_deleted,
                                std::vector<std::string> finalizers = {}) {
  const bool is_pod = std::string_view(kind) == "Pod";
  return {{{"v1", kind}, "n", name}, name, is_pod ? "pods." : "configmaps.", is_pod, being_deleted,
          std::move(finalizers)};
}

TEST(PlanNamespace, GoesStepByStep) {
  const struct {
    const char* about;
    std::vector<NamespaceWorld::Content> contents;
    bool status_is_written;  // as the pass before would have
    const char* plan;
  } cases[] = {
      {"pods go first",
       {content("ConfigMap", "m", false), content("Pod", "p", false)},
       false,
       "delete Pod n/p (Background)\nagain after 0s"},
      {"while pods end, the rest stays and the status says why",
       {content("ConfigMap", "m", false), content("Pod", "p", true)},
       false,
       "status Namespace n\nagain after 0s"},
      {"the status is written once",
       {content("ConfigMap", "m", false), content("Pod", "p", true)},
       true,
       ""},
      {"then everything else",
       {content("ConfigMap", "m", false), content("ConfigMap", "k", true)},
       false,
       "delete ConfigMap n/m (Background)\nagain after 0s"},
      {"what waits for dependents waits no longer",
       {content("Pod", "p", true, {"foregroundDeletion"})},
       false,
       "delete Pod n/p (Background)\nagain after 0s"},
      {"finalizers are waited for", {content("ConfigMap", "m", true, {"a.io/b"})}, true, ""},
      {"an empty one says so first", {}, false, "status Namespace n\nagain after 0s"},
      {"and then goes", {}, true, "finalize Namespace n"},
  };
  for (const auto& row : cases) {
    NamespaceWorld world{{{"v1", "Namespace"}, "", "n"},
                         JsonObject{{"spec", JsonObject{{"finalizers", JsonArray{"kubernetes"}}}}},
                         row.contents,
                         {}};
    if (row.status_is_written) {
      NamespaceWorld before = world;
      for (auto& each : before.contents)
        each.being_deleted = true;
      const Plan first = plan_namespace(before);
      ASSERT_TRUE(first.last) << row.about;
      world.tree = first.last->object;
    }
    EXPECT_EQ(to_text(plan_namespace(world)), row.plan) << row.about;
  }
}

TEST(PlanNamespace, TellsWhatCouldNotBeDeleted) {
  NamespaceWorld world{{{"v1", "Namespace"}, "", "n"},
                       JsonObject{},
                       {content("ConfigMap", "m", false)},
                       {},
                       {"no", "configmaps \"m\" is kept"}};
  const Plan plan = plan_namespace(world);
  ASSERT_EQ(to_text(plan), "delete ConfigMap n/m (Background)\nstatus Namespace n\nagain after 0s");
  const Json& told = plan.writes[1].object;
  EXPECT_EQ(condition_status(told, "NamespaceDeletionContentFailure"), "True");
  EXPECT_EQ(text_at(list_at(told, {"status", "conditions"})[2], {"message"}),
            "Failed to delete all resource types, 2 remaining: configmaps \"m\" is kept; no");
}

class NamespacesTest : public LifecycleTest {
 protected:
  NamespacesTest() {
    yard.make_namespace("n");
    EXPECT_EQ(yard.call("POST", "/api/v1/namespaces/n/serviceaccounts",
                        R"({"metadata":{"name":"default"}})")
                  .status,
              201);
  }
  void make_pod(const std::string& name, const std::string& node) {
    const std::string bound = node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node);
    const Answer made = yard.call(
        "POST", "/api/v1/namespaces/n/pods",
        fmt::format(
            R"({{"metadata":{{"name":"{}"}},"spec":{{{}"containers":[{{"name":"c","image":"i"}}]}}}})",
            name, bound));
    EXPECT_EQ(made.status, 201) << made.text;
  }
  std::string condition(const char* type, const char* member = "message") {
    const Json ns = get("/api/v1/namespaces/n");
    for (const Json& each : list_at(ns, {"status", "conditions"})) {
      if (text_at(each, {"type"}) == type) return std::string(text_at(each, {member}));
    }
    return "";
  }
};

TEST_F(NamespacesTest, EverythingInItGoesAndThenItself) {
  make("m", "", "n");
  make_pod("p", "");
  EXPECT_EQ(
      yard.call(
              "POST", "/apis/batch/v1/namespaces/n/jobs",
              R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})")
          .status,
      201);
  remove("/api/v1/namespaces/n");
  EXPECT_EQ(text_at(get("/api/v1/namespaces/n"), {"status", "phase"}), "Terminating");
  settle();
  EXPECT_FALSE(exists("/api/v1/namespaces/n"));
  for (const Resource& resource : client->resources(true))
    EXPECT_TRUE(client->list(resource, "n").empty()) << resource.kind;
  EXPECT_TRUE(namespaces->is_idle());
}

TEST_F(NamespacesTest, PodsHaveTheirGraceAndTheRestWaitsForThem) {
  make("m", "", "n");
  make_pod("p", "node-1");
  make_pod("q", "node-1");
  remove("/api/v1/namespaces/n");
  settle();
  EXPECT_TRUE(exists(map("m", "n")));
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "Some resources are remaining: configmaps. has 1 resource instances, pods. has 2 "
            "resource instances, "
            "serviceaccounts. has 1 resource instances");
  EXPECT_EQ(condition("NamespaceContentRemaining", "status"), "True");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining", "status"), "False");
  for (const char* pod : {"p", "q"})
    yard.call("DELETE", std::string("/api/v1/namespaces/n/pods/") + pod,
              R"({"gracePeriodSeconds":0})");
  settle();
  EXPECT_FALSE(exists("/api/v1/namespaces/n"));
}

TEST_F(NamespacesTest, FinalizersAreNamedWhileTheyHoldIt) {
  make("m", "\"finalizers\":[\"a.io/b\"]", "n");
  remove("/api/v1/namespaces/n");
  settle();
  EXPECT_EQ(
      condition("NamespaceFinalizersRemaining"),
      "Some content in the namespace has finalizers remaining: a.io/b in 1 resource instances");
  EXPECT_EQ(yard.call("POST", maps("n"), R"({"metadata":{"name":"late"}})").status, 403);
  EXPECT_EQ(yard.patch(map("m", "n"), R"({"metadata":{"finalizers":null}})").status, 200);
  settle();
  EXPECT_FALSE(exists("/api/v1/namespaces/n"));
}

TEST_F(NamespacesTest, ACreateThatWasUnderWayIsNotLeftBehind) {
  // Both are in the store's hands before either is durable.
  const auto deleted = yard.send("DELETE", "/api/v1/namespaces/n");
  const auto created = yard.send("POST", maps("n"), R"({"metadata":{"name":"late"}})");
  ASSERT_TRUE(yard.loop.run_until([&] { return deleted->answered && created->answered; }));
  EXPECT_EQ(created->answer.status, 201) << created->answer.text;
  settle();
  EXPECT_FALSE(exists("/api/v1/namespaces/n"));
  EXPECT_TRUE(client->list({"v1", "ConfigMap"}, "n").empty());
}

TEST_F(NamespacesTest, AStartTakesUpWhatWasLeft) {
  stop();
  remove("/api/v1/namespaces/n");
  settle();
  EXPECT_TRUE(exists("/api/v1/namespaces/n"));
  start();
  settle();
  EXPECT_FALSE(exists("/api/v1/namespaces/n"));
}

TEST_F(NamespacesTest, ManyObjectsGoInBoundedPasses) {
  for (int i = 0; i < 1200; ++i)
    make(fmt::format("m{}", i), "", "n");
  remove("/api/v1/namespaces/n");
  settle();
  EXPECT_FALSE(exists("/api/v1/namespaces/n"));
}

}  // namespace
}  // namespace yard
