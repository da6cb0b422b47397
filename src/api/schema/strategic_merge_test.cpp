#include "api/schema/strategic_merge.h"

#include <fstream>

#include <gtest/gtest.h>

namespace yard {
namespace {

Json json(std::string_view text) {
  Result<ParsedJson> parsed = parse_json(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(parsed->value) : Json();
}

struct Case {
  const char* about;
  const char* target;
  const char* patch;
  const char* expected;  // or the start of the error
};

void expect_cases(const char* schema_name, std::initializer_list<Case> cases) {
  const Schema* schema = builtin_schemas().find(schema_name);
  ASSERT_NE(schema, nullptr);
  for (const Case& row : cases) {
    Json target = json(row.target);
    const Result<void> merged = apply_strategic_merge_patch(target, json(row.patch), *schema);
    if (merged) {
      EXPECT_TRUE(equal(target, json(row.expected))) << row.about << "\n" << to_text(target);
    } else {
      EXPECT_TRUE(merged.error().message.starts_with(row.expected))
          << row.about << ": " << merged.error().message;
      EXPECT_EQ(merged.error().reason, Reason::BadRequest) << row.about;
      EXPECT_EQ(to_text(target), to_text(json(row.target))) << row.about;
    }
  }
}

TEST(StrategicMerge, PodSpecs) {
  expect_cases(
      "core.v1.PodSpec",
      {{"an order directive sorts containers and their variables",
        R"({"containers":[{"name":"c","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]}]})",
        R"({"$setElementOrder/containers":[{"name":"n"},{"name":"c"}],"containers":[{"name":"n","image":"q"},{"name":"c","$setElementOrder/env":[{"name":"Y"},{"name":"Z"}],"env":[{"name":"Z","value":"3"},{"$patch":"delete","name":"X"}]}]})",
        R"({"containers":[{"name":"n","image":"q"},{"name":"c","env":[{"name":"Y","value":"2"},{"name":"Z","value":"3"}]}]})"},
       {"a list out of the order it asks for is refused", R"({"containers":[{"name":"c"}]})",
        R"({"$setElementOrder/containers":[{"name":"n"},{"name":"c"}],"containers":[{"name":"c"},{"name":"n"}]})",
        "The order in patch list:\n[map[name:c] map[name:n]]\n doesn't match $setElementOrder "
        "list:\n[map[name:n] "
        "map[name:c]]\n"},
       {"an element missing in the order is refused", R"({"containers":[{"name":"c"}]})",
        R"({"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"n"}]})",
        "The order in patch list:"},
       {"kubectl set image", R"({"containers":[{"name":"c","image":"i","args":["a"]}]})",
        R"({"$setElementOrder/containers":[{"name":"c"}],"containers":[{"image":"j","name":"c"}]})",
        R"({"containers":[{"name":"c","image":"j","args":["a"]}]})"},
       {"an order directive alone sorts, and the server's own keep their place",
        R"({"containers":[{"name":"a"},{"name":"s"},{"name":"b"}]})",
        R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})",
        R"({"containers":[{"name":"s"},{"name":"b"},{"name":"a"}]})"},
       {"a new container comes before the server's",
        R"({"containers":[{"name":"n"},{"name":"c"}]})",
        R"({"containers":[{"name":"z","image":"q"}]})",
        R"({"containers":[{"name":"z","image":"q"},{"name":"n"},{"name":"c"}]})"},
       {"a list may be replaced whole", R"({"containers":[{"name":"n"},{"name":"c"}]})",
        R"({"containers":[{"$patch":"replace"},{"name":"only","image":"q"}]})",
        R"({"containers":[{"name":"only","image":"q"}]})"},
       {"null removes a list", R"({"volumes":[{"name":"v"}],"hostname":"h"})",
        R"({"volumes":null})", R"({"hostname":"h"})"},
       {"retainKeys leaves one source of a volume", R"({"volumes":[{"name":"v","emptyDir":{}}]})",
        R"({"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/x"}}]})",
        R"({"volumes":[{"name":"v","hostPath":{"path":"/x"}}]})"},
       {"retainKeys must name what the patch sets", R"({"volumes":[{"name":"v","emptyDir":{}}]})",
        R"({"volumes":[{"$retainKeys":["name"],"name":"v","hostPath":{"path":"/x"}}]})",
        "invalid patch format of retainKeys"},
       {"an element without the key is refused", R"({"containers":[{"name":"c"}]})",
        R"({"containers":[{"image":"new"}]})",
        "map: map[image:new] does not contain declared merge key: name"},
       {"an element of a wrong type is refused", R"({"containers":[{"name":"c"}]})",
        R"({"containers":["c"]})", "expected a map, but received c"},
       {"lists without a merge key are replaced",
        R"({"tolerations":[{"key":"a"}],"containers":[{"name":"c","command":["x"]}]})",
        R"({"tolerations":[{"key":"b"}],"containers":[{"name":"c","command":["y","z"]}]})",
        R"({"tolerations":[{"key":"b"}],"containers":[{"name":"c","command":["y","z"]}]})"},
       {"ports merge by number, mounts by path",
        R"({"containers":[{"name":"c","ports":[{"containerPort":80,"name":"a"}],"volumeMounts":[{"mountPath":"/a","name":"v"}]}]})",
        R"({"containers":[{"name":"c","ports":[{"containerPort":80,"name":"b"},{"containerPort":81}],"volumeMounts":[{"mountPath":"/a","readOnly":true}]}]})",
        R"({"containers":[{"name":"c","ports":[{"containerPort":80,"name":"b"},{"containerPort":81}],"volumeMounts":[{"mountPath":"/a","name":"v","readOnly":true}]}]})"},
       {"a map may be replaced", R"({"nodeSelector":{"a":"1","b":"2"}})",
        R"({"nodeSelector":{"$patch":"replace","c":"3"}})", R"({"nodeSelector":{"c":"3"}})"},
       {"a map may be emptied", R"({"nodeSelector":{"a":"1"}})",
        R"({"nodeSelector":{"$patch":"delete"}})", R"({"nodeSelector":{}})"},
       {"other directives are refused", R"({"nodeSelector":{"a":"1"}})",
        R"({"nodeSelector":{"$patch":"shuffle"}})",
        "unknown patch type: shuffle in map: map[$patch:shuffle]"},
       {"an order for a list that does not merge is refused", R"({"tolerations":[]})",
        R"({"$setElementOrder/tolerations":[]})", "invalid patch format of setElementOrder list"},
       {"new members lose nulls and directives", "{}",
        R"({"containers":[{"name":"c","image":null,"env":[{"$patch":"delete","name":"x"},{"name":"y"}]}]})",
        R"({"containers":[{"name":"c","env":[{"name":"y"}]}]})"}});
}

TEST(StrategicMerge, OtherTypes) {
  expect_cases("apps.v1.DeploymentSpec",
               {{"a strategy keeps only what is retained",
                 R"({"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}})",
                 R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})",
                 R"({"strategy":{"type":"Recreate"}})"}});
  expect_cases(
      "meta.v1.ObjectMeta",
      {{"finalizers of the patch come first", R"({"finalizers":["a.io/f"]})",
        R"({"finalizers":["b.io/g"]})", R"({"finalizers":["b.io/g","a.io/f"]})"},
       {"a finalizer is there once", R"({"finalizers":["a","b"]})", R"({"finalizers":["b","b"]})",
        R"({"finalizers":["a","b"]})"},
       {"finalizers are removed by name", R"({"finalizers":["a.io/f","b"]})",
        R"({"$deleteFromPrimitiveList/finalizers":["a.io/f"]})", R"({"finalizers":["b"]})"},
       {"a removal must be a list", R"({"finalizers":["a"]})",
        R"({"$deleteFromPrimitiveList/finalizers":"a"})", "invalid patch format of primitive list"},
       {"removal and order together", R"({"finalizers":["a","b"]})",
        R"({"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["c","b"],"finalizers":["c"]})",
        R"({"finalizers":["c","b"]})"},
       {"labels stay absent when a patch of nothing replaces them", R"({"name":"x"})",
        R"({"labels":{"$patch":"replace","z":"1"}})", R"({"name":"x"})"},
       {"labels merge and null removes one", R"({"labels":{"a":"1","b":"2"}})",
        R"({"labels":{"a":null,"c":"3"}})", R"({"labels":{"b":"2","c":"3"}})"},
       {"another type replaces", R"({"labels":"odd"})", R"({"labels":{"a":"1","b":null}})",
        R"({"labels":{"a":"1"}})"},
       {"owners merge by uid", R"({"ownerReferences":[{"uid":"1","name":"a"}]})",
        R"({"ownerReferences":[{"uid":"1","$patch":"delete"},{"uid":"2","name":"b"}]})",
        R"({"ownerReferences":[{"uid":"2","name":"b"}]})"},
       {"a patch is an object", R"({"a":1})", "[]", "invalid JSON document"}});
  expect_cases(
      "policy.v1.PodDisruptionBudgetSpec",
      {{"its selector is replaced", R"({"selector":{"matchLabels":{"a":"b"}}})",
        R"({"selector":{"matchLabels":{"c":"d"}}})", R"({"selector":{"matchLabels":{"c":"d"}}})"}});
  expect_cases("apps.v1.DeploymentSpec",
               {{"other selectors merge", R"({"selector":{"matchLabels":{"a":"b"}}})",
                 R"({"selector":{"matchLabels":{"c":"d"}}})",
                 R"({"selector":{"matchLabels":{"a":"b","c":"d"}}})"}});
  expect_cases("apps.v1.ControllerRevision",
               {{"free JSON merges as maps do", R"({"data":{"a":{"b":1,"l":[1]}}})",
                 R"({"data":{"a":{"c":2,"l":[2]}}})", R"({"data":{"a":{"b":1,"c":2,"l":[2]}}})"}});
}

// Random pods and patches with what Kubernetes' own library (apimachinery v0.34.4) made of them: a
// line is [pod, patch, result without left-over directives, or a text that begins with ERR].
TEST(StrategicMerge, RandomPodsMergeAsUpstreamMergesThem) {
  std::ifstream file(YARD_SOURCE_DIR "/src/api/schema/testdata/strategic_merge.jsonl");
  const Schema* pod = builtin_schemas().find("core.v1.Pod");
  size_t rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    Json row = json(line);
    ASSERT_TRUE(row.is_array() && row.get_array().size() == 3);
    Json& target = row.get_array()[0];
    const Json& expected = row.get_array()[2];
    const bool merged = apply_strategic_merge_patch(target, row.get_array()[1], *pod).has_value();
    EXPECT_EQ(merged, expected.is_object()) << line;
    if (merged) {
      EXPECT_TRUE(equal(target, expected)) << line << "\n" << to_text(target);
    }
  }
  EXPECT_GE(rows, 40u);
}

}  // namespace
}  // namespace yard
