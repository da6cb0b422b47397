#include "apiserver/usage_table.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

using std::chrono::milliseconds;

TEST(UsageTable, WindowsAreAsGoPrintsThem) {
  const std::pair<int, const char*> cases[] = {{10'000, "10s"}, {10'062, "10.062s"}, {800, "800ms"},
                                               {1'500, "1.5s"}, {60'000, "1m0s"},    {0, "0s"}};
  for (const auto& [length, text] : cases)
    EXPECT_EQ(window_text(milliseconds(length)), text);
}

TEST(UsageTable, APodIsTheSumOfItsContainers) {
  const Json pods = yaml(R"([
    {kind: PodMetrics, metadata: {name: a, namespace: x}, window: 10s, containers: [
      {name: one, usage: {cpu: 600u, memory: 512Ki}}, {name: two, usage: {cpu: 400u, memory: 512Ki}}]},
    {kind: PodMetrics, metadata: {name: b, namespace: x}, window: 10s, containers: []}])");
  Rendering rendering;
  rendering.representation.form = Representation::Form::Table;
  const Json table = usage_table(pods.get_array(), rendering);
  EXPECT_EQ(to_text(table.at("rows").at(0).at("cells")), R"(["a","1m","1Mi","10s"])");
  EXPECT_EQ(to_text(table.at("rows").at(1).at("cells")), R"(["b","0","0","10s"])");
  EXPECT_EQ(
      to_text(table.at("rows").at(0).at("object")),
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"x"}})");
  std::string names;
  for (const Json& column : table.at("columnDefinitions").as_array())
    names += std::string(column.at("name").as_string()) + " ";
  EXPECT_EQ(names, "Name cpu memory Window ");
}

TEST(UsageTable, ANodeIsItself) {
  const Json nodes = yaml(
      "[{kind: NodeMetrics, metadata: {name: here}, window: 1.5s, usage: {cpu: '2', memory: 1Gi}}]");
  Rendering rendering;
  rendering.include = IncludeObject::None;
  const Json table = usage_table(nodes.get_array(), rendering);
  EXPECT_EQ(to_text(table.at("rows")), R"([{"cells":["here","2","1Gi","1.5s"]}])");
}

}  // namespace
}  // namespace yard
