#include "apiserver/commit_checks.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/tree.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

const std::string kSpace = "/api/v1/namespaces/default";

class CommitChecksTest : public testing::Test {
 protected:
  CommitChecksTest() { yard.make_namespace("default"); }
  Answer create(const std::string& plural, const std::string& text) {
    const Answer made = yard.call("POST", kSpace + "/" + plural, to_text(yaml(text)));
    return made;
  }
  Answer service(const std::string& name, const std::string& spec) {
    return create("services",
                  fmt::format("{{metadata: {{name: {}}}, spec: {{ports: [{{port: 80}}]{}}}}}", name,
                              spec.empty() ? "" : ", " + spec));
  }
  Answer quota(const std::string& spec) {
    return create("resourcequotas", "{metadata: {name: q}, spec: " + spec + "}");
  }
  std::string said(const Answer& answer) { return std::string(text_at(answer.json, {"message"})); }

  ApiHarness yard;
};

TEST_F(CommitChecksTest, AnAddressBelongsToOneService) {
  EXPECT_EQ(service("a", "clusterIP: 10.96.7.7").status, 201);
  EXPECT_EQ(said(service("b", "clusterIP: 10.96.7.7")),
            "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.7.7\"]: failed to "
            "allocate IP 10.96.7.7: provided IP is already allocated");
  EXPECT_EQ(said(service("b", "clusterIP: 1.2.3.4")),
            "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to "
            "allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not in the valid range. The range "
            "of valid IPs is 10.96.0.0/16");
  EXPECT_EQ(yard.call("DELETE", kSpace + "/services/a").status, 200);
  EXPECT_EQ(service("b", "clusterIP: 10.96.7.7").status, 201);
}

TEST_F(CommitChecksTest, OfTwoAtOnceOneGetsTheAddress) {
  const std::string body = R"("spec":{"clusterIP":"10.96.7.7","ports":[{"port":80}]}})";
  const auto first = yard.send("POST", kSpace + "/services", R"({"metadata":{"name":"a"},)" + body);
  const auto second =
      yard.send("POST", kSpace + "/services", R"({"metadata":{"name":"b"},)" + body);
  yard.loop.advance(std::chrono::seconds(1));
  EXPECT_EQ(first->answer.status + second->answer.status, 201 + 422);
}

TEST_F(CommitChecksTest, ADrawnAddressThatIsTakenIsDrawnAgain) {
  // Chance alone would give about thirty of these an address that another has.
  std::set<std::string> seen;
  for (int i = 0; i < 2000; ++i) {
    const Answer made = service(fmt::format("s{}", i), "");
    ASSERT_EQ(made.status, 201) << made.text;
    seen.insert(std::string(text_at(made.json, {"spec", "clusterIP"})));
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST_F(CommitChecksTest, ANodePortBelongsToOneServiceAndIsWarnedAbout) {
  const Answer made = service("a", "type: NodePort");
  ASSERT_EQ(made.status, 201);
  EXPECT_NE(
      made.header("Warning").find("its node ports lead to the service from this machine alone"),
      std::string::npos);
  const int64_t port = int_at(list_at(made.json, {"spec", "ports"})[0], {"nodePort"});
  const Answer second =
      create("services", fmt::format("{{metadata: {{name: b}}, spec: {{type: NodePort, ports: "
                                     "[{{port: 80, nodePort: {}}}]}}}}",
                                     port));
  EXPECT_EQ(said(second), fmt::format("Service \"b\" is invalid: spec.ports[0].nodePort: Invalid "
                                      "value: {}: provided port is already allocated",
                                      port));
}

TEST_F(CommitChecksTest, OneFamilyIsAllThereIs) {
  EXPECT_EQ(said(service("a", "ipFamilyPolicy: RequireDualStack")),
            "Service \"a\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": "
            "this cluster is not configured for dual-stack services");
  EXPECT_EQ(said(service("a", "ipFamilies: [IPv6]")),
            "Service \"a\" is invalid: spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured "
            "on this cluster");
  const Answer made = service("a", "sessionAffinity: ClientIP");
  EXPECT_EQ(to_text(*find_path(made.json, {"spec", "ipFamilies"})), R"(["IPv4"])");
  EXPECT_EQ(text_at(made.json, {"spec", "ipFamilyPolicy"}), "SingleStack");
  EXPECT_EQ(int_at(made.json, {"spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"}),
            10800);
}

TEST_F(CommitChecksTest, AQuotaHoldsForManyAtOnce) {
  ASSERT_EQ(quota("{hard: {configmaps: '3'}}").status, 201);
  std::vector<std::shared_ptr<SimResponder>> sent;
  for (int i = 0; i < 10; ++i)
    sent.push_back(yard.send("POST", kSpace + "/configmaps",
                             fmt::format(R"({{"metadata":{{"name":"m{}"}}}})", i)));
  yard.loop.advance(std::chrono::seconds(1));
  int made = 0;
  for (const auto& each : sent) {
    if (each->answer.status == 201)
      ++made;
    else
      EXPECT_EQ(each->answer.status, 403) << each->answer.text;
  }
  EXPECT_EQ(made, 3);
  EXPECT_EQ(said(create("configmaps", "{metadata: {name: more}}")),
            "configmaps \"more\" is forbidden: exceeded quota: q, requested: configmaps=1, used: "
            "configmaps=3, limited: configmaps=3");
}

TEST_F(CommitChecksTest, WhatGoesMakesRoom) {
  ASSERT_EQ(create("configmaps", "{metadata: {name: a}}").status, 201);
  ASSERT_EQ(quota("{hard: {count/configmaps: '1'}}").status, 201);
  EXPECT_EQ(create("configmaps", "{metadata: {name: b}}").status, 403);
  EXPECT_EQ(yard.call("DELETE", kSpace + "/configmaps/a").status, 200);
  EXPECT_EQ(create("configmaps", "{metadata: {name: b}}").status, 201);
  EXPECT_EQ(yard.call("DELETE", kSpace + "/resourcequotas/q").status, 200);
  EXPECT_EQ(create("configmaps", "{metadata: {name: c}}").status, 201);
}

TEST_F(CommitChecksTest, APodNamesWhatAQuotaMeasures) {
  ASSERT_EQ(quota("{hard: {limits.cpu: '1', requests.memory: 1Gi}}").status, 201);
  EXPECT_EQ(
      said(create("pods", "{metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")),
      "pods \"p\" is forbidden: failed quota: q: must specify limits.cpu for: c; "
      "requests.memory for: c");
  EXPECT_EQ(said(create("pods",
                        "{metadata: {name: p}, spec: {containers: [{name: c, image: i, resources: "
                        "{limits: {cpu: 2, memory: 1Gi}}}]}}")),
            "pods \"p\" is forbidden: exceeded quota: q, requested: limits.cpu=2, used: "
            "limits.cpu=0, limited: limits.cpu=1");
}

TEST_F(CommitChecksTest, ALimitRangeBoundsClaims) {
  ASSERT_EQ(create("limitranges",
                   "{metadata: {name: l}, spec: {limits: [{type: PersistentVolumeClaim, min: "
                   "{storage: 1Gi}, max: {storage: 2Gi}}]}}")
                .status,
            201);
  const auto claim = [&](const std::string& size) {
    return create("persistentvolumeclaims",
                  "{metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: "
                  "{requests: {storage: " +
                      size + "}}}}");
  };
  EXPECT_EQ(said(claim("3Gi")),
            "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per "
            "PersistentVolumeClaim is 2Gi, but request is 3Gi");
  EXPECT_EQ(said(claim("5Mi")),
            "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per "
            "PersistentVolumeClaim is 1Gi, but request is 5Mi");
  EXPECT_EQ(claim("2Gi").status, 201);
}

TEST_F(CommitChecksTest, AQuotaHoldsAfterARestart) {
  ASSERT_EQ(quota("{hard: {configmaps: '1'}}").status, 201);
  ASSERT_EQ(create("configmaps", "{metadata: {name: a}}").status, 201);
  yard.crash();
  yard.start();
  EXPECT_EQ(create("configmaps", "{metadata: {name: b}}").status, 403);
}

}  // namespace
}  // namespace yard
