#include "controllers/lifecycle/garbage_collector.h"

#include "api/tree.h"
#include "sim/lifecycle_harness.h"

namespace yard {
namespace {

constexpr const char* kGone = "00000000-0000-4000-8000-000000000000";

class GarbageCollectorTest : public LifecycleTest {};

TEST_F(GarbageCollectorTest, InTheBackgroundDependentsFollowTheirOwnerAllTheWayDown) {
  const std::string a = make("a"), b = make("b", owned_by(reference("a", a)));
  make("c", owned_by(reference("b", b)));
  make("other");
  remove(map("a"));
  EXPECT_FALSE(exists(map("a")));
  settle();
  EXPECT_FALSE(exists(map("b")));
  EXPECT_FALSE(exists(map("c")));
  EXPECT_TRUE(exists(map("other")));
}

TEST_F(GarbageCollectorTest, AnOwnerThatNeverWasLetsItsDependentGo) {
  const std::string a = make("a");
  make("no-such", owned_by(reference("none", kGone)));
  make("other-uid", owned_by(reference("a", kGone)));
  make("fine", owned_by(reference("a", a)));
  settle();
  EXPECT_FALSE(exists(map("no-such")));
  EXPECT_FALSE(exists(map("other-uid")));
  EXPECT_TRUE(exists(map("fine")));
}

TEST_F(GarbageCollectorTest, ADanglingReferenceGoesWhileAnotherOwnerIsSolid) {
  const std::string a = make("a"), b = make("b");
  make("c", owned_by(reference("a", a) + "," + reference("b", b)));
  remove(map("a"));
  settle();
  const Json c = get(map("c"));
  ASSERT_EQ(list_at(c, {"metadata", "ownerReferences"}).size(), 1u) << to_text(c);
  EXPECT_EQ(text_at(list_at(c, {"metadata", "ownerReferences"})[0], {"name"}), "b");
}

TEST_F(GarbageCollectorTest, AnOwnerInAnotherNamespaceCountsAsAbsent) {
  yard.make_namespace("far");
  const std::string a = make("a", "", "far");
  make("here", owned_by(reference("a", a)));
  make("there", owned_by(reference("a", a)), "far");
  settle();
  EXPECT_FALSE(exists(map("here")));
  EXPECT_TRUE(exists(map("there", "far")));
}

TEST_F(GarbageCollectorTest, AClusterScopedOwnerOwnsInEveryNamespace) {
  const Answer made = yard.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                                R"({"metadata":{"name":"p"},"value":1})");
  ASSERT_EQ(made.status, 201) << made.text;
  make(
      "m",
      owned_by(fmt::format(
          R"({{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","name":"p","uid":"{}"}})",
          text_at(made.json, {"metadata", "uid"}))));
  settle();
  EXPECT_TRUE(exists(map("m")));
  remove("/apis/scheduling.k8s.io/v1/priorityclasses/p");
  settle();
  EXPECT_FALSE(exists(map("m")));
}

TEST_F(GarbageCollectorTest, AnOwnerOfAnUnknownKindIsNotTakenForAbsent) {
  make("m", owned_by(fmt::format(
                R"({{"apiVersion":"a.io/v1","kind":"Widget","name":"w","uid":"{}"}})", kGone)));
  settle();
  EXPECT_TRUE(exists(map("m")));
  EXPECT_TRUE(garbage_collector->is_idle()) << "and is not asked about again and again";
}

TEST_F(GarbageCollectorTest, InTheForegroundTheOwnerGoesLast) {
  const std::string a = make("a");
  make("blocks", owned_by(reference("a", a)) + ",\"finalizers\":[\"a.io/b\"]");
  make("free", owned_by(reference("a", a, false)));
  remove(map("a"), "Foreground");
  settle();
  EXPECT_TRUE(exists(map("a")));
  EXPECT_TRUE(is_being_deleted(get(map("blocks"))));
  EXPECT_FALSE(exists(map("free")));
  EXPECT_EQ(yard.patch(map("blocks"), R"({"metadata":{"finalizers":null}})").status, 200);
  settle();
  EXPECT_FALSE(exists(map("a")));
}

TEST_F(GarbageCollectorTest, InTheForegroundADependentThatDoesNotBlockIsNotWaitedFor) {
  const std::string a = make("a");
  make("slow", owned_by(reference("a", a, false)) + ",\"finalizers\":[\"a.io/b\"]");
  remove(map("a"), "Foreground");
  settle();
  EXPECT_FALSE(exists(map("a")));
  EXPECT_TRUE(is_being_deleted(get(map("slow"))));
}

TEST_F(GarbageCollectorTest, AReferenceThatLeadsElsewhereBlocksNobody) {
  const std::string a = make("a");
  make("m",
       owned_by(fmt::format(R"({{"apiVersion":"a.io/v1","kind":"ConfigMap","name":"a","uid":"{}",)"
                            R"("blockOwnerDeletion":true}})",
                            a)));
  remove(map("a"), "Foreground");
  settle();
  EXPECT_FALSE(exists(map("a")));
  EXPECT_TRUE(exists(map("m"))) << "whether its owner is there nobody can say";
}

TEST_F(GarbageCollectorTest, ForegroundGoesDownTheWholeTree) {
  const std::string a = make("a"), b = make("b", owned_by(reference("a", a)));
  make("c", owned_by(reference("b", b)) + ",\"finalizers\":[\"a.io/b\"]");
  remove(map("a"), "Foreground");
  settle();
  EXPECT_TRUE(exists(map("a")));
  EXPECT_TRUE(exists(map("b"))) << "it has a dependent of its own";
  EXPECT_EQ(yard.patch(map("c"), R"({"metadata":{"finalizers":null}})").status, 200);
  settle();
  for (const char* name : {"a", "b", "c"})
    EXPECT_FALSE(exists(map(name))) << name;
}

TEST_F(GarbageCollectorTest, OrphansAreKeptAndLoseTheirReference) {
  const std::string a = make("a"), z = make("z");
  make("b", owned_by(reference("a", a)));
  make("c", owned_by(reference("a", a) + "," + reference("z", z)));
  remove(map("a"), "Orphan");
  settle();
  EXPECT_FALSE(exists(map("a")));
  EXPECT_TRUE(list_at(get(map("b")), {"metadata", "ownerReferences"}).empty());
  EXPECT_EQ(list_at(get(map("c")), {"metadata", "ownerReferences"}).size(), 1u);
  EXPECT_TRUE(exists(map("b")));
}

TEST_F(GarbageCollectorTest, CirclesGoInTheForegroundToo) {
  for (const int length : {1, 2, 5}) {
    std::vector<std::string> uids;
    for (int i = 0; i < length; ++i)
      uids.push_back(make(fmt::format("r{}", i)));
    for (int i = 0; i < length; ++i) {
      const int owner = (i + 1) % length;
      const Answer patched =
          yard.patch(map(fmt::format("r{}", i)),
                     fmt::format(R"({{"metadata":{{{}}}}})",
                                 owned_by(reference(fmt::format("r{}", owner), uids[owner]))));
      EXPECT_EQ(patched.status, 200) << patched.text;
    }
    settle();
    EXPECT_TRUE(exists(map("r0"))) << "a circle nobody deletes stays";
    remove(map("r0"), "Foreground");
    settle();
    for (int i = 0; i < length; ++i)
      EXPECT_FALSE(exists(map(fmt::format("r{}", i)))) << i << " of " << length;
  }
}

TEST_F(GarbageCollectorTest, AStartFindsWhatHappenedWhileNobodyLooked) {
  const std::string a = make("a"), f = make("f"), o = make("o");
  make("b", owned_by(reference("a", a)));
  make("g", owned_by(reference("f", f)));
  make("p", owned_by(reference("o", o)));
  settle();
  stop();
  remove(map("a"));
  remove(map("f"), "Foreground");
  remove(map("o"), "Orphan");
  EXPECT_TRUE(exists(map("f")) && exists(map("o")));
  start();
  settle();
  for (const char* name : {"a", "b", "f", "g", "o"})
    EXPECT_FALSE(exists(map(name))) << name;
  EXPECT_TRUE(exists(map("p")));
  EXPECT_TRUE(garbage_collector->is_idle());
}

TEST_F(GarbageCollectorTest, ManyOrphansAreLetGoInBoundedPasses) {
  const std::string a = make("a");
  for (int i = 0; i < 1200; ++i)
    make(fmt::format("d{}", i), owned_by(reference("a", a)));
  remove(map("a"), "Orphan");
  settle();
  EXPECT_FALSE(exists(map("a")));
  EXPECT_EQ(client->list({"v1", "ConfigMap"}, "default").size(), 1200u);
  EXPECT_TRUE(client->dependents(a).empty());
}

}  // namespace
}  // namespace yard
