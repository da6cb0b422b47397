#include <gtest/gtest.h>

#include "api/kinds.h"
#include "testing/objects.h"

namespace yard {
namespace {

// A pod as admission leaves it, or the refusal.
class PodAdmission : public testing::Test {
 protected:
  PodAdmission() { cluster_.service_accounts["ns/default"] = {}; }

  Result<Json> admit(std::string_view change) {
    static const Kind kPods = pod_kind();
    Json pod = changed(yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, "
                            "spec: {containers: [{name: c, image: b}]}}"),
                       change);
    kPods.set_defaults(pod);
    TRY(kPods.prepare_create(pod, Admission{cluster_, Time{}, random_, warnings_}));
    return pod;
  }
  std::string refusal(std::string_view change) {
    const Result<Json> pod = admit(change);
    if (pod) return "";
    EXPECT_EQ(pod.error().reason, Reason::Forbidden);
    return pod.error().message;
  }

  ClusterFacts cluster_;
  Random random_{1};
  std::vector<std::string> warnings_;
};

TEST_F(PodAdmission, GivesAnAccountAndItsToken) {
  const Result<Json> pod = admit("{}");
  ASSERT_TRUE(pod);
  EXPECT_EQ(text_at(*pod, {"spec", "serviceAccountName"}), "default");
  EXPECT_EQ(text_at(*pod, {"spec", "serviceAccount"}), "default");
  const Json& volume = find_path(*pod, {"spec", "volumes"})->get_array()[0];
  const std::string name(text_at(volume, {"name"}));
  EXPECT_EQ(name.substr(0, 16), "kube-api-access-");
  EXPECT_EQ(name.size(), 21U);
  EXPECT_EQ(
      to_text(*find(volume, "projected")),
      "{\"defaultMode\":420,\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,"
      "\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":"
      "\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":"
      "\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":"
      "\"metadata.namespace\"}}]}}]}");
  const Json& container = find_path(*pod, {"spec", "containers"})->get_array()[0];
  const Json& mount = find(container, "volumeMounts")->get_array()[0];
  EXPECT_EQ(text_at(mount, {"mountPath"}), "/var/run/secrets/kubernetes.io/serviceaccount");
  EXPECT_TRUE(bool_at(mount, {"readOnly"}));
}

TEST_F(PodAdmission, MountsNoTokenWhereNoneIsWanted) {
  const Result<Json> opted_out = admit("{spec: {automountServiceAccountToken: false}}");
  ASSERT_TRUE(opted_out);
  EXPECT_EQ(find_path(*opted_out, {"spec", "volumes"}), nullptr);
  cluster_.service_accounts["ns/default"] = {false, {"pull"}};
  const Result<Json> by_account = admit("{}");
  ASSERT_TRUE(by_account);
  EXPECT_EQ(find_path(*by_account, {"spec", "volumes"}), nullptr);
  EXPECT_EQ(to_text(*find_path(*by_account, {"spec", "imagePullSecrets"})),
            "[{\"name\":\"pull\"}]");
}

TEST_F(PodAdmission, RefusesAnAccountThatIsNotThere) {
  EXPECT_EQ(refusal("{spec: {serviceAccountName: who}}"),
            "pods \"p\" is forbidden: error looking up service account ns/who: serviceaccount "
            "\"who\" not found");
}

TEST_F(PodAdmission, ComputesThePriority) {
  const Result<Json> plain = admit("{}");
  ASSERT_TRUE(plain);
  EXPECT_EQ(int_at(*plain, {"spec", "priority"}, -1), 0);
  EXPECT_EQ(text_at(*plain, {"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  EXPECT_EQ(find_path(*plain, {"spec", "priorityClassName"}), nullptr);

  cluster_.priority_classes["high"] = {1000, false, "Never"};
  cluster_.priority_classes["usual"] = {7, true, ""};
  const Result<Json> high = admit("{spec: {priorityClassName: high}}");
  ASSERT_TRUE(high);
  EXPECT_EQ(int_at(*high, {"spec", "priority"}), 1000);
  EXPECT_EQ(text_at(*high, {"spec", "preemptionPolicy"}), "Never");
  const Result<Json> usual = admit("{}");
  ASSERT_TRUE(usual);
  EXPECT_EQ(int_at(*usual, {"spec", "priority"}), 7);
  EXPECT_EQ(text_at(*usual, {"spec", "priorityClassName"}), "usual");
  EXPECT_EQ(
      int_at(*admit("{spec: {priorityClassName: system-node-critical}}"), {"spec", "priority"}),
      2000001000);
  EXPECT_EQ(refusal("{spec: {priorityClassName: none}}"),
            "pods \"p\" is forbidden: no PriorityClass with name none was found");
  EXPECT_EQ(
      refusal("{spec: {priorityClassName: high, priority: 5}}"),
      "pods \"p\" is forbidden: the integer value of priority (5) must not be provided in pod "
      "spec; priority admission controller computed 1000 from the given PriorityClass name");
}

TEST_F(PodAdmission, ToleratesAShortOutageOfTheNode) {
  const auto tolerations = [&](const char* change) {
    const Result<Json> pod = admit(change);
    EXPECT_TRUE(pod);
    const Json* found = find_path(*pod, {"spec", "tolerations"});
    return found ? found->get_array().size() : 0;
  };
  EXPECT_EQ(tolerations("{}"), 2U);
  EXPECT_EQ(tolerations("{spec: {tolerations: [{operator: Exists}]}}"), 1U);
  EXPECT_EQ(tolerations("{spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: "
                        "Exists, effect: NoExecute}]}}"),
            2U);
  EXPECT_EQ(to_text(find_path(*admit("{}"), {"spec", "tolerations"})->get_array()[0]),
            "{\"effect\":\"NoExecute\",\"key\":\"node.kubernetes.io/not-ready\",\"operator\":"
            "\"Exists\",\"tolerationSeconds\":300}");
}

TEST_F(PodAdmission, GivesTheFirstStatus) {
  EXPECT_EQ(to_text(*find(*admit("{status: {phase: Running}}"), "status")),
            "{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}");
  const Result<Json> gated = admit("{spec: {schedulingGates: [{name: a.io/x}]}}");
  ASSERT_TRUE(gated);
  EXPECT_EQ(text_at(find_path(*gated, {"status", "conditions"})->get_array()[0], {"reason"}),
            "SchedulingGated");
}

TEST_F(PodAdmission, FillsFromLimitRanges) {
  cluster_.limit_ranges["ns"] = {
      yaml("[{type: Container, default: {cpu: '1', memory: 1Gi}, defaultRequest: {cpu: 500m, "
           "memory: 512Mi}}]")};
  const Result<Json> pod = admit("{}");
  ASSERT_TRUE(pod);
  const Json& container = find_path(*pod, {"spec", "containers"})->get_array()[0];
  EXPECT_EQ(text_at(container, {"resources", "requests", "cpu"}), "500m");
  EXPECT_EQ(text_at(container, {"resources", "limits", "memory"}), "1Gi");
  EXPECT_EQ(text_at(*pod, {"metadata", "annotations", "kubernetes.io/limit-ranger"}),
            "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for "
            "container c");
  EXPECT_EQ(text_at(*pod, {"status", "qosClass"}), "Burstable");
}

TEST_F(PodAdmission, HoldsLimitRanges) {
  struct Case {
    const char* about;
    const char* range;
    const char* resources;
    const char* why;
  };
  const Case cases[] = {
      {"a limit within the maximum", "{type: Container, max: {cpu: '1'}}", "{limits: {cpu: '1'}}",
       nullptr},
      {"a limit above the maximum", "{type: Container, max: {cpu: '1'}}", "{limits: {cpu: '2'}}",
       "maximum cpu usage per Container is 1, but limit is 2"},
      {"no limit under a maximum", "{type: Container, max: {cpu: '1'}}", "{}",
       "maximum cpu usage per Container is 1.  No limit is specified"},
      {"a request below the minimum", "{type: Pod, min: {memory: 100Mi}}",
       "{requests: {memory: 50Mi}}", "minimum memory usage per Pod is 100Mi, but request is 50Mi"},
      {"too wide a ratio", "{type: Container, maxLimitRequestRatio: {cpu: '2'}}",
       "{limits: {cpu: '3'}, requests: {cpu: '1'}}",
       "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    cluster_.limit_ranges["ns"] = {Json(JsonArray{yaml(c.range)})};
    const std::string change =
        "{spec: {containers: [{name: c, image: b, resources: " + std::string(c.resources) + "}]}}";
    EXPECT_EQ(refusal(change), c.why ? std::string("pods \"p\" is forbidden: ") + c.why : "");
  }
}

}  // namespace
}  // namespace yard
