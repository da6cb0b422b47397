#include "api/core/quota.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

std::string shown(const Amounts& amounts) {
  std::string out;
  for (const auto& [name, amount] : amounts)
    out += (out.empty() ? "" : " ") + name + "=" + amount.canonical();
  return out;
}

struct ChargeCase {
  const char* about;
  const char* quota;  // spec
  const char* storage;
  const char* object;
  const char* charged;
};

TEST(Quota, ChargesWhatItLimits) {
  const ChargeCase cases[] = {
      {"a pod counts, and its requests under both spellings",
       "{hard: {pods: '5', cpu: '4', requests.cpu: '4', limits.memory: 1Gi}}", "pods",
       "{spec: {containers: [{name: c, resources: {requests: {cpu: 500m}, limits: {memory: "
       "64Mi}}}]}}",
       "cpu=500m limits.memory=64Mi pods=1 requests.cpu=500m"},
      {"a pod that ended needs nothing, but is still there",
       "{hard: {pods: '5', cpu: '4', count/pods: '9'}}", "pods",
       "{spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}, status: {phase: "
       "Succeeded}}",
       "count/pods=1"},
      {"a node's own pod costs nothing", "{hard: {pods: '5', count/pods: '9'}}", "pods",
       "{metadata: {annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [{apiVersion: "
       "v1, "
       "kind: Node, name: n, uid: u}]}, spec: {containers: [{name: c}]}}",
       ""},
      {"one that only says so does", "{hard: {pods: '5', count/pods: '9'}}", "pods",
       "{metadata: {annotations: {kubernetes.io/config.mirror: x}}, spec: {containers: [{name: "
       "c}]}}",
       "count/pods=1 pods=1"},
      {"extended resources are limited by their requests", "{hard: {requests.nvidia.com/gpu: '2'}}",
       "pods", "{spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: '1'}}}]}}",
       "requests.nvidia.com/gpu=1"},
      {"a claim counts its bytes, also by class",
       "{hard: {requests.storage: 9Gi, fast.storageclass.storage.k8s.io/requests.storage: 9Gi, "
       "persistentvolumeclaims: '3'}}",
       "persistentvolumeclaims",
       "{spec: {storageClassName: fast, resources: {requests: {storage: 2Gi}}}}",
       "fast.storageclass.storage.k8s.io/requests.storage=2Gi persistentvolumeclaims=1 "
       "requests.storage=2Gi"},
      {"a service with node ports", "{hard: {services: '3', services.nodeports: '3'}}", "services",
       "{spec: {type: NodePort, ports: [{port: 1}, {port: 2}]}}",
       "services=1 services.nodeports=2"},
      {"other kinds are counted by resource and group", "{hard: {count/jobs.batch: '3'}}",
       "jobs.batch", "{}", "count/jobs.batch=1"},
      {"scopes are about pods alone", "{hard: {configmaps: '1'}, scopes: [BestEffort]}",
       "configmaps", "{}", ""},
      {"a pod without requests is best effort", "{hard: {pods: '1'}, scopes: [BestEffort]}", "pods",
       "{spec: {containers: [{name: c}]}}", "pods=1"},
      {"and a deadline makes it Terminating", "{hard: {pods: '1'}, scopes: [NotTerminating]}",
       "pods", "{spec: {activeDeadlineSeconds: 5, containers: [{name: c}]}}", ""},
      {"a class of priority by its name",
       "{hard: {pods: '1'}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, "
       "operator: "
       "In, values: [high]}]}}",
       "pods", "{spec: {priorityClassName: high, containers: [{name: c}]}}", "pods=1"},
  };
  for (const ChargeCase& each : cases) {
    SCOPED_TRACE(each.about);
    const Quota quota =
        quota_of(yaml(fmt::format("{{metadata: {{name: q}}, spec: {}}}", each.quota)));
    const Json object = yaml(each.object);
    EXPECT_EQ(shown(charged_to(quota, charge_of(each.storage, &object))), each.charged);
  }
}

TEST(Quota, AnUpdateIsJudgedByWhatItTakesMore) {
  QuotaLedger ledger;
  ledger.set_quota(quota_of(yaml("{metadata: {name: q}, spec: {hard: {requests.storage: 3Gi}}}")));
  const auto claim = [](const char* size) {
    const Json tree =
        yaml(fmt::format("{{spec: {{resources: {{requests: {{storage: {}}}}}}}}}", size));
    return charge_of("persistentvolumeclaims", &tree);
  };
  ledger.set_object("persistentvolumeclaims/a", claim("2Gi"));
  EXPECT_EQ(ledger.excess("persistentvolumeclaims/a", claim("3Gi")), std::nullopt);
  EXPECT_EQ(ledger.excess("persistentvolumeclaims/a", claim("4Gi")),
            "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=2Gi, "
            "limited: requests.storage=3Gi");
  ledger.remove_object("persistentvolumeclaims/a");
  EXPECT_TRUE(ledger.accounts().at("q").used.at("requests.storage").is_zero());
}

}  // namespace
}  // namespace yard
