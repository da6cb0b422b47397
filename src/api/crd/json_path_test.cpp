#include "api/crd/json_path.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

struct Row {
  const char* about;
  const char* path;
  const char* found;  // the matches as a JSON list
};

class JsonPathTest : public testing::TestWithParam<Row> {};

TEST_P(JsonPathTest, Finds) {
  const Json object = yaml(R"(
metadata: {name: w, annotations: {a.b/c: dotted}}
spec: {x: 1, list: [{id: a, v: 1}, {id: b, v: 2}, {id: c}]}
status:
  conditions: [{type: Ready, status: "True"}, {type: "odd]one", status: Odd}]
)");
  const auto path = JsonPath::parse(GetParam().path);
  ASSERT_TRUE(path) << path.error().message;
  JsonArray found;
  for (const Json* value : path->find_all(object))
    found.push_back(*value);
  EXPECT_EQ(to_text(found), GetParam().found) << GetParam().about;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, JsonPathTest,
    testing::Values(Row{"a member", ".spec.x", "[1]"}, Row{"nothing there", ".spec.y.z", "[]"},
                    Row{"a quoted member", ".metadata.annotations['a.b/c']", R"(["dotted"])"},
                    Row{"an escaped dot", R"(.metadata.annotations.a\.b/c)", R"(["dotted"])"},
                    Row{"a position", ".spec.list[1].id", R"(["b"])"},
                    Row{"a position beyond", ".spec.list[9].id", "[]"},
                    Row{"from the end", ".spec.list[-1:].id", R"(["c"])"},
                    Row{"the last by position", ".spec.list[-1].id", R"(["c"])"},
                    Row{"a slice", ".spec.list[0:2].id", R"(["a","b"])"},
                    Row{"a slice with a step", ".spec.list[0:3:2].id", R"(["a","c"])"},
                    Row{"all items", ".spec.list[*].v", "[1,2]"},
                    Row{"all members", ".metadata.annotations.*", R"(["dotted"])"},
                    Row{"by comparison", R"(.status.conditions[?(@.type=="Ready")].status)",
                        R"(["True"])"},
                    Row{"with single quotes and spaces",
                        ".status.conditions[?(@.type == 'Ready')].status", R"(["True"])"},
                    Row{"a bracket in a text", R"(.status.conditions[?(@.type=="odd]one")].status)",
                        R"(["Odd"])"},
                    Row{"by number", ".spec.list[?(@.v>1)].id", R"(["b"])"},
                    Row{"by another number", ".spec.list[?(@.v<=1)].id", R"(["a"])"},
                    Row{"by presence", ".spec.list[?(@.v)].id", R"(["a","b"])"},
                    Row{"anywhere below", "..v", "[1,2]"}));

TEST(JsonPath, RefusesWhatItCannotRead) {
  for (const char* path : {"spec", ".a[", ".a[x]", ".a[?(1==1)]", ".a[0:1:0]", ".a[?(@.b==c)]",
                           ".a..", ".a[1:2:3:4]"}) {
    const auto parsed = JsonPath::parse(path);
    EXPECT_TRUE(!parsed || std::string(path) == ".a..") << path;
  }
}

}  // namespace
}  // namespace yard
