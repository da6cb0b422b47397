#include <gtest/gtest.h>

#include "apiserver/direct_client.h"
#include "client/status_update.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};

// Who reads what was just written shares the tree it was written from (client/tree_cache.h).
class WrittenTreesTest : public testing::Test {
 protected:
  WrittenTreesTest() {
    yard.make_namespace("default");
    EXPECT_EQ(yard.call("POST", "/api/v1/namespaces/default/pods",
                        R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":
                            [{"name":"c","image":"i","ports":[{"containerPort":80}]}]}})")
                  .status,
              201);
  }

  ObjectPtr pod() const { return client.get(kPod, "default", "p"); }

  Result<ObjectPtr> submit(ClientWrite::Verb verb, Json object) {
    std::optional<Result<ObjectPtr>> answer;
    client.submit({verb, kPod, "default", "p", std::move(object)},
                  [&](Result<ObjectPtr> got) { answer = std::move(got); });
    EXPECT_TRUE(yard.loop.run_until([&] { return answer.has_value(); }));
    return *std::move(answer);
  }

  void bind(const char* node) {
    ASSERT_TRUE(submit(ClientWrite::Verb::Bind,
                       JsonObject{{"metadata", JsonObject{{"name", "p"}}},
                                  {"target", JsonObject{{"kind", "Node"}, {"name", node}}}})
                    .has_value());
  }

  // The tree is there before anybody has parsed anything, and says what the stored object does.
  void expect_known(const char* when) {
    const ObjectPtr object = pod();
    const auto known = yard.api->committer().trees().known(object);
    ASSERT_TRUE(known.has_value()) << when;
    EXPECT_TRUE(equal(*known, object->tree())) << when;
    const ObjectPtr encoded = Object::encode(*known, {}, "");
    EXPECT_EQ(Object::with_revision(*encoded, object->revision())->body(), object->body()) << when;
  }

  ApiHarness yard;
  DirectClient client{*yard.store, yard.api->committer(), [this] { return yard.api->kinds(); },
                      "test"};
};

TEST_F(WrittenTreesTest, AreWhatWasStored) {
  expect_known("created over HTTP");
  bind("n");
  expect_known("bound");
  for (const char* phase : {"Running", "Succeeded"}) {
    ASSERT_TRUE(submit(ClientWrite::Verb::UpdateStatus,
                       status_update(client.tree(pod()), JsonObject{{"phase", phase},
                                                                    {"startTime", nullptr},
                                                                    {"observedGeneration", 1u}}))
                    .has_value());
    expect_known(phase);
  }
}

TEST_F(WrittenTreesTest, TheVersionReadersStillSeeKeepsItsOwn) {
  const ObjectPtr before = pod();
  const SharedJson tree = client.tree(before);
  bool stored = false;
  client.submit({ClientWrite::Verb::UpdateStatus, kPod, "default", "p",
                 status_update(tree, JsonObject{{"phase", "Running"}})},
                [&](const Result<ObjectPtr>& answer) { stored = answer.has_value(); });
  yard.loop.run_until([&] { return yard.store->get_pending({"pods", "default", "p"}) != before; });
  EXPECT_EQ(&*client.tree(before), &*tree) << "a read while the write is under way";
  ASSERT_TRUE(yard.loop.run_until([&] { return stored; }));
  EXPECT_EQ(text_at(client.tree(pod()), {"status", "phase"}), "Running");
}

TEST_F(WrittenTreesTest, ARefusedWriteLeavesNone) {
  Json stale = status_update(client.tree(pod()), JsonObject{{"phase", "Running"}});
  bind("n");
  const SharedJson bound = client.tree(pod());
  EXPECT_FALSE(submit(ClientWrite::Verb::UpdateStatus, std::move(stale)).has_value());
  EXPECT_EQ(&*client.tree(pod()), &*bound);
}

}  // namespace
}  // namespace yard
