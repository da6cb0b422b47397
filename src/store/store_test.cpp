#include "store/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/sim_log.h"
#include "testing/sim_loop.h"

namespace yard {
namespace {

const std::string kMaps = "configmaps";

Key key(const std::string& name, const std::string& ns = "default",
        const std::string& storage = kMaps) {
  return {storage, ns, name};
}

ObjectPtr object(const Key& key, const std::string& value = "", const std::string& owner = "") {
  Json tree = {
      {"kind", "ConfigMap"},
      {"apiVersion", "v1"},
      {"metadata", {{"name", key.name}, {"namespace", key.ns}, {"labels", {{"v", value}}}}}};
  if (!owner.empty()) {
    tree.at("metadata").as_object()["ownerReferences"] =
        JsonArray{JsonObject{{"uid", owner}, {"kind", "Job"}}};
  }
  return Object::encode(tree, {}, "[]");
}

std::string value_of(const ObjectPtr& object) {
  return object ? std::string(object->label("v").value_or("?")) : "(none)";
}

const char* type_name(StoreEvent::Type type) {
  switch (type) {
    case StoreEvent::Type::Added: return "ADDED";
    case StoreEvent::Type::Modified: return "MODIFIED";
    case StoreEvent::Type::Deleted: return "DELETED";
  }
  return "?";
}

// `ADDED a=1`, and the state before it where there is one: `MODIFIED a=2 was 1`.
std::string text_of(const StoreEvent& event) {
  std::string text =
      fmt::format("{} {}={}", type_name(event.type), event.object->name(), value_of(event.object));
  if (event.previous) text += " was " + value_of(event.previous);
  return text;
}

std::string text_of(const Listing& listing) {
  std::string text;
  for (const ObjectPtr& one : listing.objects) {
    text +=
        fmt::format("{}{}/{}={}", text.empty() ? "" : " ", one->ns(), one->name(), value_of(one));
  }
  if (listing.more) text += fmt::format(" and {} more", listing.remaining);
  return text;
}

class StoreTest : public testing::Test {
 protected:
  void start(StoreLimits limits = {}) {
    auto log = std::make_unique<SimLog>(loop_, disk_);
    log_ = log.get();
    store_ = std::make_unique<Store>(loop_, std::move(log), limits);
    ASSERT_TRUE(store_->open());
  }
  void SetUp() override { start(); }
  void TearDown() override { store_.reset(); }

  // The answer once it has come: the new revision, or the reason why not.
  using Answer = std::shared_ptr<std::optional<Result<Committed>>>;
  Answer submit(Write write) {
    auto answer = std::make_shared<std::optional<Result<Committed>>>();
    store_->write(std::move(write),
                  [answer](Result<Committed> result) { *answer = std::move(result); });
    return answer;
  }
  Answer put(const Key& where, Revision expected, const std::string& value, bool relaxed = false) {
    return submit({where, expected, object(where, value), relaxed});
  }
  Answer remove(const Key& where, Revision expected) { return submit({where, expected, nullptr}); }
  void settle() { loop_.advance(std::chrono::milliseconds(50)); }
  std::string reason(const Answer& answer) {
    if (!*answer) return "no answer";
    return **answer ? "done" : wire_name((**answer).error().reason);
  }
  // Written and durable.
  Revision make(const Key& where, const std::string& value) {
    const ObjectPtr current = store_->get_pending(where);
    const Answer answer = put(where, current ? current->revision() : 0, value);
    settle();
    EXPECT_EQ(reason(answer), "done");
    return (**answer)->revision;
  }
  Revision drop(const Key& where) {
    const Answer answer = remove(where, store_->get_pending(where)->revision());
    settle();
    EXPECT_EQ(reason(answer), "done");
    return (**answer)->revision;
  }
  Listing list(ListRange range = {}) { return store_->list(kMaps, range); }
  void crash() {
    log_->crash();
    store_.reset();
    start();
  }

  SimLoop loop_;
  std::shared_ptr<SimDisk> disk_ = std::make_shared<SimDisk>();
  std::unique_ptr<Store> store_;
  SimLog* log_ = nullptr;
};

TEST_F(StoreTest, AWriteIsCheckedAgainstTheRevisionItsWriterSaw) {
  const Revision there = make(key("there"), "1");
  const Revision gone = make(key("gone"), "1");
  drop(key("gone"));
  struct Case {
    const char* about;
    Write write;
    const char* reason;
  };
  const Case cases[] = {
      {"a new key is made", {key("new"), 0, object(key("new"))}, "done"},
      {"the key is taken", {key("there"), 0, object(key("there"))}, "AlreadyExists"},
      {"an update of nothing", {key("never"), there, object(key("never"))}, "NotFound"},
      {"an update of what was deleted", {key("gone"), gone, object(key("gone"))}, "NotFound"},
      {"an update from an old revision",
       {key("there"), there - 1, object(key("there"))},
       "Conflict"},
      {"a deletion of nothing", {key("never"), 0, nullptr}, "NotFound"},
      {"a deletion from an old revision", {key("there"), there - 1, nullptr}, "Conflict"},
      {"a deletion without a revision", {key("there"), 0, nullptr}, "Conflict"},
      {"what was deleted is made again", {key("gone"), 0, object(key("gone"))}, "done"},
      {"an update from the newest revision", {key("there"), there, object(key("there"))}, "done"},
  };
  for (const Case& c : cases) {
    const Answer answer = submit(c.write);
    EXPECT_EQ(reason(answer), "no answer") << c.about;
    settle();
    EXPECT_EQ(reason(answer), c.reason) << c.about;
  }
}

TEST_F(StoreTest, AWriteIsSeenWhenItIsDurableAndBuiltOnBefore) {
  const Answer first = put(key("a"), 0, "1");
  EXPECT_EQ(store_->get(key("a")), nullptr);
  const ObjectPtr pending = store_->get_pending(key("a"));
  ASSERT_NE(pending, nullptr);
  EXPECT_EQ(store_->statistics().pending_writes, 1u);
  const Answer second = put(key("a"), pending->revision(), "2");
  const Answer late = put(key("a"), pending->revision(), "3");
  settle();
  EXPECT_EQ(reason(first), "done");
  EXPECT_EQ(reason(second), "done");
  EXPECT_EQ(reason(late), "Conflict");
  EXPECT_EQ(value_of(store_->get(key("a"))), "2");
  EXPECT_EQ(store_->get(key("a"))->revision(), (**second)->revision);
  EXPECT_EQ(store_->revision(), (**second)->revision);

  remove(key("a"), store_->get(key("a"))->revision());
  EXPECT_EQ(store_->get_pending(key("a")), nullptr);
  EXPECT_EQ(value_of(store_->get(key("a"))), "2");
  settle();
  EXPECT_EQ(store_->get(key("a")), nullptr);
}

TEST_F(StoreTest, WhoWaitsForDurabilityHearsAfterTheWriterAndWhetherItHeld) {
  std::string heard;
  store_->when_durable(key("a"),
                       [&](bool durable) { heard += durable ? "nothing pending;" : "?"; });
  EXPECT_EQ(heard, "");
  loop_.advance(std::chrono::seconds(1));
  store_->write({key("a"), 0, object(key("a"), "1")},
                [&](Result<Committed> done) { heard += done ? "written;" : "failed;"; });
  store_->when_durable(key("a"), [&](bool durable) { heard += durable ? "durable;" : "lost;"; });
  loop_.advance(std::chrono::seconds(1));
  EXPECT_EQ(heard, "nothing pending;written;durable;");
}

TEST_F(StoreTest, WritesOfOneTurnShareABatchAndTheNextWaitForIt) {
  for (int n = 0; n < 10; ++n)
    put(key(std::to_string(n)), 0, "1");
  loop_.run_ready();
  EXPECT_EQ(log_->under_way(), 1u);
  for (int n = 10; n < 20; ++n)
    put(key(std::to_string(n)), 0, "1");
  loop_.run_ready();
  EXPECT_EQ(log_->under_way(), 1u);
  settle();
  EXPECT_EQ(store_->statistics().commits, 2u);
  EXPECT_EQ(store_->count(kMaps), 20u);
}

TEST_F(StoreTest, SeveralWritesAtOnceEachSucceedOrFailAlone) {
  make(key("b"), "1");
  std::vector<std::string> answers;
  bool called_for_none = false;
  store_->write_all({{key("a"), 0, object(key("a"))},
                     {key("b"), 0, object(key("b"))},
                     {key("c"), 0, object(key("c"))}},
                    [&](std::vector<Result<Committed>> results) {
                      for (const auto& one : results)
                        answers.push_back(one ? "done" : wire_name(one.error().reason));
                    });
  store_->write_all(
      {}, [&](std::vector<Result<Committed>> results) { called_for_none = results.empty(); });
  EXPECT_TRUE(answers.empty());
  EXPECT_FALSE(called_for_none);
  settle();
  EXPECT_EQ(answers, (std::vector<std::string>{"done", "AlreadyExists", "done"}));
  EXPECT_TRUE(called_for_none);
  EXPECT_EQ(store_->statistics().commits, 2u);
}

TEST_F(StoreTest, AFailedCommitFailsItsBatchAndAllBuiltOnIt) {
  const Revision before = make(key("a"), "1");
  log_->fail_next(1);
  const Answer changed = put(key("a"), before, "2");
  const Answer made = put(key("b"), 0, "1");
  loop_.run_ready();
  const Answer built_on_it = put(key("a"), store_->get_pending(key("a"))->revision(), "3");
  const Answer apart = put(key("c"), 0, "1");
  settle();
  EXPECT_EQ(reason(changed), "ServiceUnavailable");
  EXPECT_EQ(reason(made), "ServiceUnavailable");
  EXPECT_EQ(reason(built_on_it), "ServiceUnavailable");
  EXPECT_EQ(reason(apart), "done");
  EXPECT_EQ(value_of(store_->get_pending(key("a"))), "1");
  EXPECT_EQ(store_->get_pending(key("b")), nullptr);
  EXPECT_EQ(store_->statistics().failed_batches, 1u);
  EXPECT_EQ(store_->statistics().pending_writes, 0u);

  const Answer again = put(key("a"), before, "4");
  settle();
  EXPECT_EQ(reason(again), "done");
  EXPECT_GT((**again)->revision, (**apart)->revision);
}

TEST_F(StoreTest, WatchersSeeTheRowsOfC5AtTheStore) {
  std::vector<std::string> seen;
  std::vector<Revision> revisions;
  store_->listen(kMaps, [&](const StoreEventPtr& event) {
    seen.push_back(text_of(*event));
    EXPECT_EQ(event->object->revision(), event->revision);
    EXPECT_EQ(store_->revision(), event->revision);
    revisions.push_back(event->revision);
  });
  make(key("wf"), "1");
  make(key("wf"), "2");
  make(key("other", "default", "secrets"), "1");
  const Revision last = make(key("wf"), "3");
  const Revision deleted = drop(key("wf"));
  EXPECT_EQ(seen, (std::vector<std::string>{"ADDED wf=1", "MODIFIED wf=2 was 1",
                                            "MODIFIED wf=3 was 2", "DELETED wf=3 was 3"}));
  EXPECT_TRUE(std::ranges::is_sorted(revisions));
  EXPECT_EQ(revisions.back(), deleted);
  EXPECT_GT(deleted, last);
}

TEST_F(StoreTest, AListenerIsCalledBeforeTheOneWhoAskedAndMayLeave) {
  std::string order;
  Store::ListenerId leaving = 0;
  store_->listen("", [&](const StoreEventPtr&) { order += "all "; });
  leaving = store_->listen(kMaps, [&](const StoreEventPtr&) {
    order += "once ";
    store_->forget(leaving);
    store_->listen(kMaps, [&](const StoreEventPtr&) { order += "new "; });
  });
  store_->write({key("a"), 0, object(key("a"))}, [&](Result<Committed>) { order += "done "; });
  settle();
  EXPECT_EQ(order, "once all done ");
  order.clear();
  make(key("b"), "1");
  EXPECT_EQ(order, "new all ");
}

TEST_F(StoreTest, ListsInKeyOrderAndByPage) {
  for (const char* name : {"d", "b", "a", "c"})
    make(key(name, "one"), name);
  make(key("x", "on"), "x");
  make(key("a", "two"), "a");
  struct Case {
    const char* about;
    ListRange range;
    const char* answer;
  };
  const auto not_b = [](const Object& one) { return one.name() != "b"; };
  const Case cases[] = {
      {"everything", {}, "on/x=x one/a=a one/b=b one/c=c one/d=d two/a=a"},
      {"one namespace", {.ns = "one"}, "one/a=a one/b=b one/c=c one/d=d"},
      {"no such namespace", {.ns = "onf"}, ""},
      {"the first page", {.limit = 2}, "on/x=x one/a=a and 4 more"},
      {"the next page",
       {.after_ns = "one", .after_name = "a", .limit = 3},
       "one/b=b one/c=c one/d=d and 1 more"},
      {"the last page", {.after_ns = "one", .after_name = "d", .limit = 3}, "two/a=a"},
      {"behind the last", {.after_ns = "two", .after_name = "a"}, ""},
      {"behind a key that is gone",
       {.after_ns = "one", .after_name = "bb", .limit = 1},
       "one/c=c and 2 more"},
      {"a page of one namespace", {.ns = "one", .limit = 3}, "one/a=a one/b=b one/c=c and 1 more"},
      {"its next page", {.ns = "one", .after_ns = "one", .after_name = "c", .limit = 3}, "one/d=d"},
      {"a start in an earlier namespace",
       {.ns = "one", .after_ns = "on", .after_name = "z", .limit = 1},
       "one/a=a and 3 more"},
      {"a start in a later namespace", {.ns = "one", .after_ns = "two", .after_name = "a"}, ""},
      {"a page exactly full", {.ns = "one", .limit = 4}, "one/a=a one/b=b one/c=c one/d=d"},
      {"chosen objects count toward the page, what is left is not told",
       {.ns = "one", .limit = 2, .matches = not_b},
       "one/a=a one/c=c and 0 more"},
      {"no more of the chosen ones are left",
       {.ns = "one", .limit = 3, .matches = not_b},
       "one/a=a one/c=c one/d=d"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(text_of(list(c.range)), c.answer) << c.about;
    EXPECT_EQ(text_of(*store_->list_at(kMaps, c.range, store_->revision())), c.answer) << c.about;
  }
  EXPECT_EQ(list().revision, store_->revision());
  EXPECT_EQ(store_->list("nothing", {}).revision, store_->revision());
  EXPECT_EQ(store_->storages(), std::vector<std::string>{kMaps});
}

TEST_F(StoreTest, ListsAsItWasAtARevision) {
  const Revision first = make(key("b"), "1");
  const Revision second = make(key("a"), "1");
  const Revision third = make(key("b"), "2");
  const Revision fourth = drop(key("a"));
  const Revision fifth = make(key("a"), "2");
  const Revision sixth = drop(key("b"));
  struct Case {
    Revision revision;
    const char* answer;
  };
  const Case cases[] = {
      {first - 1, ""},
      {first, "default/b=1"},
      {second, "default/a=1 default/b=1"},
      {third, "default/a=1 default/b=2"},
      {fourth, "default/b=2"},
      {fifth, "default/a=2 default/b=2"},
      {sixth, "default/a=2"},
  };
  for (const Case& c : cases) {
    const auto listing = store_->list_at(kMaps, {}, c.revision);
    ASSERT_TRUE(listing);
    EXPECT_EQ(text_of(*listing), c.answer) << c.revision;
    EXPECT_EQ(listing->revision, c.revision);
  }
  EXPECT_EQ(text_of(*store_->list_at(kMaps, {.limit = 1}, third)), "default/a=1 and 1 more");
  EXPECT_EQ(text_of(*store_->list_at(kMaps, {.after_ns = "default", .after_name = "a"}, third)),
            "default/b=2");
  EXPECT_EQ(store_->list_at(kMaps, {}, sixth + 1).error().reason, Reason::Timeout);
}

TEST_F(StoreTest, HistoryReachesAsFarAsItsBounds) {
  struct Case {
    const char* about;
    StoreLimits limits;
    int writes;
    size_t kept;
  };
  const size_t bytes = object(key("a"), "1")->memory();
  const Case cases[] = {
      {"everything is kept below the bounds", {}, 10, 10},
      {"at most so many events", {.history_events = 4}, 10, 4},
      {"at most so many bytes of superseded objects", {.history_bytes = 5 * (bytes + 100)}, 50, 5},
  };
  for (const Case& c : cases) {
    store_.reset();
    disk_ = std::make_shared<SimDisk>();
    start(c.limits);
    std::vector<Revision> revisions;
    for (int n = 0; n < c.writes; ++n)
      revisions.push_back(make(key("a"), "1"));
    size_t kept = 0;
    for (const Revision revision : revisions) {
      const auto events = store_->history(kMaps, revision);
      if (!events) {
        EXPECT_EQ(events.error().reason, Reason::Expired);
        EXPECT_EQ(store_->list_at(kMaps, {}, revision).error().reason, Reason::Expired);
        continue;
      }
      EXPECT_TRUE(store_->list_at(kMaps, {}, revision));
      kept = std::max(kept, events->size());
    }
    // The revision before the oldest kept event is reached, too, unless nothing was ever forgotten.
    const size_t expected = c.kept == revisions.size() ? c.kept - 1 : c.kept;
    EXPECT_GE(kept, expected) << c.about;
    EXPECT_LE(kept, expected + 1) << c.about;
  }
}

TEST_F(StoreTest, OldEventsBeyondAThousandAreForgotten) {
  const Revision first = make(key("a"), "1");
  for (int n = 0; n < 1500; ++n)
    make(key("a"), "1");
  EXPECT_TRUE(store_->history(kMaps, first));
  loop_.advance(std::chrono::minutes(6));
  make(key("a"), "1");
  EXPECT_FALSE(store_->history(kMaps, first));
  EXPECT_EQ(store_->history(kMaps, store_->revision() - 900)->size(), 900u);
}

TEST_F(StoreTest, KnowsWhoDependsOnAnOwner) {
  const auto names = [&](const char* uid) {
    std::string text;
    for (const auto& [where, one] : store_->dependents(uid))
      text += where.storage + "/" + where.name + " ";
    return text;
  };
  const Key one = key("one"), two = key("two", "default", "pods");
  submit({two, 0, object(two, "1", "job-1")});
  submit({one, 0, object(one, "1", "job-1")});
  EXPECT_EQ(names("job-1"), "");
  settle();
  EXPECT_EQ(names("job-1"), "configmaps/one pods/two ");
  submit({one, store_->get(one)->revision(), object(one, "2", "job-2")});
  settle();
  EXPECT_EQ(names("job-1"), "pods/two ");
  EXPECT_EQ(names("job-2"), "configmaps/one ");
  crash();
  EXPECT_EQ(names("job-2"), "configmaps/one ");
  drop(one);
  EXPECT_EQ(names("job-2"), "");
}

TEST_F(StoreTest, RelaxedWritesAreShownAtOnceAndSavedWithinASecond) {
  Revision revision = make(key("lease"), "1");
  const Answer renewed = put(key("lease"), revision, "2", true);
  loop_.run_ready();
  EXPECT_EQ(reason(renewed), "done");
  EXPECT_EQ(value_of(store_->get(key("lease"))), "2");
  EXPECT_EQ(disk_->rows.size(), 1u);
  put(key("lease"), (**renewed)->revision, "3", true);
  loop_.advance(std::chrono::milliseconds(1100));
  ASSERT_EQ(disk_->rows.size(), 2u);
  EXPECT_EQ(value_of(disk_->rows.rbegin()->second.object), "3");
  EXPECT_EQ(disk_->rows.rbegin()->second.supersedes, revision);
  EXPECT_EQ(loop_.pending(), 0u) << "an idle store wakes no one";
}

TEST_F(StoreTest, AStrictWriteTakesTheRelaxedOnesWithIt) {
  const Revision revision = make(key("lease"), "1");
  const Answer renewed = put(key("lease"), revision, "2", true);
  loop_.run_ready();
  const Answer strict = put(key("lease"), (**renewed)->revision, "3");
  settle();
  EXPECT_EQ(reason(strict), "done");
  EXPECT_EQ(disk_->rows.size(), 3u);
  crash();
  EXPECT_EQ(value_of(store_->get(key("lease"))), "3");
}

TEST_F(StoreTest, ARelaxedWriteBehindAStrictOneWaitsItsTurn) {
  const Revision revision = make(key("lease"), "1");
  std::vector<Revision> seen;
  store_->listen("", [&](const StoreEventPtr& event) { seen.push_back(event->revision); });
  const Answer strict = put(key("a"), 0, "1");
  loop_.run_ready();
  const Answer relaxed = put(key("lease"), revision, "2", true);
  loop_.run_ready();
  EXPECT_EQ(reason(relaxed), "no answer");
  settle();
  EXPECT_EQ(reason(strict), "done");
  EXPECT_EQ(reason(relaxed), "done");
  EXPECT_EQ(seen, (std::vector<Revision>{(**strict)->revision, (**relaxed)->revision}));
}

TEST_F(StoreTest, AShownRelaxedWriteSurvivesAFailedCommitAndIsSavedLater) {
  const Revision revision = make(key("lease"), "1");
  put(key("lease"), revision, "2", true);
  loop_.run_ready();
  log_->fail_next(1);
  const Answer strict = put(key("a"), 0, "1");
  settle();
  EXPECT_EQ(reason(strict), "ServiceUnavailable");
  EXPECT_EQ(value_of(store_->get(key("lease"))), "2");
  loop_.advance(std::chrono::seconds(2));
  EXPECT_EQ(value_of(disk_->rows.rbegin()->second.object), "2");
}

TEST_F(StoreTest, NoRevisionIsUsedTwiceEvenWhenARelaxedWriteIsLost) {
  const Revision revision = make(key("lease"), "1");
  const Answer renewed = put(key("lease"), revision, "2", true);
  loop_.run_ready();
  const Revision lost = (**renewed)->revision;
  crash();
  EXPECT_EQ(value_of(store_->get(key("lease"))), "1");
  EXPECT_GE(store_->revision(), lost);
  EXPECT_GT(make(key("lease"), "3"), lost);
}

TEST_F(StoreTest, LeavingInGoodOrderSavesRelaxedWrites) {
  const Revision revision = make(key("lease"), "1");
  put(key("lease"), revision, "2", true);
  loop_.run_ready();
  store_.reset();
  start();
  EXPECT_EQ(value_of(store_->get(key("lease"))), "2");
}

TEST_F(StoreTest, HistoryGoesOnOverARestart) {
  const Revision first = make(key("a"), "1");
  const Revision second = make(key("a"), "2");
  drop(key("a"));
  crash();
  const auto events = store_->history(kMaps, first);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ(text_of(*(*events)[0]), "MODIFIED a=2 was 1");
  EXPECT_EQ(text_of(*(*events)[1]), "DELETED a=2 was 2");
  EXPECT_EQ(text_of(*store_->list_at(kMaps, {}, second)), "default/a=2");
}

TEST_F(StoreTest, SupersededRowsAreDroppedFromTheLogWhenOldEnough) {
  const Revision first = make(key("a"), "1");
  drop(key("a"));
  make(key("kept"), "1");
  for (int n = 0; n < 1200; ++n)
    make(key("b"), std::to_string(n));
  EXPECT_GT(disk_->rows.size(), 1200u);
  loop_.advance(std::chrono::minutes(5));
  const size_t rows = disk_->rows.size();
  EXPECT_LT(rows, 400u);
  EXPECT_GE(rows, 200u) << "what was superseded lately is still history";
  EXPECT_EQ(loop_.pending(), 0u) << "an idle store wakes no one";
  crash();
  EXPECT_EQ(value_of(store_->get(key("b"))), "1199");
  EXPECT_EQ(value_of(store_->get(key("kept"))), "1");
  EXPECT_EQ(store_->get(key("a")), nullptr);
  EXPECT_EQ(store_->history(kMaps, first).error().reason, Reason::Expired);
  EXPECT_EQ(store_->history("unheard-of", first).error().reason, Reason::Expired);
}

TEST_F(StoreTest, CountsWhatMetricsShow) {
  make(key("a"), "1");
  make(key("a"), "2");
  make(key("b"), "1");
  drop(key("b"));
  const auto counts = store_->statistics();
  EXPECT_EQ(counts.objects, 1u);
  EXPECT_EQ(counts.object_bytes, store_->get(key("a"))->memory());
  EXPECT_EQ(counts.writes, 4u);
  EXPECT_EQ(counts.commits, 4u);
  EXPECT_EQ(counts.commit_seconds.back().second, 4u);
  EXPECT_GT(counts.commit_seconds_sum, 0);
}

TEST_F(StoreTest, TheRevisionOfAnEmptyStoreIsNotZero) {
  // Zero means "any" to clients.
  EXPECT_EQ(store_->revision(), 1u);
  EXPECT_EQ(list().revision, 1u);
}

}  // namespace
}  // namespace yard
