#include "node/environment.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

TEST(Environment, Expansion) {
  const Environment environment{{"A", "1"}, {"B", "x y"}};
  const std::pair<const char*, const char*> rows[] = {{"$(A)-$(B)", "1-x y"},
                                                      {"$$(A)", "$(A)"},
                                                      {"$(NOPE)", "$(NOPE)"},
                                                      {"$$$(A)", "$1"},
                                                      {"$A ${A} $(A", "$A ${A} $(A"},
                                                      {"cost$$", "cost$"},
                                                      {"$", "$"},
                                                      {"a$(B)$$", "ax y$"}};
  for (const auto& [input, answer] : rows)
    EXPECT_EQ(expand(input, environment), answer) << input;
}

PodFactsForEnv facts() {
  PodFactsForEnv out;
  out.pod_ip = "127.64.0.9";
  out.host_ip = "127.0.0.1";
  out.allocatable = yaml("{cpu: '4', memory: 8Gi}");
  out.find = [](std::string_view kind, std::string_view name) -> Json {
    if (kind == "ConfigMap" && name == "m")
      return yaml("{kind: ConfigMap, data: {a: one, b: two}}");
    if (kind == "Secret" && name == "s") return yaml("{kind: Secret, data: {k: aGlkZGVu}}");
    return Json();
  };
  return out;
}

std::string built(const char* container) {
  const Json pod =
      yaml("{metadata: {name: p, namespace: ns, labels: {app: x}}, spec: {nodeName: here}}");
  auto environment = container_environment(pod, yaml(container), facts(), {{"PATH", "/bin"}});
  if (!environment) return "error: " + environment.error().message;
  std::string out;
  for (const auto& [name, value] : *environment)
    out += name + "=" + value + " ";
  return out;
}

TEST(Environment, Table) {
  const std::pair<const char*, const char*> rows[] = {
      {"{}", "PATH=/bin "},
      {"env: [{name: A, value: x}, {name: B, value: $(A)$(C)}]", "PATH=/bin A=x B=x$(C) "},
      {"env: [{name: PATH, value: /x}]", "PATH=/x "},
      {"{envFrom: [{configMapRef: {name: m}, prefix: P_}], env: [{name: P_a, value: mine}]}",
       "PATH=/bin P_a=mine P_b=two "},
      {"env: [{name: K, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "PATH=/bin K=hidden "},
      {"env: [{name: K, valueFrom: {configMapKeyRef: {name: m, key: zz}}}]",
       "error: couldn't find key zz in ConfigMap ns/m"},
      {"env: [{name: K, valueFrom: {configMapKeyRef: {name: zz, key: a}}}]",
       "error: configmap \"zz\" not found"},
      {"env: [{name: K, valueFrom: {configMapKeyRef: {name: zz, key: a, optional: true}}}]",
       "PATH=/bin "},
      {"env: [{name: K, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}]",
       "PATH=/bin K=x "},
      {"env: [{name: K, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]",
       "PATH=/bin K=127.64.0.9 "},
      {"{resources: {limits: {cpu: 250m}}, env: [{name: K, valueFrom: {resourceFieldRef: "
       "{resource: limits.cpu}}}]}",
       "PATH=/bin K=1 "},
      {"{resources: {limits: {cpu: 250m}}, env: [{name: K, valueFrom: {resourceFieldRef: "
       "{resource: limits.cpu, divisor: 1m}}}]}",
       "PATH=/bin K=250 "},
      {"env: [{name: K, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Gi}}}]",
       "PATH=/bin K=8 "},
      {"env: [{name: K, valueFrom: {resourceFieldRef: {resource: requests.memory}}}]",
       "PATH=/bin K=0 "},
  };
  for (const auto& [container, answer] : rows)
    EXPECT_EQ(built(container), answer) << container;
}

}  // namespace
}  // namespace yard
