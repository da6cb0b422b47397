#include "controllers/lifecycle/plan_ownership.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

using enum OwnerState;

JsonArray references(size_t count) {
  JsonArray out;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "o" + std::to_string(i);
    out.push_back(JsonObject{{"name", name}, {"uid", name}, {"blockOwnerDeletion", true}});
  }
  return out;
}

struct DependentCase {
  const char* about;
  std::vector<OwnerState> owners;
  std::vector<std::string> finalizers;
  bool has_dependents;
  const char* plan;
};

TEST(PlanDependent, FollowsItsOwners) {
  const DependentCase cases[] = {
      {"without owners nothing happens", {}, {}, false, ""},
      {"a solid owner keeps it", {Solid}, {}, false, ""},
      {"an absent owner lets it go", {Absent}, {}, false, "delete Pod default/d (Background)"},
      {"two absent owners let it go",
       {Absent, Absent},
       {},
       true,
       "delete Pod default/d (Background)"},
      {"one solid owner keeps it and the dangling reference goes",
       {Absent, Solid},
       {},
       false,
       "patch Pod default/d "
       "{\"metadata\":{\"ownerReferences\":[{\"name\":\"o1\",\"uid\":\"o1\",\"blockOwnerDeletion\":"
       "true}],"
       "\"uid\":\"u\",\"resourceVersion\":\"7\"}}"},
      {"a solid owner keeps it from one that waits, which then waits no longer",
       {Solid, WaitsForDependents},
       {},
       false,
       "patch Pod default/d "
       "{\"metadata\":{\"ownerReferences\":[{\"name\":\"o0\",\"uid\":\"o0\",\"blockOwnerDeletion\":"
       "true}],"
       "\"uid\":\"u\",\"resourceVersion\":\"7\"}}"},
      {"an owner that waits lets it go",
       {WaitsForDependents},
       {},
       false,
       "delete Pod default/d (Background)"},
      {"what goes before its owner has its own dependents go before it",
       {WaitsForDependents, Absent},
       {},
       true,
       "delete Pod default/d (Foreground)"},
      {"its own orphan finalizer is honoured",
       {Absent},
       {"orphan"},
       true,
       "delete Pod default/d (Orphan)"},
      {"its own foreground finalizer is honoured",
       {Absent},
       {"a.io/b", "foregroundDeletion"},
       true,
       "delete Pod default/d (Foreground)"},
      {"an owner of an unknown kind may be there", {Unresolved}, {}, false, ""},
      {"as long as one owner is unknown nothing changes",
       {Absent, Unresolved, Solid},
       {},
       false,
       ""},
  };
  for (const DependentCase& row : cases) {
    const DependentWorld world{{{"v1", "Pod"}, "default", "d"},
                               "u",
                               7,
                               row.finalizers,
                               references(row.owners.size()),
                               row.owners,
                               row.has_dependents};
    EXPECT_EQ(to_text(plan_dependent(world)), row.plan) << row.about;
  }
}

TEST(PlanDependent, DeletesOnlyWhatWasObserved) {
  const DependentWorld world{
      {{"v1", "Pod"}, "default", "d"}, "u", 7, {}, references(1), {Absent}, false};
  const Plan plan = plan_dependent(world);
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(to_text(plan.writes[0].object),
            "{\"propagationPolicy\":\"Background\",\"preconditions\":{\"uid\":\"u\","
            "\"resourceVersion\":\"7\"}}");
}

struct OwnerCase {
  const char* about;
  std::vector<std::string> finalizers;
  size_t dependents, blocking;
  bool in_circle;
  const char* plan;
};

TEST(PlanOwner, WaitsOrLetsGo) {
  const OwnerCase cases[] = {
      {"finalizers of others are none of ours", {"a.io/b"}, 2, 2, true, ""},
      {"in the foreground it waits for what blocks it", {"foregroundDeletion"}, 0, 1, false, ""},
      {"in the foreground it goes when nothing blocks it",
       {"a.io/b", "foregroundDeletion"},
       0,
       0,
       false,
       "patch Job default/o "
       "{\"metadata\":{\"finalizers\":[\"a.io/b\"],\"uid\":\"o1\",\"resourceVersion\":\"9\"}}"},
      {"in a circle it stops blocking its owners",
       {"foregroundDeletion"},
       0,
       1,
       true,
       "patch Job default/o "
       "{\"metadata\":{\"ownerReferences\":[{\"name\":\"o0\",\"uid\":\"o0\",\"blockOwnerDeletion\":"
       "false}],"
       "\"uid\":\"o1\",\"resourceVersion\":\"9\"}}"},
      {"orphans lose their reference first",
       {"orphan"},
       1,
       1,
       false,
       "patch Pod default/d0 "
       "{\"metadata\":{\"ownerReferences\":[{\"name\":\"o0\",\"uid\":\"o0\",\"blockOwnerDeletion\":"
       "true}],"
       "\"uid\":\"d0\",\"resourceVersion\":\"3\"}}\nagain after 0s"},
      {"without dependents the orphan finalizer goes",
       {"orphan"},
       0,
       0,
       false,
       "patch Job default/o "
       "{\"metadata\":{\"finalizers\":[],\"uid\":\"o1\",\"resourceVersion\":\"9\"}}"},
      {"with both finalizers it orphans first",
       {"foregroundDeletion", "orphan"},
       0,
       0,
       false,
       "patch Job default/o "
       "{\"metadata\":{\"finalizers\":[\"foregroundDeletion\"],\"uid\":\"o1\",\"resourceVersion\":"
       "\"9\"}}"},
  };
  for (const OwnerCase& row : cases) {
    OwnerWorld world{.key = {{"batch/v1", "Job"}, "default", "o"},
                     .uid = "o1",
                     .revision = 9,
                     .finalizers = row.finalizers,
                     .owner_references = references(1),
                     .dependents = {},
                     .blocking_dependents = row.blocking,
                     .waits_in_circle = row.in_circle};
    for (size_t i = 0; i < row.dependents; ++i) {
      const std::string name = "d" + std::to_string(i);
      world.dependents.push_back({{{"v1", "Pod"}, "default", name}, name, 3, references(2)});
    }
    EXPECT_EQ(to_text(plan_owner(world)), row.plan) << row.about;
  }
}

}  // namespace
}  // namespace yard
