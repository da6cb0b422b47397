#include "api/kinds.h"

#include <set>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

KindPtr kind_of(std::string_view group, std::string_view name) {
  for (const KindPtr& kind : builtin_kinds()) {
    if (kind->group == group && kind->kind == name) return kind;
  }
  ADD_FAILURE() << group << "/" << name << " is not listed";
  return std::make_shared<const Kind>();
}

struct Row {
  const char* group;
  const char* kind;
  const char* facts;
};

// plural, short names, categories, subresources, and a letter per flag: C cluster-scoped,
// g generation, r PUT needs resourceVersion, u PUT creates, d DELETE answers the object.
std::string facts_of(const Kind& kind) {
  std::vector<std::string> subresources;
  for (const Subresource& one : kind.subresources) {
    subresources.push_back(one.name + ":" + join(one.verbs, "+"));
  }
  std::string flags;
  if (!kind.namespaced) flags += "C";
  if (kind.tracks_generation) flags += "g";
  if (!kind.allows_unconditional_update) flags += "r";
  if (kind.creates_on_update) flags += "u";
  if (kind.returns_deleted_object) flags += "d";
  return kind.plural + "|" + join(kind.short_names, ",") + "|" + join(kind.categories, ",") + "|" +
         join(subresources, ",") + "|" + flags;
}

TEST(Kinds, RowsHaveTheFactsOfTheCatalogue) {
  const Row rows[] = {
      {"", "ConfigMap", "configmaps|cm|||"},
      {"", "Endpoints", "endpoints|ep|||u"},
      {"", "Event", "events|ev|||u"},
      {"", "LimitRange", "limitranges|limits|||u"},
      {"", "Namespace", "namespaces|ns||finalize:update,status:get+patch+update|Cd"},
      {"", "Node", "nodes|no||status:get+patch+update|C"},
      {"", "PersistentVolumeClaim", "persistentvolumeclaims|pvc||status:get+patch+update|d"},
      {"", "PersistentVolume", "persistentvolumes|pv||status:get+patch+update|Cd"},
      {"", "ResourceQuota", "resourcequotas|quota||status:get+patch+update|d"},
      {"", "Secret", "secrets||||"},
      {"", "ServiceAccount", "serviceaccounts|sa||token:create|rd"},
      {"", "Service", "services|svc|all|status:get+patch+update|ud"},
      {"events.k8s.io", "Event", "events|ev|||u"},
      {"storage.k8s.io", "StorageClass", "storageclasses|sc|||Cd"},
      {"apiextensions.k8s.io", "CustomResourceDefinition",
       "customresourcedefinitions|crd,crds|api-extensions|status:get+patch+update|Cgr"},
      {"scheduling.k8s.io", "PriorityClass", "priorityclasses|pc|||Cg"},
      {"coordination.k8s.io", "Lease", "leases||||ru"},
      {"discovery.k8s.io", "EndpointSlice", "endpointslices||||g"},
      {"rbac.authorization.k8s.io", "Role", "roles||||u"},
      {"rbac.authorization.k8s.io", "RoleBinding", "rolebindings||||u"},
      {"rbac.authorization.k8s.io", "ClusterRole", "clusterroles||||Cu"},
      {"rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings||||Cu"},
      {"apps", "Deployment",
       "deployments|deploy|all|scale:get+patch+update,status:get+patch+update|g"},
      {"apps", "ReplicaSet", "replicasets|rs|all|scale:get+patch+update,status:get+patch+update|g"},
      {"apps", "StatefulSet",
       "statefulsets|sts|all|scale:get+patch+update,status:get+patch+update|g"},
      {"apps", "DaemonSet", "daemonsets|ds|all|status:get+patch+update|g"},
      {"apps", "ControllerRevision", "controllerrevisions||||"},
      {"policy", "PodDisruptionBudget", "poddisruptionbudgets|pdb||status:get+patch+update|gr"},
      {"networking.k8s.io", "NetworkPolicy", "networkpolicies|netpol|||g"},
      {"networking.k8s.io", "Ingress", "ingresses|ing||status:get+patch+update|g"},
      {"networking.k8s.io", "IngressClass", "ingressclasses||||Cg"},
      {"autoscaling", "HorizontalPodAutoscaler",
       "horizontalpodautoscalers|hpa|all|status:get+patch+update|"},
      {"admissionregistration.k8s.io", "MutatingWebhookConfiguration",
       "mutatingwebhookconfigurations||api-extensions||Cgr"},
      {"", "ReplicationController",
       "replicationcontrollers|rc|all|scale:get+patch+update,status:get+patch+update|g"},
      {"certificates.k8s.io", "CertificateSigningRequest",
       "certificatesigningrequests|csr||approval:get+patch+update,status:get+patch+update|C"},
      {"apiregistration.k8s.io", "APIService",
       "apiservices||api-extensions|status:get+patch+update|C"},
      {"node.k8s.io", "RuntimeClass", "runtimeclasses||||C"},
      {"flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas|||status:get+patch+update|Cg"},
      {"storage.k8s.io", "CSIDriver", "csidrivers||||Cd"},
      {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
       "validatingadmissionpolicies||api-extensions|status:get+patch+update|Cgr"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(facts_of(*kind_of(row.group, row.kind)), row.facts) << row.kind;
  }
  EXPECT_TRUE(kind_of("", "Node")->has_status());
  EXPECT_FALSE(kind_of("", "Secret")->has_status());
}

TEST(Kinds, EveryRowIsWhole) {
  std::set<std::string> seen;
  for (const KindPtr& kind : builtin_kinds()) {
    // A view of another version has its names too.
    EXPECT_TRUE(seen.insert(kind->group_resource()).second || kind->from_stored) << kind->kind;
    EXPECT_NE(kind->schema, nullptr) << kind->kind;
    EXPECT_EQ(kind->list_kind, kind->kind + "List");
    EXPECT_EQ(kind->singular, lower(kind->kind));
    // Reviews are asked, not stored.
    const bool is_review = kind->kind.ends_with("Review");
    EXPECT_EQ(kind->storage.empty(), is_review) << kind->kind;
    EXPECT_EQ(kind->allows("watch"), !is_review) << kind->kind;
    EXPECT_FALSE(kind->allows("connect")) << kind->kind;
    ASSERT_TRUE(kind->cells) << kind->kind;
    std::string cells = kind->cells(JsonObject());
    EXPECT_FALSE(kind->columns.empty()) << kind->kind << cells;
    if (!kind->selectable_fields.empty()) {
      ASSERT_TRUE(kind->field_values) << kind->kind;
      EXPECT_GE(kind->field_values(JsonObject()).size(), kind->selectable_fields.size())
          << kind->kind;
    }
  }
  EXPECT_EQ(seen.size(), 63u);
}

// Nothing a client can send may bring a row's functions down.
TEST(Kinds, FunctionsBearTreesOfAnyShape) {
  const char* const shapes[] = {
      "{}",
      "{metadata: 1, spec: [], status: x, data: [], type: {}}",
      "{metadata: {name: [], annotations: 3}, spec: {ports: [1, null, []], taints: [x], limits: "
      "[null, {type: Container, max: 3}], hard: {cpu: 3}, versions: [1, {schema: 3}], names: [], "
      "capacity: {storage: []}, accessModes: [{}], hostPath: 4, resources: 3}}",
      "{subsets: [1, {addresses: [2], ports: [{}]}], endpoints: [x, {addresses: [1]}], ports: [3], "
      "stringData: [], provisioner: 4, parameters: {a: 1}, regarding: 3, series: {}}",
  };
  ClusterFacts facts;
  Random random(1);
  std::vector<std::string> warnings;
  Admission admission{facts, Time{}, random, warnings, false};
  for (const KindPtr& kind : builtin_kinds()) {
    if (kind->kind.starts_with("Pod") || kind->group == "batch") continue;  // their own tests
    for (const char* shape : shapes) {
      Json object = yaml(shape);
      const Json live = object;
      if (kind->set_defaults) kind->set_defaults(object);
      if (kind->prepare_create) static_cast<void>(kind->prepare_create(object, admission));
      if (kind->prepare_update) static_cast<void>(kind->prepare_update(object, live, admission));
      size_t complaints = 0;
      if (kind->validate) complaints += kind->validate(object).size();
      if (kind->validate_update) complaints += kind->validate_update(object, live).size();
      if (kind->validate_status_update) {
        complaints += kind->validate_status_update(object, live).size();
      }
      EXPECT_LT(complaints, 1000u) << kind->kind;
      EXPECT_TRUE(kind->cells(object).starts_with("[")) << kind->kind;
    }
  }
}

TEST(Kinds, EventsAreTwoViewsOfOneStorage) {
  KindPtr core = kind_of("", "Event");
  KindPtr events = kind_of("events.k8s.io", "Event");
  EXPECT_EQ(core->storage, events->storage);
  const Json stored = yaml(R"(
apiVersion: v1
kind: Event
metadata: {name: e, namespace: ns}
involvedObject: {kind: Pod, name: p, namespace: ns, uid: u}
reason: Started
message: m
source: {component: kubelet}
firstTimestamp: "2024-01-01T00:00:00Z"
lastTimestamp: "2024-01-01T00:00:01Z"
count: 2
type: Normal
reportingComponent: kubelet)");
  Json view = stored;
  events->from_stored(view);
  EXPECT_TRUE(equal(view, yaml(R"(
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: e, namespace: ns}
regarding: {kind: Pod, name: p, namespace: ns, uid: u}
reason: Started
note: m
deprecatedSource: {component: kubelet}
deprecatedFirstTimestamp: "2024-01-01T00:00:00Z"
deprecatedLastTimestamp: "2024-01-01T00:00:01Z"
deprecatedCount: 2
type: Normal
reportingController: kubelet
eventTime: null)")))
      << to_text(view);
  EXPECT_EQ(core->field_values(stored), events->field_values(view));
  EXPECT_EQ(core->cells(stored), events->cells(view));
  Json back = view;
  events->to_stored(back);
  EXPECT_EQ(text_at(back, {"involvedObject", "uid"}), "u");
  EXPECT_EQ(text_at(back, {"message"}), "m");
  EXPECT_EQ(text_at(back, {"apiVersion"}), "v1");
  for (size_t i = 0; i < events->selectable_fields.size(); ++i) {
    if (i < 7) continue;
    EXPECT_TRUE(core->selectable_fields[i] == events->selectable_fields[i] || i == 8) << i;
  }
}

}  // namespace
}  // namespace yard
