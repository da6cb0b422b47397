#include <gtest/gtest.h>

#include "api/core/pod_template.h"
#include "api/core/resources.h"
#include "api/kinds.h"
#include "testing/objects.h"

namespace yard {
namespace {

const Kind& pods() {
  static const Kind kKind = pod_kind();
  return kKind;
}

Json defaulted(std::string_view change) {
  Json pod = changed(yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, "
                          "spec: {containers: [{name: c, image: 'busybox:1'}]}}"),
                     change);
  pods().set_defaults(pod);
  return pod;
}

struct Value {
  const char* about;
  const char* change;
  std::initializer_list<std::string_view> path;  // under spec; a list's first item is meant
  const char* value;
};

// Walks members and the first item of every list on the way.
const Json* first_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = &from;
  for (std::string_view key : path) {
    if (at && at->is_array()) at = at->get_array().empty() ? nullptr : &at->get_array()[0];
    at = at ? find(*at, key) : nullptr;
  }
  return at;
}

TEST(PodDefaults, AreSetOnDecode) {
  const Value cases[] = {
      {"pods start again", "{}", {"restartPolicy"}, "Always"},
      {"pods get 30 seconds to end", "{}", {"terminationGracePeriodSeconds"}, "30"},
      {"no grace is a choice",
       "{spec: {terminationGracePeriodSeconds: 0}}",
       {"terminationGracePeriodSeconds"},
       "0"},
      {"names come from the cluster", "{}", {"dnsPolicy"}, "ClusterFirst"},
      {"the default scheduler places", "{}", {"schedulerName"}, "default-scheduler"},
      {"a security context is shown", "{}", {"securityContext"}, "{}"},
      {"services are linked", "{}", {"enableServiceLinks"}, "true"},
      {"resources are shown", "{}", {"containers", "resources"}, "{}"},
      {"messages have a path",
       "{}",
       {"containers", "terminationMessagePath"},
       "/dev/termination-log"},
      {"messages have a policy", "{}", {"containers", "terminationMessagePolicy"}, "File"},
      {"a tag is pulled once", "{}", {"containers", "imagePullPolicy"}, "IfNotPresent"},
      {"latest is pulled always",
       "{spec: {containers: [{name: c, image: 'a/b:latest'}]}}",
       {"containers", "imagePullPolicy"},
       "Always"},
      {"no tag is latest",
       "{spec: {containers: [{name: c, image: 'host:5000/b'}]}}",
       {"containers", "imagePullPolicy"},
       "Always"},
      {"a digest pins",
       "{spec: {containers: [{name: c, image: 'b@sha256:0'}]}}",
       {"containers", "imagePullPolicy"},
       "IfNotPresent"},
      {"ports speak TCP",
       "{spec: {containers: [{name: c, image: b, ports: [{containerPort: 80}]}]}}",
       {"containers", "ports", "protocol"},
       "TCP"},
      {"probes run every ten seconds",
       "{spec: {containers: [{name: c, image: b, livenessProbe: {tcpSocket: {port: 1}}}]}}",
       {"containers", "livenessProbe", "periodSeconds"},
       "10"},
      {"three failures count",
       "{spec: {containers: [{name: c, image: b, livenessProbe: {tcpSocket: {port: 1}}}]}}",
       {"containers", "livenessProbe", "failureThreshold"},
       "3"},
      {"http probes ask for the root",
       "{spec: {containers: [{name: c, image: b, readinessProbe: {httpGet: {port: 1}}}]}}",
       {"containers", "readinessProbe", "httpGet", "path"},
       "/"},
      {"http hooks speak HTTP",
       "{spec: {containers: [{name: c, image: b, lifecycle: {preStop: {httpGet: {port: 1}}}}]}}",
       {"containers", "lifecycle", "preStop", "httpGet", "scheme"},
       "HTTP"},
      {"field references name a version",
       "{spec: {containers: [{name: c, image: b, env: [{name: A, valueFrom: {fieldRef: "
       "{fieldPath: metadata.name}}}]}]}}",
       {"containers", "env", "valueFrom", "fieldRef", "apiVersion"},
       "v1"},
      {"limits become requests",
       "{spec: {containers: [{name: c, image: b, resources: {limits: {cpu: '2'}}}]}}",
       {"containers", "resources", "requests", "cpu"},
       "2"},
      {"a request is kept beside its limit",
       "{spec: {containers: [{name: c, image: b, resources: {limits: {cpu: '2'}, requests: {cpu: "
       "'1'}}}]}}",
       {"containers", "resources", "requests", "cpu"},
       "1"},
      {"amounts are whole milli-units",
       "{spec: {containers: [{name: c, image: b, resources: {limits: {cpu: 1500u}}}]}}",
       {"containers", "resources", "limits", "cpu"},
       "2m"},
      {"on the host's network ports are the host's",
       "{spec: {hostNetwork: true, containers: [{name: c, image: b, ports: [{containerPort: "
       "80}]}]}}",
       {"containers", "ports", "hostPort"},
       "80"},
      {"a volume without a source is an empty directory",
       "{spec: {volumes: [{name: v}]}}",
       {"volumes", "emptyDir"},
       "{}"},
      {"files can be read by all",
       "{spec: {volumes: [{name: v, configMap: {name: m}}]}}",
       {"volumes", "configMap", "defaultMode"},
       "420"},
      {"a host path is not checked",
       "{spec: {volumes: [{name: v, hostPath: {path: /a}}]}}",
       {"volumes", "hostPath", "type"},
       ""},
      {"a token lives an hour",
       "{spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}}",
       {"volumes", "projected", "sources", "serviceAccountToken", "expirationSeconds"},
       "3600"},
      {"the old name of the account is read",
       "{spec: {serviceAccount: sa}}",
       {"serviceAccountName"},
       "sa"},
  };
  for (const Value& c : cases) {
    SCOPED_TRACE(c.about);
    const Json pod = defaulted(c.change);
    const Json* value = first_at(*find(pod, "spec"), c.path);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(value->is_string() ? std::string(value->get_string()) : to_text(*value), c.value);
  }
}

TEST(PodDefaults, ATemplateGetsFewer) {
  Json spec = yaml("{containers: [{name: c, image: b, resources: {limits: {cpu: 1}}}]}");
  set_pod_spec_defaults(spec.as_object(), false);
  EXPECT_EQ(find(spec, "enableServiceLinks"), nullptr);
  EXPECT_EQ(first_at(spec, {"containers", "resources", "requests"}), nullptr);
}

struct Complaint {
  const char* about;
  std::string change;
  std::string complaint;
};

std::string container(std::string_view members) {
  return "{spec: {containers: [{name: c, image: b, " + std::string(members) + "}]}}";
}

std::string with_volume(std::string_view source) {
  return "{spec: {volumes: [{name: v, " + std::string(source) + "}]}}";
}

TEST(PodValidation, SaysWhatIsWrong) {
  const Complaint cases[] = {
      {"a small pod is fine", "{}", ""},
      {"a container is needed", "{spec: {containers: []}}", "spec.containers: Required value"},
      {"a container has a name", "{spec: {containers: [{image: b}]}}",
       "spec.containers[0].name: Required value"},
      {"an image is needed", "{spec: {containers: [{name: c}]}}",
       "spec.containers[0].image: Required value"},
      {"an image has no blanks around it", "{spec: {containers: [{name: c, image: ' b'}]}}",
       "spec.containers[0].image: Invalid value: \" b\": must not have leading or trailing "
       "whitespace"},
      {"names are unique over all lists", "{spec: {initContainers: [{name: c, image: b}]}}",
       "spec.initContainers[0].name: Duplicate value: \"c\""},
      {"the restart policy is one of three", "{spec: {restartPolicy: Sometimes}}",
       "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
       "\"OnFailure\", \"Never\""},
      {"a deadline is at least a second", "{spec: {activeDeadlineSeconds: 0}}",
       "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
      {"a variable's name has no =", container("env: [{name: 'A=B'}]"),
       "spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable name "
       "must consist only of printable ASCII characters other than '='"},
      {"a variable has one source",
       container("env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
       "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when "
       "`value` "
       "is not empty"},
      {"a variable's source is not empty", container("env: [{name: A, valueFrom: {}}]"),
       "spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, "
       "`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"},
      {"a field must exist",
       container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nope}}}]"),
       "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.nope\": "
       "error "
       "converting fieldPath: field label not supported: spec.nope"},
      {"a label can be read by its key",
       container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}]"),
       ""},
      {"a key reference has a key",
       container("env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]"),
       "spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value"},
      {"envFrom has a source", container("envFrom: [{prefix: A_}]"),
       "spec.containers[0].envFrom[0]: Invalid value: \"\": must specify one of: `configMapRef` or "
       "`secretRef`"},
      {"a port has a number", container("ports: [{name: web}]"),
       "spec.containers[0].ports[0].containerPort: Required value"},
      {"a port fits 16 bits", container("ports: [{containerPort: 65536}]"),
       "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and "
       "65535, inclusive"},
      {"port names are unique",
       container("ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]"),
       "spec.containers[0].ports[1].name: Duplicate value: \"a\""},
      {"a host port is taken once",
       container("ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9}]"),
       "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//9\""},
      {"a mount needs its volume", container("volumeMounts: [{name: v, mountPath: /a}]"),
       "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
      {"mount paths are unique",
       "{spec: {volumes: [{name: v}], containers: [{name: c, image: b, volumeMounts: [{name: v, "
       "mountPath: /a}, {name: v, mountPath: /a}]}]}}",
       "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique"},
      {"a subPath stays inside",
       "{spec: {volumes: [{name: v}], containers: [{name: c, image: b, volumeMounts: [{name: v, "
       "mountPath: /a, subPath: ../b}]}]}}",
       "spec.containers[0].volumeMounts[0].subPath: Invalid value: \"../b\": must not contain "
       "'..'"},
      {"a volume has one source", with_volume("emptyDir: {}, hostPath: {path: /a}"),
       "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"},
      {"a volume's name is a label", "{spec: {volumes: [{name: v}, {name: v}]}}",
       "spec.volumes[1].name: Duplicate value: \"v\""},
      {"a host path goes down", with_volume("hostPath: {path: /a/../b}"),
       "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"},
      {"a secret volume names its secret", with_volume("secret: {}"),
       "spec.volumes[0].secret.secretName: Required value"},
      {"a file mode has nine bits", with_volume("configMap: {name: m, defaultMode: 512}"),
       "spec.volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and "
       "0777 (octal), both inclusive"},
      {"an item's path is relative",
       with_volume("configMap: {name: m, items: [{key: k, path: /p}]}"),
       "spec.volumes[0].configMap.items[0].path: Invalid value: \"/p\": must be a relative path"},
      {"projected files do not collide",
       with_volume("projected: {sources: [{secret: {name: s, items: [{key: k, path: p}]}}, "
                   "{configMap: {name: m, items: [{key: k, path: p}]}}]}"),
       "spec.volumes[0].projected: Invalid value: \"p\": conflicting duplicate paths"},
      {"a token lives ten minutes",
       with_volume(
           "projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 5}}]}"),
       "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: "
       "5: may not specify a duration less than 10 minutes"},
      {"a request is within its limit",
       container("resources: {requests: {cpu: '2'}, limits: {cpu: '1'}}"),
       "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to "
       "cpu limit of 1"},
      {"devices are whole", container("resources: {limits: {nvidia.com/gpu: 500m}}"),
       "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
       "integer\n"
       "spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
       "integer"},
      {"devices are not overcommitted",
       container("resources: {requests: {nvidia.com/gpu: '1'}, limits: {nvidia.com/gpu: '2'}}"),
       "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to "
       "nvidia.com/gpu limit of 2"},
      {"devices need a limit", container("resources: {requests: {nvidia.com/gpu: '1'}}"),
       "spec.containers[0].resources.limits: Required value: Limit must be set for non "
       "overcommitable resources"},
      {"amounts are not negative", container("resources: {requests: {cpu: '-1'}}"),
       "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or "
       "equal to 0"},
      {"a resource without a domain is known", container("resources: {requests: {gpu: '1'}}"),
       "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard "
       "resource type or fully qualified\n"
       "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard "
       "resource for containers"},
      {"a probe does something", container("livenessProbe: {}"),
       "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
      {"a probe does one thing",
       container("livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}"),
       "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler "
       "type"},
      {"one success is enough to be alive",
       container("livenessProbe: {exec: {command: [a]}, successThreshold: 2}"),
       "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"},
      {"a probe's delay is not negative",
       container("readinessProbe: {exec: {command: [a]}, initialDelaySeconds: -1}"),
       "spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater "
       "than or equal to 0"},
      {"a hook sleeps within the grace", container("lifecycle: {preStop: {sleep: {seconds: 31}}}"),
       "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and "
       "less than terminationGracePeriodSeconds (30)"},
      {"an init container is not probed",
       "{spec: {initContainers: [{name: i, image: b, livenessProbe: {exec: {command: [a]}}}]}}",
       "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers "
       "without "
       "restartPolicy=Always"},
      {"a sidecar is",
       "{spec: {initContainers: [{name: i, image: b, restartPolicy: Always, livenessProbe: {exec: "
       "{command: [a]}}}]}}",
       ""},
      {"an app container has no restart policy", container("restartPolicy: Always"),
       "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"},
      {"a toleration without a key tolerates all", "{spec: {tolerations: [{effect: NoSchedule}]}}",
       "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is "
       "empty, which means \"match all values and all keys\""},
      {"seconds are for NoExecute",
       "{spec: {tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: "
       "1}]}}",
       "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when "
       "`tolerationSeconds` is set"},
      {"gates are unique", "{spec: {schedulingGates: [{name: a.io/x}, {name: a.io/x}]}}",
       "spec.schedulingGates[1]: Duplicate value: \"a.io/x\""},
      {"a gated pod has no node", "{spec: {nodeName: node, schedulingGates: [{name: a.io/x}]}}",
       "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
      {"a node term has a known operator",
       "{spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
       "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}}}",
       "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
       "nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Near\": not a valid "
       "selector operator"},
      {"a wish has a weight",
       "{spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
       "[{weight: 0, podAffinityTerm: {topologyKey: a}}]}}}}",
       "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
       "Invalid value: 0: must be in the range 1-100"},
      {"spreading needs a key",
       "{spec: {topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}}",
       "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty"},
      {"a user id fits", "{spec: {securityContext: {runAsUser: -1}}}",
       "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, "
       "inclusive"},
      {"sysctls have names of their own",
       "{spec: {securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: '1'}, {name: "
       "net/a-b/c_d, value: '1'}, {name: kernel.shm_rmid_forced, value: '0'}]}}}",
       "spec.securityContext.sysctls[2].name: Duplicate value: \"kernel.shm_rmid_forced\""},
      {"sysctls have names of dots and small letters",
       "{spec: {securityContext: {sysctls: [{name: bar.., value: '1'}]}}}",
       "spec.securityContext.sysctls[0].name: Invalid value: \"bar..\": must have at most 253 "
       "characters and match regex "
       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"},
      {"a seccomp profile has a type", "{spec: {securityContext: {seccompProfile: {}}}}",
       "spec.securityContext.seccompProfile.type: Required value: type is required when "
       "seccompProfile is set"},
      {"a privileged container may escalate",
       container("securityContext: {privileged: true, allowPrivilegeEscalation: false}"),
       "spec.containers[0].securityContext: Invalid value: "
       "{\"privileged\":true,\"allowPrivilegeEscalation\":false}: cannot set "
       "`allowPrivilegeEscalation` to false and `privileged` to true"},
      {"own name servers are named", "{spec: {dnsPolicy: None}}",
       "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"},
  };
  for (const Complaint& c : cases) {
    SCOPED_TRACE(c.about);
    EXPECT_EQ(told(pods().validate(defaulted(c.change))), c.complaint);
  }
}

TEST(PodValidation, SurvivesObjectsOfAnyShape) {
  for (const char* text :
       {"{}", "{spec: 1}", "{spec: {containers: 5}}", "{spec: {containers: [1, [], null]}}",
        "{spec: {containers: [{name: 7, image: {}, env: [x], ports: {}, resources: []}]}}",
        "{spec: {volumes: [7, {name: []}], affinity: 3, tolerations: [0]}}", "{metadata: []}"}) {
    SCOPED_TRACE(text);
    Json pod = yaml(text);
    EXPECT_FALSE(pods().validate(pod).empty());
    pods().set_defaults(pod);
    EXPECT_FALSE(pods().validate(pod).empty());
  }
}

const std::string kOthers =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

TEST(PodUpdates, ChangeOnlyWhatMayChange) {
  struct Case {
    const char* about;
    const char* live;
    const char* change;
    std::string complaint;
  };
  const Case cases[] = {
      {"an image may change", "{}", "{spec: {containers: [{name: c, image: 'busybox:2'}]}}", ""},
      {"labels may change", "{}", "{metadata: {labels: {a: b}}}", ""},
      {"a command may not", "{}",
       "{spec: {containers: [{name: c, image: 'busybox:1', command: [x]}]}}",
       "spec: Forbidden: " + kOthers},
      {"the node may not", "{}", "{spec: {nodeName: node}}", "spec: Forbidden: " + kOthers},
      {"containers stay", "{}",
       "{spec: {containers: [{name: c, image: 'busybox:1'}, {name: d, image: b}]}}",
       "spec.containers: Forbidden: pod updates may not add or remove containers"},
      {"a deadline may be set", "{}", "{spec: {activeDeadlineSeconds: 9}}", ""},
      {"a deadline may shrink", "{spec: {activeDeadlineSeconds: 9}}",
       "{spec: {activeDeadlineSeconds: 8}}", ""},
      {"a deadline may not grow", "{spec: {activeDeadlineSeconds: 9}}",
       "{spec: {activeDeadlineSeconds: 10}}",
       "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous "
       "value"},
      {"a deadline may not go", "{spec: {activeDeadlineSeconds: 9}}",
       "{spec: {activeDeadlineSeconds: null}}",
       "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer "
       "to nil value"},
      {"tolerations may be added", "{spec: {tolerations: [{key: a, operator: Exists}]}}",
       "{spec: {tolerations: [{key: b, operator: Exists}, {key: a, operator: Exists}]}}", ""},
      {"tolerations stay", "{spec: {tolerations: [{key: a, operator: Exists}]}}",
       "{spec: {tolerations: []}}",
       "spec.tolerations: Forbidden: existing toleration can not be modified except its "
       "tolerationSeconds"},
      {"a gate may go", "{spec: {schedulingGates: [{name: a.io/x}]}}",
       "{spec: {schedulingGates: null}}", ""},
      {"a gate may not come", "{}", "{spec: {schedulingGates: [{name: a.io/x}]}}",
       "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new "
       "scheduling gate 'a.io/x'"},
      {"a gated pod may be narrowed", "{spec: {schedulingGates: [{name: a.io/x}]}}",
       "{spec: {nodeSelector: {a: b}}}", ""},
      {"a gated pod may not be widened",
       "{spec: {schedulingGates: [{name: a.io/x}], nodeSelector: {a: b}}}",
       "{spec: {nodeSelector: {a: c}}}",
       "spec.nodeSelector: Invalid value: {\"a\":\"c\"}: only additions to spec.nodeSelector are "
       "allowed (no mutations or deletions)"},
      {"a placed pod may not be narrowed", "{}", "{spec: {nodeSelector: {a: b}}}",
       "spec: Forbidden: " + kOthers},
      {"a negative grace may become 1", "{spec: {terminationGracePeriodSeconds: -1}}",
       "{spec: {terminationGracePeriodSeconds: 1}}", ""},
      {"what changes is still validated", "{}", "{spec: {activeDeadlineSeconds: 0}}",
       "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
      {"another grace may not change", "{}", "{spec: {terminationGracePeriodSeconds: 1}}",
       "spec: Forbidden: " + kOthers},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    const Json live = defaulted(c.live);
    Json pod = changed(live, c.change);
    pods().set_defaults(pod);
    EXPECT_EQ(told(pods().validate_update(pod, live)), c.complaint);
  }
}

TEST(PodStatusUpdates, KeepWhatIsFinal) {
  const Json live = yaml(
      "{spec: {restartPolicy: Never}, status: {qosClass: BestEffort, containerStatuses: [{name: c, "
      "state: {terminated: {exitCode: 1}}}]}}");
  EXPECT_EQ(told(pods().validate_status_update(live, live)), "");
  EXPECT_EQ(
      told(pods().validate_status_update(
          changed(live, "{status: {containerStatuses: [{name: c, state: {running: {}}}]}}"), live)),
      "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
      "non-terminated state");
  EXPECT_EQ(
      told(pods().validate_status_update(changed(live, "{status: {qosClass: Guaranteed}}"), live)),
      "status.qosClass: Invalid value: \"Guaranteed\": field is immutable");
}

TEST(Qos, FollowsRequestsAndLimits) {
  struct Case {
    const char* about;
    const char* containers;
    const char* qos;
  };
  const Case cases[] = {
      {"nothing asked", "[{}]", "BestEffort"},
      {"zero is nothing", "[{resources: {requests: {cpu: '0'}}}]", "BestEffort"},
      {"a device is not counted", "[{resources: {limits: {nvidia.com/gpu: 1}}}]", "BestEffort"},
      {"limits that are requests",
       "[{resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}}]",
       "Guaranteed"},
      {"one container without limits",
       "[{resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: '1', memory: 1Gi}}}, {}]",
       "Burstable"},
      {"a request below its limit",
       "[{resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m, memory: 1Gi}}}]",
       "Burstable"},
      {"memory alone", "[{resources: {limits: {memory: 1Gi}, requests: {memory: 1Gi}}}]",
       "Burstable"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    EXPECT_EQ(qos_class(JsonObject{{"containers", yaml(c.containers)}}), c.qos);
  }
}

TEST(PodAmounts, CountInitContainersAndSidecars) {
  const Json spec = yaml(
      "{containers: [{resources: {requests: {cpu: '1'}}}, {resources: {requests: {cpu: '1'}}}], "
      "initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 500m}}}, {resources: "
      "{requests: {cpu: '3', memory: 1Gi}}}]}");
  const Amounts amounts = pod_amounts(spec, "requests");
  EXPECT_EQ(amounts.at("cpu").canonical(), "3500m");
  EXPECT_EQ(amounts.at("memory").canonical(), "1Gi");
}

TEST(PodKind, HasItsRow) {
  EXPECT_NE(pods().schema, nullptr);
  EXPECT_EQ(pods().selectable_fields.size(),
            pods().field_values(defaulted("{spec: {nodeName: node}}")).size());
  EXPECT_EQ(pods().field_values(defaulted("{spec: {nodeName: node}}"))[0], "node");
  EXPECT_TRUE(pods().has_status());
  EXPECT_EQ(pods().warnings(defaulted(container("env: [{name: A, value: x}, {name: A}]"))),
            std::vector<std::string>{"spec.containers[0].env[1]: hides previous definition of "
                                     "\"A\", which may be dropped when using apply"});
  const Kind templates = pod_template_kind();
  Json object = yaml("{metadata: {name: t}, template: {spec: {containers: [{name: c}]}}}");
  templates.set_defaults(object);
  EXPECT_EQ(told(templates.validate(object)), "template.spec.containers[0].image: Required value");
}

}  // namespace
}  // namespace yard
