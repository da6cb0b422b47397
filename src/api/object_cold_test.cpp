#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/object.h"
#include "base/pack.h"

namespace yard {
namespace {

// With names that JSON must escape where `quote` has one.
ObjectPtr object(const std::string& name, const std::string& quote = "") {
  const Json tree = {{"kind", "Job"},
                     {"apiVersion", "batch/v1"},
                     {"metadata",
                      {{"name", name + quote},
                       {"namespace", "team"},
                       {"uid", "u-" + name},
                       {"labels", {{"app", name}, {"tab" + quote, "new" + quote}}},
                       {"generation", 3},
                       {"creationTimestamp", "2026-11-15T06:05:54Z"},
                       {"finalizers", JsonArray{"a.io/b"}},
                       {"ownerReferences", JsonArray{JsonObject{{"uid", "u-0"},
                                                                {"kind", "CronJob"},
                                                                {"name", "up"},
                                                                {"apiVersion", "batch/v1"},
                                                                {"controller", true}}}}}},
                     {"spec", {{"text", std::string(3000, 'x')}}}};
  return Object::with_revision(*Object::encode(tree, {"a field", name}, "[\"cells\"]"), 77);
}

ObjectPtr cold(const ObjectPtr& warm) {
  const auto sample = std::make_shared<const std::string>(object("sample")->packable());
  Packer packer(*sample);
  return Object::cooled(*warm, packer, sample);
}

void expect_same_facts(const Object& one, const Object& other) {
  EXPECT_EQ(one.revision(), other.revision());
  EXPECT_EQ(one.type(), other.type());
  EXPECT_EQ(one.name(), other.name());
  EXPECT_EQ(one.ns(), other.ns());
  EXPECT_EQ(one.uid(), other.uid());
  EXPECT_EQ(one.generation(), other.generation());
  EXPECT_EQ(one.created(), other.created());
  EXPECT_EQ(one.is_being_deleted(), other.is_being_deleted());
  EXPECT_EQ(one.has_finalizers(), other.has_finalizers());
  EXPECT_EQ(one.label("app"), other.label("app"));
  EXPECT_EQ(one.label("tab\""), other.label("tab\""));
  ASSERT_EQ(one.owners().size(), other.owners().size());
  EXPECT_EQ(one.owners()[0].uid, other.owners()[0].uid);
  EXPECT_EQ(one.owners()[0].kind, other.owners()[0].kind);
  EXPECT_EQ(one.owners()[0].name, other.owners()[0].name);
  EXPECT_EQ(one.owners()[0].api_version, other.owners()[0].api_version);
  EXPECT_EQ(one.owners()[0].controller, other.owners()[0].controller);
  EXPECT_TRUE(std::ranges::equal(one.fields(), other.fields()));
  EXPECT_EQ(one.cells(), other.cells());
  EXPECT_EQ(one.body_size(), other.body_size());
}

TEST(ColdObject, SaysWhatItSaidBefore) {
  for (const ObjectPtr& warm : {object("mnist"), object("mnist", "\"")}) {
    const ObjectPtr packed = cold(warm);
    ASSERT_NE(packed, nullptr);
    EXPECT_TRUE(packed->is_cold());
    EXPECT_LT(packed->memory(), warm->memory() / 3);
    expect_same_facts(*packed, *warm);
    EXPECT_EQ(to_text(packed->tree()), to_text(warm->tree()));
    EXPECT_FALSE(packed->is_thawed()) << "neither facts nor a tree need the body";
    EXPECT_EQ(packed->body(), warm->body());
    EXPECT_TRUE(packed->is_thawed());
    EXPECT_EQ(packed->body_without_type(), warm->body_without_type());
    EXPECT_EQ(packed->metadata(), warm->metadata());
    EXPECT_EQ(packed->index(), warm->index());
    expect_same_facts(*packed, *warm);
    EXPECT_EQ(Object::with_revision(*packed, 78)->body(), Object::with_revision(*warm, 78)->body());
  }
}

TEST(ColdObject, LetsGoWhatWasUnpacked) {
  const ObjectPtr warm = object("mnist"), packed = cold(warm);
  const std::string_view body = packed->body();
  const ObjectPtr again = Object::cooled_again(*packed);
  EXPECT_FALSE(again->is_thawed());
  expect_same_facts(*again, *warm);
  EXPECT_EQ(body, warm->body()) << "whoever reads the earlier one still can";
  EXPECT_EQ(again->body(), warm->body());
}

TEST(ColdObject, IsUnpackedOnceByManyThreads) {
  const ObjectPtr warm = object("mnist"), packed = cold(warm);
  std::vector<const char*> seen(4);
  std::vector<std::thread> readers;
  for (const char*& place : seen)
    readers.emplace_back([&place, &packed] { place = packed->body().data(); });
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(std::ranges::count(seen, seen.front()), 4);
  EXPECT_EQ(packed->body(), warm->body());
}

TEST(ColdObject, IsNotMadeOfWhatIsSmall) {
  const ObjectPtr small = Object::encode(
      {{"kind", "Secret"}, {"apiVersion", "v1"}, {"metadata", {{"name", "a"}}}}, {}, "[]");
  EXPECT_EQ(cold(small), nullptr);
}

}  // namespace
}  // namespace yard
