#include "store/cooler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/sim_log.h"
#include "testing/sim_loop.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr int kMany = 600;
const std::string kMaps = "configmaps";

class CoolerTest : public testing::Test {
 protected:
  void start(size_t cold_above_bytes) {
    store_.reset();
    StoreLimits limits;
    limits.history_events = 10;
    limits.cold_above_bytes = cold_above_bytes;
    store_ = std::make_unique<Store>(loop_, std::make_unique<SimLog>(loop_, disk_), limits);
    ASSERT_TRUE(store_->open());
  }
  void TearDown() override { store_.reset(); }

  static Key key(int number) { return {kMaps, "default", fmt::format("n-{:04}", number)}; }
  static ObjectPtr object(int number, const std::string& value) {
    return Object::encode(
        {{"kind", "ConfigMap"},
         {"apiVersion", "v1"},
         {"metadata",
          {{"name", key(number).name},
           {"namespace", "default"},
           {"labels", {{"v", value}}},
           {"ownerReferences", JsonArray{JsonObject{{"uid", "u"}, {"kind", "Job"}}}}}},
         {"data", {{"text", std::string(2000, 'x')}, {"value", value}}}},
        {value}, "[]");
  }
  void write(int number, const std::string& value) {
    const ObjectPtr before = store_->get(key(number));
    std::optional<bool> went_well;
    store_->write({.key = key(number),
                   .expected = before ? before->revision() : 0,
                   .object = value.empty() ? nullptr : object(number, value)},
                  [&](const Result<Committed>& done) { went_well = done.has_value(); });
    ASSERT_TRUE(loop_.run_until([&] { return went_well.has_value(); }));
    EXPECT_TRUE(*went_well);
  }
  void write_many() {
    for (int i = 0; i < kMany; ++i)
      write(i, "first");
  }
  size_t cold_ones() const {
    return count([](const Object& one) { return one.is_cold(); });
  }
  size_t thawed_ones() const {
    return count([](const Object& one) { return one.is_thawed(); });
  }
  size_t count(bool (*is)(const Object&)) const {
    size_t out = 0;
    for (const ObjectPtr& one : store_->list(kMaps, {}).objects)
      out += is(*one);
    return out;
  }

  SimLoop loop_{1};
  std::shared_ptr<SimDisk> disk_ = std::make_shared<SimDisk>();
  std::unique_ptr<Store> store_;
};

TEST_F(CoolerTest, WhatIsNotWrittenForAWhileIsPackedInALargeStore) {
  start(1 << 20);
  write_many();
  const size_t bytes = store_->statistics().object_bytes;
  loop_.advance(50s);
  EXPECT_EQ(cold_ones(), 0u);
  write(3, "second");
  loop_.advance(15s);
  EXPECT_GT(cold_ones(), 400u) << "those that were there when it began";
  EXPECT_LT(cold_ones(), size_t{kMany});
  EXPECT_FALSE(store_->get(key(3))->is_cold());
  EXPECT_LT(store_->statistics().object_bytes, bytes / 2);
}

TEST_F(CoolerTest, ASmallStoreStaysAsItIs) {
  start(100 << 20);
  write_many();
  loop_.advance(10min);
  EXPECT_EQ(cold_ones(), 0u);
}

TEST_F(CoolerTest, ColdObjectsAreReadFoundWrittenAndDeletedLikeOthers) {
  start(1 << 20);
  write_many();
  loop_.advance(2min);
  ASSERT_TRUE(store_->get(key(0))->is_cold());
  ASSERT_TRUE(store_->get(key(1))->is_cold());
  std::vector<std::string> heard;
  store_->listen(kMaps, [&](const StoreEventPtr& event) {
    heard.push_back(fmt::format("{} was {}", event->object->fields()[0],
                                event->previous ? event->previous->fields()[0] : "nothing"));
  });
  write(0, "second");
  write(1, "");
  EXPECT_EQ(heard, (std::vector<std::string>{"second was first", "first was first"}));
  EXPECT_EQ(store_->get(key(1)), nullptr);
  EXPECT_EQ(store_->dependents("u").size(), size_t{kMany - 1});
  EXPECT_EQ(store_->get(key(2))->body(),
            Object::with_revision(*object(2, "first"), store_->get(key(2))->revision())->body());
  const Listing labelled = store_->list(
      kMaps, {.matches = [](const Object& one) { return one.label("v") == "second"; }});
  ASSERT_EQ(labelled.objects.size(), 1u);
  EXPECT_EQ(labelled.objects[0]->name(), key(0).name);
}

TEST_F(CoolerTest, WhatReadersUnpackedIsLetGo) {
  start(1 << 20);
  write_many();
  loop_.advance(2min);
  ASSERT_GT(cold_ones(), 100u);
  const ObjectPtr held = store_->get(key(0));
  const std::string_view body = held->body();
  for (const ObjectPtr& one : store_->list(kMaps, {}).objects)
    EXPECT_FALSE(one->body().empty());
  EXPECT_EQ(thawed_ones(), cold_ones());
  loop_.advance(2min);
  EXPECT_EQ(thawed_ones(), 0u);
  EXPECT_GT(cold_ones(), 100u);
  EXPECT_EQ(body, store_->get(key(0))->body());
}

TEST_F(CoolerTest, WhatIsCountedIsZeroInTheEnd) {
  start(1 << 20);
  write_many();
  loop_.advance(2min);
  ASSERT_GT(cold_ones(), 100u);
  for (int i = 0; i < kMany; ++i)
    write(i, "");
  EXPECT_EQ(store_->statistics().object_bytes, 0u);
  EXPECT_EQ(store_->statistics().objects, 0u);
}

TEST_F(CoolerTest, AStartBeginsWithWarmOnesAndCoolsThemToo) {
  start(1 << 20);
  write_many();
  start(1 << 20);
  EXPECT_EQ(cold_ones(), 0u);
  loop_.advance(2min);
  EXPECT_GT(cold_ones(), kMany - 15u);
}

TEST(CooledTogether, ObjectsThatAreAlikeNeedLittleEach) {
  std::vector<ObjectPtr> objects;
  size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    objects.push_back(Object::encode({{"kind", "Job"},
                                      {"apiVersion", "batch/v1"},
                                      {"metadata", {{"name", fmt::format("job-{}", i)}}},
                                      {"spec", {{"text", std::string(3000, 'x')}}}},
                                     {}, "[]"));
    bytes += objects.back()->memory();
  }
  size_t cold_bytes = 0;
  const auto cold = cooled_together(objects);
  ASSERT_EQ(cold.size(), objects.size());
  for (size_t i = 0; i < cold.size(); ++i) {
    ASSERT_NE(cold[i], nullptr);
    EXPECT_EQ(cold[i]->body(), objects[i]->body());
    cold_bytes += cold[i]->memory();
  }
  EXPECT_LT(cold_bytes, bytes / 5);
}

}  // namespace
}  // namespace yard
