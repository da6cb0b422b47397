// Random writes, failed commits and crashes from a seed; after every step the store must agree with
// a plain model.

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/sim_log.h"
#include "store/store.h"
#include "testing/seeds.h"
#include "testing/sim_loop.h"

namespace yard {
namespace {

using Names =
    std::map<std::pair<std::string, std::string>, Revision>;  // (namespace, name) → revision

ObjectPtr object(const Key& key, uint64_t value) {
  Json tree = {
      {"kind", "ConfigMap"},
      {"apiVersion", "v1"},
      {"metadata",
       {{"name", key.name}, {"namespace", key.ns}, {"labels", {{"v", std::to_string(value)}}}}}};
  if (value % 3 == 0) {
    tree.at("metadata").as_object()["ownerReferences"] =
        JsonArray{JsonObject{{"uid", "owner-" + std::to_string(value % 2)}, {"kind", "Job"}}};
  }
  return Object::encode(tree, {}, "[]");
}

// One server's life after another on the same disk.
class Life {
 public:
  explicit Life(uint64_t seed) : random_(seed), loop_(seed), disk_(std::make_shared<SimDisk>()) {
    start();
  }
  ~Life() { store_.reset(); }

  void live(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      const uint64_t dice = random_.below(100);
      if (dice < 70) {
        write_something();
      } else if (dice < 95) {
        loop_.advance(Duration(static_cast<int64_t>(random_.below(3'000'000))));
      } else if (dice < 97) {
        loop_.advance(std::chrono::milliseconds(random_.below(1500)));
      } else if (dice < 98) {
        look_back();
      } else if (dice < 99) {
        compact();
      } else {
        random_.below(4) == 0 ? leave() : crash();
      }
    }
    loop_.advance(std::chrono::seconds(30));
    EXPECT_EQ(store_->statistics().pending_writes, 0u);
    look_back();
    leave();
  }

 private:
  void start() {
    auto log = std::make_unique<SimLog>(loop_, disk_, random_.next(),
                                        SimLogFaults{.failed_commits_percent = 10});
    log_ = log.get();
    store_ = std::make_unique<Store>(loop_, std::move(log), StoreLimits{.history_events = 300});
    ASSERT_TRUE(store_->open());
    EXPECT_GE(store_->revision(), highest_shown_) << "revisions never go back";
    highest_shown_ = highest_given_ = store_->revision();
    check_survivors();
    store_->listen("", [this](const StoreEventPtr& event) { hear(*event); });
  }

  // What the disk holds is the new truth: every strictly acknowledged write, and of the others some
  // wholly.
  void check_survivors() {
    Names now;
    for (const ObjectPtr& one : store_->list("things", {}).objects) {
      const Names::key_type name{std::string(one->ns()), std::string(one->name())};
      now[name] = one->revision();
      const auto written = values_.find(one->revision());
      ASSERT_NE(written, values_.end()) << "an object no one wrote";
      EXPECT_EQ(one->label("v"), std::to_string(written->second)) << "an object half written";
    }
    for (const auto& [name, revision] : strict_) {
      const auto found = now.find(name);
      if (found == now.end()) {
        EXPECT_TRUE(may_be_deleted_since(name, revision))
            << name.second << " at " << revision << " was acknowledged and is lost";
      } else {
        EXPECT_GE(found->second, revision) << name.second << " went back";
      }
    }
    for (const auto& [name, revision] : strictly_deleted_) {
      const auto found = now.find(name);
      EXPECT_TRUE(found == now.end() || found->second > revision) << name.second << " came back";
    }
    strict_ = now;
    asked_deletions_.clear();
    last_states_.clear();
    last_states_[store_->revision()] = now;
    heard_ = std::move(now);
  }

  // A deletion that was under way when the power went may have reached the disk.
  bool may_be_deleted_since(const Names::key_type& name, Revision revision) const {
    const auto asked = asked_deletions_.find(name);
    return asked != asked_deletions_.end() && asked->second > revision;
  }

  void write_something() {
    const uint64_t count = 1 + random_.below(4);
    for (uint64_t n = 0; n < count; ++n) {
      const Key key{"things", fmt::format("ns-{}", random_.below(3)),
                    fmt::format("n-{}", random_.below(12))};
      const ObjectPtr current = store_->get_pending(key);
      const bool stale = random_.below(10) == 0;
      const Revision expected = (current ? current->revision() : 0) - (stale && current ? 1 : 0);
      const bool deletes = current && random_.below(4) == 0;
      const bool relaxed = random_.below(4) == 0;
      const uint64_t value = ++next_value_;
      const Names::key_type name{key.ns, key.name};
      store_->write({key, expected, deletes ? nullptr : object(key, value), relaxed},
                    [this, name, stale, current, relaxed, deletes](Result<Committed> result) {
                      if (stale && current) {
                        EXPECT_FALSE(result);
                      } else if (result) {
                        acknowledge(name, *result, relaxed, deletes);
                      }
                    });
      if (stale && current) continue;
      // The revision it was given shows in the pending version; a deletion takes the next number,
      // too.
      const ObjectPtr pending = store_->get_pending(key);
      if (pending) {
        const Revision revision = pending->revision();
        EXPECT_GT(revision, highest_given_) << "a revision is used twice";
        highest_given_ = revision;
        values_[revision] = value;
      } else {
        ++highest_given_;
        asked_deletions_[name] = highest_given_;
      }
    }
  }

  void acknowledge(const Names::key_type& name, const Committed& committed, bool relaxed,
                   bool deletes) {
    const auto heard = heard_.find(name);
    if (deletes) {
      EXPECT_TRUE(heard == heard_.end() || heard->second > committed.revision)
          << "acknowledged before it was shown";
    } else {
      EXPECT_TRUE(heard == heard_.end() || heard->second >= committed.revision)
          << "acknowledged before it was shown";
    }
    EXPECT_EQ(committed.object->revision(), committed.revision);
    if (relaxed) return;
    if (deletes) {
      strict_.erase(name);
      strictly_deleted_[name] = committed.revision;
    } else {
      strict_[name] = committed.revision;
      strictly_deleted_.erase(name);
    }
  }

  // Every change once, in order, each fitting on the state before.
  void hear(const StoreEvent& event) {
    EXPECT_EQ(event.revision, store_->revision());
    EXPECT_GT(event.revision, highest_shown_) << "a revision is shown twice";
    highest_shown_ = event.revision;
    const Names::key_type name{std::string(event.object->ns()), std::string(event.object->name())};
    const auto before = heard_.find(name);
    EXPECT_EQ(event.previous ? event.previous->revision() : 0,
              before == heard_.end() ? 0 : before->second);
    if (event.type == StoreEvent::Type::Deleted) {
      heard_.erase(name);
    } else {
      EXPECT_EQ(event.type == StoreEvent::Type::Added, before == heard_.end());
      heard_[name] = event.revision;
    }
    if (random_.below(10) == 0)
      last_states_[event.revision] = heard_;  // a sample: copies cost time
  }

  void compare(const Names& expected, const Listing& listing) {
    Names listed;
    for (const ObjectPtr& one : listing.objects) {
      listed[{std::string(one->ns()), std::string(one->name())}] = one->revision();
    }
    EXPECT_EQ(listed, expected);
  }

  // Any state of this life that the ring still reaches is listed as it was heard, whole and by
  // page.
  void look_back() {
    compare(heard_, store_->list("things", {}));
    size_t reached = 0;
    for (const auto& [revision, names] : last_states_) {
      const auto listing = store_->list_at("things", {}, revision);
      if (!listing) {
        EXPECT_EQ(listing.error().reason, Reason::Expired);
        EXPECT_EQ(reached, 0u) << "history has a hole";
        continue;
      }
      ++reached;
      compare(names, *listing);
      compare(names, by_page(revision));
      EXPECT_TRUE(store_->history("things", revision));
    }
    check_dependents();
  }

  Listing by_page(Revision revision) {
    Listing all;
    ListRange range{.limit = 1 + random_.below(5)};
    while (true) {
      auto page = store_->list_at("things", range, revision);
      if (!page) break;
      for (const ObjectPtr& one : page->objects)
        all.objects.push_back(one);
      if (!page->more) break;
      range.after_ns = page->objects.back()->ns();
      range.after_name = page->objects.back()->name();
    }
    return all;
  }

  void check_dependents() {
    for (const std::string uid : {"owner-0", "owner-1"}) {
      size_t expected = 0;
      for (const ObjectPtr& one : store_->list("things", {}).objects) {
        for (const OwnerRef& owner : one->owners())
          expected += owner.uid == uid;
      }
      EXPECT_EQ(store_->dependents(uid).size(), expected);
    }
  }

  void compact() { log_->compact(store_->revision() > 100 ? store_->revision() - 100 : 0); }

  void crash() {
    log_->crash();
    store_.reset();
    start();
  }

  void leave() {
    const Names before = heard_;
    const bool idle = log_->under_way() == 0;  // a commit that fails now has no one to try it again
    store_.reset();
    start();
    for (const auto& [name, revision] : before) {
      const auto found = heard_.find(name);
      const bool lost = found != heard_.end() && found->second < revision;
      EXPECT_FALSE(lost && idle) << "leaving in good order lost a write";
    }
  }

  Random random_;
  SimLoop loop_;
  std::shared_ptr<SimDisk> disk_;
  std::unique_ptr<Store> store_;
  SimLog* log_ = nullptr;
  uint64_t next_value_ = 0;
  Revision highest_given_ = 0, highest_shown_ = 0;
  std::map<Revision, uint64_t> values_;  // what each revision ever given out stands for
  Names strict_, strictly_deleted_;      // acknowledged as durable
  Names asked_deletions_;
  Names heard_;                            // the state a watcher has put together
  std::map<Revision, Names> last_states_;  // of this life, at some revisions
};

TEST(StoreSimulation, HoldsItsPromisesUnderFailuresAndCrashes) {
  for_each_seed([](uint64_t seed) { Life(seed).live(250); });
}

}  // namespace
}  // namespace yard
