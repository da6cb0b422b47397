#include "json/patch.h"

#include <gtest/gtest.h>

#include "testing/case_runner.h"

namespace yard {
namespace {

Json json(std::string_view text) {
  Result<ParsedJson> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(parsed->value) : Json();
}

constexpr char kRejected[] = "the server rejected our request due to an error in our request";

class JsonPatchCases : public testing::TestWithParam<CaseFile> {};

TEST_P(JsonPatchCases, Hold) {
  run_case(GetParam(), "result", [](const Json& given) {
    Json target = *find(given, "given");
    Json patch = *find(given, "patch");
    if (patch.is_string()) patch = json(text_at(given, {"patch"}));
    Result<void> done = apply_json_patch(target, patch);
    if (done) return target;
    EXPECT_TRUE(equal(target, *find(given, "given"))) << "a failed patch changed its target";
    return error_as_case(done.error());
  });
}

INSTANTIATE_TEST_SUITE_P(Area, JsonPatchCases, testing::ValuesIn(case_files("json_patch")),
                         case_name);

struct PatchRow {
  const char* about;
  const char* target;
  const char* patch;
  const char* result;  // null: refused as Invalid
};

// A.1 to A.16 of RFC 6902; A.13 (an op given twice) cannot be told apart once parsed.
const PatchRow kRfc6902[] = {
    {"A.1 adding an object member", R"({"foo":"bar"})",
     R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"baz":"qux","foo":"bar"})"},
    {"A.2 adding an array element", R"({"foo":["bar","baz"]})",
     R"([{"op":"add","path":"/foo/1","value":"qux"}])", R"({"foo":["bar","qux","baz"]})"},
    {"A.3 removing an object member", R"({"baz":"qux","foo":"bar"})",
     R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
    {"A.4 removing an array element", R"({"foo":["bar","qux","baz"]})",
     R"([{"op":"remove","path":"/foo/1"}])", R"({"foo":["bar","baz"]})"},
    {"A.5 replacing a value", R"({"baz":"qux","foo":"bar"})",
     R"([{"op":"replace","path":"/baz","value":"boo"}])", R"({"baz":"boo","foo":"bar"})"},
    {"A.6 moving a value", R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
     R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
     R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
    {"A.7 moving an array element", R"({"foo":["all","grass","cows","eat"]})",
     R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])",
     R"({"foo":["all","cows","eat","grass"]})"},
    {"A.8 testing a value: success", R"({"baz":"qux","foo":["a",2,"c"]})",
     R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}])",
     R"({"baz":"qux","foo":["a",2,"c"]})"},
    {"A.9 testing a value: error", R"({"baz":"qux"})",
     R"([{"op":"test","path":"/baz","value":"bar"}])", nullptr},
    {"A.10 adding a nested member object", R"({"foo":"bar"})",
     R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])",
     R"({"foo":"bar","child":{"grandchild":{}}})"},
    {"A.11 ignoring unrecognized elements", R"({"foo":"bar"})",
     R"([{"op":"add","path":"/baz","value":"qux","xyz":123}])", R"({"foo":"bar","baz":"qux"})"},
    {"A.12 adding to a nonexistent target", R"({"foo":"bar"})",
     R"([{"op":"add","path":"/baz/bat","value":"qux"}])", nullptr},
    {"A.14 ~ escape ordering", R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])",
     R"({"/":9,"~1":10})"},
    {"A.15 comparing strings and numbers", R"({"/":9,"~1":10})",
     R"([{"op":"test","path":"/~01","value":"10"}])", nullptr},
    {"A.16 adding an array value", R"({"foo":["bar"]})",
     R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])", R"({"foo":["bar",["abc","def"]]})"},
};

const PatchRow kEdges[] = {
    {"the empty path is the whole document", R"({"a":1})",
     R"([{"op":"replace","path":"","value":{"b":2}}])", R"({"b":2})"},
    {"the whole document cannot be removed", R"({"a":1})", R"([{"op":"remove","path":""}])",
     nullptr},
    {"the path / is the member with an empty name", R"({"":1})",
     R"([{"op":"replace","path":"/","value":2}])", R"({"":2})"},
    {"add over a member replaces it", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])",
     R"({"a":2})"},
    {"add at the end's index appends", R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":2}])",
     R"({"a":[1,2]})"},
    {"add past the end is refused", R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":2}])",
     nullptr},
    {"an index has no leading zero", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/01"}])",
     nullptr},
    {"an index has no sign", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-1"}])", nullptr},
    {"an index is no word", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/x"}])", nullptr},
    {"an index of twenty digits is past the end", R"({"a":[1,2]})",
     R"([{"op":"remove","path":"/a/18446744073709551616"}])", nullptr},
    {"- names no item that is there", R"({"a":[1]})", R"([{"op":"remove","path":"/a/-"}])",
     nullptr},
    {"digits are a name in an object", R"({"a":{"0":1}})", R"([{"op":"remove","path":"/a/0"}])",
     R"({"a":{}})"},
    {"a path goes through no scalar", R"({"a":1})", R"([{"op":"add","path":"/a/b","value":1}])",
     nullptr},
    {"a path begins with a slash", R"({"a":1})", R"([{"op":"remove","path":"a"}])", nullptr},
    {"~2 is no escape", R"({"a~2":1})", R"([{"op":"remove","path":"/a~2"}])", nullptr},
    {"a path may not end in ~", R"({"a~":1})", R"([{"op":"remove","path":"/a~"}])", nullptr},
    {"replace needs the member to be there", R"({})", R"([{"op":"replace","path":"/a","value":1}])",
     nullptr},
    {"add needs a value", R"({})", R"([{"op":"add","path":"/a"}])", nullptr},
    {"a null value is a value", R"({})", R"([{"op":"add","path":"/a","value":null}])",
     R"({"a":null})"},
    {"an unknown op is refused", R"({})", R"([{"op":"merge","path":"/a","value":1}])", nullptr},
    {"an op without a path is refused", R"({"a":1})", R"([{"op":"remove"}])", nullptr},
    {"move onto itself changes nothing", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])",
     R"({"a":1})"},
    {"move from nowhere is refused", R"({})", R"([{"op":"move","from":"/a","path":"/b"}])",
     nullptr},
    {"a value moves to where its parent stood", R"({"a":{"b":{"c":1}}})",
     R"([{"op":"move","from":"/a/b","path":"/a"}])", R"({"a":{"c":1}})"},
    {"a copy may go into its original", R"({"a":{"b":1}})",
     R"([{"op":"copy","from":"/a","path":"/a/c"}])", R"({"a":{"b":1,"c":{"b":1}}})"},
    {"test does not mind the order of members", R"({"a":{"x":1,"y":[2]}})",
     R"([{"op":"test","path":"/a","value":{"y":[2.0],"x":1}}])", R"({"a":{"x":1,"y":[2]}})"},
    {"an absent member passes for null in a test", R"({"a":{}})",
     R"([{"op":"test","path":"/a/b","value":null}])", R"({"a":{}})"},
    {"an absent parent does not", R"({"a":{}})", R"([{"op":"test","path":"/a/b/c","value":null}])",
     nullptr},
};

void expect_row(const PatchRow& row) {
  SCOPED_TRACE(row.about);
  Json target = json(row.target);
  Result<void> done = apply_json_patch(target, json(row.patch));
  EXPECT_EQ(done.has_value(), row.result != nullptr);
  if (!done) {
    EXPECT_EQ(done.error().reason, Reason::Invalid);
    EXPECT_EQ(done.error().message, kRejected);
  }
  const char* expected = row.result != nullptr ? row.result : row.target;
  EXPECT_TRUE(equal(target, json(expected))) << to_text(target);
}

TEST(JsonPatch, FollowsTheAppendixOfRfc6902) {
  for (const PatchRow& row : kRfc6902)
    expect_row(row);
}

TEST(JsonPatch, HoldsAtTheEdges) {
  for (const PatchRow& row : kEdges)
    expect_row(row);
}

TEST(JsonPatch, RefusesABodyThatIsNoPatch) {
  for (const char* patch : {R"({})", R"("x")", R"([3])", R"([[]])", R"(null)"}) {
    Json target = json("{}");
    Result<void> done = apply_json_patch(target, json(patch));
    ASSERT_FALSE(done) << patch;
    EXPECT_EQ(done.error().reason, Reason::BadRequest) << patch;
    EXPECT_TRUE(done.error().message.starts_with("error decoding patch: ")) << patch;
  }
}

TEST(JsonPatch, AllowsTenThousandOperationsAndNoMore) {
  JsonArray patch;
  Json operation = json(R"({"op":"add","path":"/a","value":1})");
  patch.resize(10'000, operation);
  Json target = json("{}");
  EXPECT_TRUE(apply_json_patch(target, patch));
  patch.push_back(operation);
  Result<void> done = apply_json_patch(target, patch);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().reason, Reason::RequestEntityTooLarge);
}

TEST(JsonPatch, BoundsWhatCopiesAddUpTo) {
  Json target = json("{}");
  target.get_object()["a"] = std::string(1'000'000, 'x');
  JsonArray patch;
  for (const char* path : {"/b", "/c", "/d"}) {
    Json operation = json(R"({"op":"copy","from":"/a"})");
    operation.get_object()["path"] = path;
    patch.push_back(operation);
  }
  EXPECT_TRUE(apply_json_patch(target, patch));
  patch.push_back(patch.back());
  EXPECT_FALSE(apply_json_patch(target, patch));
}

// {"a":{"a":...}} copied into its own deepest place doubles the depth each time.
TEST(JsonPatch, CannotNestWithoutBound) {
  Json target = json(R"({"a":{}})");
  std::string path = "/a";
  for (int i = 0; i < 20; ++i) {
    JsonArray patch;
    JsonObject operation;
    operation["op"] = "copy";
    operation["from"] = "";
    operation["path"] = path + "/a";
    patch.push_back(std::move(operation));
    if (!apply_json_patch(target, patch)) {
      EXPECT_GT(i, 5) << "a modest depth is fine";
      return;
    }
    path += "/a" + path;
  }
  FAIL() << "the depth grew past all bounds";
}

struct MergeRow {
  const char* target;
  const char* patch;
  const char* result;
};

// Appendix A of RFC 7386, less the rows whose patch is no object: the API server refuses those.
const MergeRow kRfc7386[] = {
    {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
    {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
    {R"({"a":"b"})", R"({"a":null})", R"({})"},
    {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
    {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
    {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
    {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
    {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
    {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
    {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
    {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
};

TEST(MergePatch, FollowsTheAppendixOfRfc7386) {
  for (const MergeRow& row : kRfc7386) {
    Json target = json(row.target);
    EXPECT_TRUE(apply_merge_patch(target, json(row.patch))) << row.patch;
    EXPECT_TRUE(equal(target, json(row.result))) << row.patch << " gave " << to_text(target);
  }
}

TEST(MergePatch, RefusesAPatchThatIsNoObject) {
  for (const char* patch : {R"(["c"])", "null", R"("bar")"}) {
    Json target = json(R"({"a":"b"})");
    Result<void> done = apply_merge_patch(target, json(patch));
    ASSERT_FALSE(done) << patch;
    EXPECT_EQ(done.error().reason, Reason::BadRequest);
    EXPECT_EQ(to_text(target), R"({"a":"b"})");
  }
}

TEST(CaseRunner, MarksTheLinesThatDiffer) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "a\nx\nc\nd\n"), "  a\n- b\n+ x\n  c\n+ d\n");
  EXPECT_EQ(line_diff("a\n", "a\n"), "");
}

TEST(CaseRunner, RewritesOnlyTheExpectation) {
  const char* before = "about: x  # a comment stays\nresult:\n- old\n\n- older\ngiven: {a: 1}\n";
  const char* after = "about: x  # a comment stays\nresult:\n- 1\ngiven: {a: 1}\n";
  EXPECT_EQ(with_expectation(before, "result", json("[1]")), after);
  EXPECT_EQ(with_expectation("about: x\n", "result", json("{}")), "about: x\nresult: {}\n");
}

}  // namespace
}  // namespace yard
