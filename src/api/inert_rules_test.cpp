// Kinds that nothing acts on are held to upstream's rules all the same: a row is a sentence, an
// object as a user writes it, and what is wrong with it. tests/e2e/compare/script/inert.yaml asks a
// real kube-apiserver the same and more.

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "testing/objects.h"

namespace yard {
namespace {

struct Case {
  const char* about;
  Kind (*kind)();
  const char *object, *complaints;
};

std::string complaints_of(const Case& one) {
  const Kind kind = one.kind();
  Json object = yaml(one.object);
  if (kind.set_defaults) kind.set_defaults(object);
  return told(kind.validate(object));
}

TEST(InertRules, SayWhatUpstreamSays) {
  const Case cases[] = {
      {"a selector must be there", deployment_kind,
       "{spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "
       "x}]}}}}",
       "spec.selector: Required value\n"
       "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match "
       "template `labels`"},
      {"and select the template", replica_set_kind,
       "{spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: "
       "{containers: [{name: c, image: x}]}}}}",
       "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match "
       "template `labels`"},
      {"a rollout must be able to move", deployment_kind,
       "{spec: {selector: {matchLabels: {a: b}}, strategy: {rollingUpdate: {maxSurge: 0%, "
       "maxUnavailable: 0}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, "
       "image: x}]}}}}",
       "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` "
       "is 0"},
      {"a stateful set's name is part of its pods' names", stateful_set_kind,
       "{metadata: {name: a.b}, spec: {serviceName: s, selector: {matchLabels: {a: b}}, template: "
       "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}}",
       "metadata.name: Invalid value: \"a.b\": must not contain dots"},
      {"pods of a daemon set have no end", daemon_set_kind,
       "{spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
       "{activeDeadlineSeconds: 1, containers: [{name: c, image: x}]}}}}",
       "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is "
       "not Supported"},
      {"a revision has data", controller_revision_kind, "{revision: -1}",
       "revision: Invalid value: -1: must be greater than or equal to 0\n"
       "data: Required value: data is mandatory"},
      {"a share is at most all", pod_disruption_budget_kind, "{spec: {maxUnavailable: 101%}}",
       "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"},
      {"a block's exceptions lie inside it", network_policy_kind,
       "{spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: "
       "[10.1.0.0/16, 11.0.0.0/16, 10.0.0.0/8]}}, {ipBlock: {cidr: '2001:db8::/32', except: "
       "['2001:db8:1::/48']}}]}]}}",
       "spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: \"11.0.0.0/16\": must be a "
       "strict "
       "subset of `cidr`\n"
       "spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: \"10.0.0.0/8\": must be a strict "
       "subset of `cidr`"},
      {"no prefix is longer than an address", network_policy_kind,
       "{spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/33}}]}]}}",
       "spec.egress[0].to[0].ipBlock.cidr: Invalid value: \"10.0.0.0/33\": must be a valid CIDR "
       "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"},
      {"a path stays where it is", ingress_kind,
       "{spec: {rules: [{host: '*.a.test', http: {paths: [{path: /a/../b, pathType: Prefix, "
       "backend: {service: {name: s, port: {number: 80}}}}]}}]}}",
       "spec.rules[0].http.paths[0].path: Invalid value: \"/a/../b\": must not contain '/../'"},
      {"a class names its controller by a domain", ingress_class_kind,
       "{spec: {controller: nginx}}",
       "spec.controller: Invalid value: \"nginx\": must be a domain-prefixed path (such as "
       "\"acme.io/foo\")"},
      {"a metric has its source", horizontal_pod_autoscaler_kind,
       "{spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}, "
       "metrics: [{type: Pods}]}}",
       "spec.metrics[0].pods: Required value: must populate information for the given metric "
       "source"},
      {"the older view is judged as the newer", horizontal_pod_autoscaler_v1_kind,
       "{apiVersion: autoscaling/v1, spec: {maxReplicas: 2, targetCPUUtilizationPercentage: 0, "
       "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}",
       "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than "
       "0"},
      {"webhooks are reached by https alone", validating_webhook_configuration_kind,
       "{webhooks: [{name: a.b.test, sideEffects: None, admissionReviewVersions: [v1], "
       "clientConfig: {url: 'https://u@h/p#f'}}]}",
       "webhooks[0].clientConfig.url: Invalid value: \"u\": user information is not permitted in "
       "the URL\n"
       "webhooks[0].clientConfig.url: Invalid value: \"f\": fragments are not permitted in the "
       "URL"},
      {"a policy says of what", validating_admission_policy_kind,
       "{spec: {validations: [{expression: 'true'}]}}", "spec.matchConstraints: Required value"},
      {"a binding does one of two", validating_admission_policy_binding_kind,
       "{spec: {policyName: p, validationActions: [Deny, Deny]}}",
       "spec.validationActions[1]: Duplicate value: \"Deny\""},
      {"a controller of old has a template", replication_controller_kind,
       "{spec: {selector: {a: b}}}", "spec.template: Required value"},
      {"subjects say who", flow_schema_kind,
       "{spec: {priorityLevelConfiguration: {name: l}, rules: [{subjects: [{kind: Group}], "
       "nonResourceRules: [{verbs: [get], nonResourceURLs: ['*']}]}]}}",
       "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is "
       "'Group'"},
      {"an attachment has a source", volume_attachment_kind,
       "{spec: {attacher: a.test, nodeName: n1, source: {}}}",
       "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
       "persistentVolumeName"},
      {"overhead costs something", runtime_class_kind,
       "{handler: h, overhead: {podFixed: {cpu: '-1'}}}",
       "overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.about);
    EXPECT_EQ(complaints_of(one), one.complaints);
  }
}

// Whatever is inert says so: on every write, and in its status where that has conditions.
TEST(InertRules, EveryInertKindTellsSo) {
  Kind (*const kinds[])() = {deployment_kind,
                             replica_set_kind,
                             stateful_set_kind,
                             daemon_set_kind,
                             replication_controller_kind,
                             pod_disruption_budget_kind,
                             network_policy_kind,
                             ingress_kind,
                             ingress_class_kind,
                             horizontal_pod_autoscaler_kind,
                             horizontal_pod_autoscaler_v1_kind,
                             mutating_webhook_configuration_kind,
                             validating_webhook_configuration_kind,
                             validating_admission_policy_kind,
                             validating_admission_policy_binding_kind,
                             runtime_class_kind,
                             flow_schema_kind,
                             priority_level_configuration_kind,
                             csi_driver_kind,
                             csi_node_kind,
                             csi_storage_capacity_kind,
                             volume_attachment_kind};
  ClusterFacts facts;
  Random random{7};
  std::vector<std::string> warnings;
  const Admission admission{facts, Time{}, random, warnings, false};
  int with_condition = 0;
  for (Kind (*const make)() : kinds) {
    const Kind kind = make();
    SCOPED_TRACE(kind.kind);
    ASSERT_TRUE(kind.warnings);
    const std::vector<std::string> said = kind.warnings(JsonObject());
    ASSERT_FALSE(said.empty());
    EXPECT_TRUE(said.front().starts_with("Trainyard keeps this object but ")) << said.front();
    // Statuses without conditions: Ingress has addresses alone, VolumeAttachment its own members.
    if (!kind.has_status() || kind.kind == "Ingress" || kind.kind == "VolumeAttachment") continue;
    Json object = JsonObject{{"apiVersion", kind.api_version()}};
    ASSERT_TRUE(kind.prepare_create);
    ASSERT_TRUE(kind.prepare_create(object, admission));
    EXPECT_NE(to_text(object).find("Inert"), std::string::npos) << to_text(object);
    ++with_condition;
  }
  EXPECT_EQ(with_condition, 11);
}

}  // namespace
}  // namespace yard
