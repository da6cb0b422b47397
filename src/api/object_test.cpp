#include "api/object.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"

namespace yard {
namespace {

Json json(std::string_view text) {
  auto parsed = parse_json(text);
  check(parsed.has_value(), "the test's JSON parses");
  return std::move(parsed->value);
}

ObjectPtr encode(std::string_view text) {
  return Object::encode(json(text), {}, "[]");
}

ObjectPtr sample() {
  return Object::encode(
      json(R"({"metadata":{"name":"mnist","resourceVersion":"7","namespace":"team","uid":"u-1",
        "labels":{"app":"mnist","tier":""},"generation":3,"creationTimestamp":"2026-11-15T06:05:54Z",
        "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"up","uid":"u-0","controller":true,
        "blockOwnerDeletion":true},{"uid":"u-9","kind":"Pod","name":"other","apiVersion":"v1"}],
        "finalizers":["a.io/b"]},"spec":{"replicas":2},"apiVersion":"batch/v1","kind":"Job","status":{}})"),
      {"mnist", "Running"}, R"(["mnist",1])");
}

TEST(Object, EncodesKindVersionMetadataAndThenTheRestInOrder) {
  struct Case {
    const char* about;
    const char* tree;
    const char* body;
  };
  const Case cases[] = {
      {"kind and apiVersion come first, resourceVersion last of metadata",
       R"({"spec":{"a":1},"metadata":{"resourceVersion":"9","name":"x"},"apiVersion":"v1","kind":"Pod","data":null})",
       R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":""},"spec":{"a":1},"data":null})"},
      {"metadata without members has a place for the revision",
       R"({"kind":"Pod","apiVersion":"v1","metadata":{}})",
       R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":""}})"},
      {"missing metadata is written all the same", R"({"kind":"Pod","apiVersion":"v1"})",
       R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":""}})"},
      {"odd members of metadata are kept as they are",
       R"({"kind":"P","apiVersion":"v1","metadata":{"labels":{"a":1,"b":"c"},"ownerReferences":[1,{"uid":2}],"name":3}})",
       R"({"kind":"P","apiVersion":"v1","metadata":{"labels":{"a":1,"b":"c"},"ownerReferences":[1,{"uid":2}],"name":3,"resourceVersion":""}})"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(encode(c.tree)->body(), c.body) << c.about;
}

TEST(Object, KnowsTheFactsOfItsMetadata) {
  const ObjectPtr object = sample();
  EXPECT_EQ(object->name(), "mnist");
  EXPECT_EQ(object->ns(), "team");
  EXPECT_EQ(object->uid(), "u-1");
  EXPECT_EQ(object->generation(), 3);
  EXPECT_EQ(object->revision(), 0u);
  EXPECT_EQ(rfc3339(object->created()), "2026-11-15T06:05:54Z");
  EXPECT_FALSE(object->is_being_deleted());
  EXPECT_TRUE(object->has_finalizers());
  EXPECT_EQ(object->label("app"), "mnist");
  EXPECT_EQ(object->label("tier"), "");
  EXPECT_EQ(object->label("none"), std::nullopt);
  ASSERT_EQ(object->owners().size(), 2u);
  const OwnerRef owner = object->owners()[0];
  EXPECT_EQ(owner.uid, "u-0");
  EXPECT_EQ(owner.kind, "Job");
  EXPECT_EQ(owner.name, "up");
  EXPECT_EQ(owner.api_version, "batch/v1");
  EXPECT_TRUE(owner.controller);
  EXPECT_TRUE(owner.block_owner_deletion);
  EXPECT_FALSE(object->owners()[1].controller);
  EXPECT_TRUE(object->body_without_type().starts_with(R"("metadata":{"name":"mnist")"));
  EXPECT_TRUE(object->metadata().ends_with(R"("resourceVersion":""})"));
  EXPECT_TRUE(equal(json(object->metadata()), *find(object->tree(), "metadata")));
  EXPECT_GT(object->memory(), object->body().size());
  EXPECT_TRUE(
      encode(R"({"metadata":{"deletionTimestamp":"2026-11-15T06:05:54Z"}})")->is_being_deleted());
  EXPECT_FALSE(
      encode(R"({"metadata":{"deletionTimestamp":null,"finalizers":[]}})")->is_being_deleted());
}

TEST(Object, KeepsNamesThatJsonMustEscape) {
  const ObjectPtr object = encode(
      R"({"kind":"K","apiVersion":"v1","metadata":{"name":"a\"b","labels":{"tab\t":"new\nline","plain":"x"},"ownerReferences":[{"uid":"\\"}]}})");
  const auto back = Object::restore(object->index(), object->body());
  ASSERT_TRUE(back);
  for (const ObjectPtr& one : {object, Object::with_revision(*object, 12), *back}) {
    EXPECT_EQ(one->name(), "a\"b");
    EXPECT_EQ(one->label("tab\t"), "new\nline");
    EXPECT_EQ(one->label("plain"), "x");
    EXPECT_EQ(one->owners()[0].uid, "\\");
    EXPECT_EQ(text_at(one->tree(), {"metadata", "name"}), "a\"b");
  }
}

TEST(Object, TakesARevisionWithoutMovingAnything) {
  const ObjectPtr plain = sample();
  ObjectPtr object = plain;
  for (const Revision revision :
       {Revision{1}, Revision{42}, Revision{18446744073709551615u}, Revision{9}}) {
    object = Object::with_revision(*object, revision);
    EXPECT_EQ(object->revision(), revision);
    EXPECT_EQ(text_at(object->tree(), {"metadata", "resourceVersion"}), std::to_string(revision));
    EXPECT_EQ(object->name(), "mnist");
    EXPECT_EQ(object->label("app"), "mnist");
    EXPECT_TRUE(std::ranges::equal(object->fields(), plain->fields()));
    EXPECT_EQ(object->cells(), plain->cells());
    EXPECT_TRUE(equal(json(object->metadata()), *find(object->tree(), "metadata")));
  }
  EXPECT_EQ(Object::with_revision(*object, 0)->body(), plain->body());
}

TEST(Object, ComesBackFromItsIndexAndBody) {
  const ObjectPtr object = Object::with_revision(*sample(), 1234);
  const auto back = Object::restore(object->index(), object->body());
  ASSERT_TRUE(back);
  const ObjectPtr& restored = *back;
  EXPECT_EQ(restored->body(), object->body());
  EXPECT_EQ(restored->index(), object->index());
  EXPECT_EQ(restored->revision(), 1234u);
  EXPECT_EQ(restored->uid(), "u-1");
  EXPECT_EQ(restored->generation(), 3);
  EXPECT_EQ(restored->created(), object->created());
  EXPECT_TRUE(restored->has_finalizers());
  EXPECT_EQ(restored->label("app"), "mnist");
  EXPECT_EQ(restored->owners()[0].api_version, "batch/v1");
  EXPECT_TRUE(std::ranges::equal(restored->fields(), object->fields()));
  EXPECT_EQ(restored->cells(), object->cells());
  EXPECT_EQ(restored->body_without_type(), object->body_without_type());
}

TEST(Object, RefusesDamagedBytes) {
  const ObjectPtr object = Object::with_revision(*sample(), 1234);
  const std::string index = object->index(), body(object->body());
  for (size_t size = 0; size < index.size(); ++size) {
    EXPECT_FALSE(Object::restore(index.substr(0, size), body)) << "cut to " << size;
  }
  for (size_t at = 0; at < index.size(); ++at) {
    std::string bad = index;
    bad[at] ^= 0x41;
    EXPECT_FALSE(Object::restore(bad, body)) << "index byte " << at;
  }
  for (size_t at = 0; at < body.size(); ++at) {
    std::string bad = body;
    bad[at] ^= 1;
    EXPECT_FALSE(Object::restore(index, bad)) << "body byte " << at;
  }
  EXPECT_FALSE(Object::restore(index + "x", body));
  EXPECT_FALSE(Object::restore(index, body + "x"));
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string noise(1, 1);
    for (size_t size = random.below(200); size > 0; --size)
      noise += static_cast<char>(random.next());
    EXPECT_FALSE(Object::restore(noise, body));
  }
}

}  // namespace
}  // namespace yard
