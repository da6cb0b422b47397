#include "api/fields/fields_v1.h"

#include <gtest/gtest.h>

#include "api/fields/field_paths.h"
#include "api/fields/fields_testing.h"

namespace yard {
namespace {

using fields_testing::json;

std::string round_trip(std::string_view text) {
  FieldArena arena;
  const Json fields = json(text);
  const auto set = read_fields_v1(arena, fields);
  return set ? to_text(Json(write_fields_v1(*set, {}))) : "invalid";
}

struct ReadCase {
  const char* about;
  const char* text;
  const char* written;
};

TEST(FieldsV1, ReadsWhatUpstreamReads) {
  const ReadCase cases[] = {
      {"the empty set", "{}", "{}"},
      {"members come out sorted, the dot first", R"({"f:b":{},"f:a":{"f:c":{},".":{}}})",
       R"({"f:a":{".":{},"f:c":{}},"f:b":{}})"},
      {"keys and values have one spelling", R"({"k:{\"b\": 1.0, \"a\":\"x\"}":{},"v: \"y\"":{}})",
       R"({"k:{\"a\":\"x\",\"b\":1}":{},"v:\"y\"":{}})"},
      {"two spellings of one key are one member",
       R"({"k:{\"a\":1}":{"f:x":{}},"k:{\"a\": 1}":{"f:y":{}}})",
       R"({"k:{\"a\":1}":{"f:x":{},"f:y":{}}})"},
      {"indices", R"({"i:3":{}})", R"({"i:3":{}})"},
      {"elements of unknown kinds are skipped", R"({"z:a":{},"f:a":{}})", R"({"f:a":{}})"},
      {"a leaf is an object", R"({"f:a":1})", "invalid"},
      {"a name has a kind", R"({"name":{}})", "invalid"},
      {"a key is an object", R"({"k:1":{}})", "invalid"},
      {"a key is JSON", R"({"k:{":{}})", "invalid"},
      {"an index is a number", R"({"i:x":{}})", "invalid"},
      {"the set is an object", "[]", "invalid"},
  };
  for (const ReadCase& c : cases)
    EXPECT_EQ(round_trip(c.text), c.written) << c.about;
}

TEST(FieldsV1, RefusesEndlessDepth) {
  std::string deep;
  for (int i = 0; i < 400; ++i)
    deep += R"({"f:a":)";
  deep += "{}";
  deep.append(400, '}');
  EXPECT_EQ(round_trip(deep), "invalid");
}

struct AlgebraCase {
  const char* about;
  const char* left;
  const char* right;
  const char* united;
  const char* shared;
  const char* rest;
  const char* rest_below;
};

TEST(FieldSet, HasTheAlgebraOfSets) {
  const AlgebraCase cases[] = {
      {"apart", R"({"f:a":{}})", R"({"f:b":{}})", R"({"f:a":{},"f:b":{}})", "{}", R"({"f:a":{}})",
       R"({"f:a":{}})"},
      {"a member and what lies below it are two paths", R"({"f:a":{".":{},"f:b":{}}})",
       R"({"f:a":{}})", R"({"f:a":{".":{},"f:b":{}}})", R"({"f:a":{}})", R"({"f:a":{"f:b":{}}})",
       "{}"},
      {"paths below a node that is no member", R"({"f:a":{"f:b":{},"f:c":{}}})",
       R"({"f:a":{"f:c":{}}})", R"({"f:a":{"f:b":{},"f:c":{}}})", R"({"f:a":{"f:c":{}}})",
       R"({"f:a":{"f:b":{}}})", R"({"f:a":{"f:b":{}}})"},
      {"kinds are told apart", R"({"f:1":{}})", R"({"v:1":{}})", R"({"f:1":{},"v:1":{}})", "{}",
       R"({"f:1":{}})", R"({"f:1":{}})"},
  };
  for (const AlgebraCase& c : cases) {
    FieldArena arena;
    const Json left_json = json(c.left), right_json = json(c.right);
    const FieldNodes left = *read_fields_v1(arena, left_json);
    const FieldNodes right = *read_fields_v1(arena, right_json);
    const auto text = [](FieldNodes set) { return to_text(Json(write_fields_v1(set, {}))); };
    EXPECT_EQ(text(unite(arena, left, right)), c.united) << c.about;
    EXPECT_EQ(text(intersect(arena, left, right)), c.shared) << c.about;
    EXPECT_EQ(text(subtract(arena, left, right)), c.rest) << c.about;
    EXPECT_EQ(text(subtract_below(arena, left, right)), c.rest_below) << c.about;
    EXPECT_TRUE(same_set(unite(arena, left, right), unite(arena, right, left))) << c.about;
  }
}

TEST(FieldPaths, ReadAsUpstreamPrintsThem) {
  FieldArena arena;
  const Json fields = json(
      R"({"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}},"f:tags":{"v:\"a\"":{}}},"i:2":{}})");
  std::vector<std::string> paths;
  NodePath path;
  each_member(*read_fields_v1(arena, fields), path,
              [&](const NodePath& member) { paths.push_back(path_text(member)); });
  const std::vector<std::string> expected = {"[2]", R"(.spec.ports[port=80,protocol="TCP"].name)",
                                             R"(.spec.tags[="a"])"};
  EXPECT_EQ(paths, expected);
}

}  // namespace
}  // namespace yard
