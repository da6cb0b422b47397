#include <gtest/gtest.h>

#include "api/kinds.h"
#include "json/yaml.h"

namespace yard {
namespace {

Json yaml(std::string_view text) {
  auto parsed = parse_yaml(text);
  return parsed && parsed->size() == 1 ? parsed->front().parsed.value : Json();
}

TEST(HorizontalPodAutoscaler, V1IsAViewOfV2) {
  struct Case {
    const char* about;
    const char* v1;
    const char* v2;
  };
  const Case cases[] = {
      {"cpu is a member of its own",
       "{apiVersion: autoscaling/v1, metadata: {name: a}, spec: {targetCPUUtilizationPercentage: "
       "60}}",
       R"({"apiVersion":"autoscaling/v2","metadata":{"name":"a"},"spec":{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}}]}})"},
      {"what v1 does not know travels in annotations",
       R"({apiVersion: autoscaling/v1, metadata: {name: a, annotations: {autoscaling.alpha.kubernetes.io/metrics: '[{"type":"Pods"}]', autoscaling.alpha.kubernetes.io/behavior: '{"scaleUp":{}}'}}, spec: {targetCPUUtilizationPercentage: 80}})",
       R"({"apiVersion":"autoscaling/v2","metadata":{"name":"a"},"spec":{"behavior":{"scaleUp":{}},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}},{"type":"Pods"}]}})"},
  };
  const Kind kind = horizontal_pod_autoscaler_v1_kind();
  for (const Case& c : cases) {
    Json object = yaml(c.v1);
    kind.to_stored(object);
    EXPECT_TRUE(equal(object, yaml(c.v2))) << c.about << "\n" << to_text(object);
    kind.from_stored(object);
    EXPECT_TRUE(equal(object, yaml(c.v1))) << c.about << "\n" << to_text(object);
  }
}

}  // namespace
}  // namespace yard
