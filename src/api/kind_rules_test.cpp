// Defaults, strategies and validation of the kinds that are not pods or jobs: a row is a sentence,
// an object as a user writes it, and what becomes of it.

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

struct Case {
  const char* about;
  Kind (*kind)();
  const char* object;
  const char* result;  // a tree, or the errors as one text
};

// As invalid_object prints them: `path: message`, several in brackets.
std::string text_of_errors(const FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const Cause& cause : errors)
    texts.push_back(cause.field + ": " + cause.message);
  return texts.size() == 1 ? texts[0] : texts.empty() ? "" : "[" + join(texts, ", ") + "]";
}

struct World {
  ClusterFacts facts;
  Random random{7};
  std::vector<std::string> warnings;
  Admission admission() { return Admission{facts, Time{}, random, warnings, false}; }
};

TEST(KindRules, DefaultsAreUpstreams) {
  const Case cases[] = {
      {"a namespace is labelled with its name", namespace_kind, "{metadata: {name: a}}",
       "{metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}}"},
      {"a secret is Opaque", secret_kind, "{data: {a: AA==}}", "{data: {a: AA==}, type: Opaque}"},
      {"stringData overwrites data and is dropped", secret_kind,
       "{type: t, data: {a: AA==, b: AA==}, stringData: {a: hello}}",
       "{type: t, data: {a: aGVsbG8=, b: AA==}}"},
      {"an empty stringData leaves no trace", secret_kind, "{type: t, stringData: {}}",
       "{type: t}"},
      {"a service is a ClusterIP whose ports lead to themselves", service_kind,
       "{spec: {ports: [{port: 80}, {port: 81, targetPort: http, protocol: UDP}]}}",
       "{spec: {type: ClusterIP, sessionAffinity: None, internalTrafficPolicy: Cluster, ports: "
       "[{port: 80, protocol: TCP, targetPort: 80}, {port: 81, targetPort: http, protocol: "
       "UDP}]}}"},
      {"a node port service has an external policy", service_kind, "{spec: {type: NodePort}}",
       "{spec: {type: NodePort, sessionAffinity: None, externalTrafficPolicy: Cluster, "
       "internalTrafficPolicy: Cluster}}"},
      {"a load balancer gets node ports", service_kind, "{spec: {type: LoadBalancer}}",
       "{spec: {type: LoadBalancer, sessionAffinity: None, externalTrafficPolicy: Cluster, "
       "internalTrafficPolicy: Cluster, allocateLoadBalancerNodePorts: true}}"},
      {"an external name has no traffic policy", service_kind,
       "{spec: {type: ExternalName, externalName: a.b}}",
       "{spec: {type: ExternalName, externalName: a.b, sessionAffinity: None}}"},
      {"affinity by client lasts three hours", service_kind, "{spec: {sessionAffinity: ClientIP}}",
       "{spec: {type: ClusterIP, sessionAffinity: ClientIP, internalTrafficPolicy: Cluster, "
       "sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}}}"},
      {"endpoint ports are TCP", endpoints_kind, "{subsets: [{ports: [{port: 1}]}]}",
       "{subsets: [{ports: [{port: 1, protocol: TCP}]}]}"},
      {"slice ports are TCP and have a name", endpoint_slice_kind, "{ports: [{port: 1}]}",
       "{ports: [{port: 1, name: '', protocol: TCP}]}"},
      {"all of a node may be used unless it says otherwise", node_kind,
       "{status: {capacity: {cpu: '4'}}}",
       "{status: {capacity: {cpu: '4'}, allocatable: {cpu: '4'}}}"},
      {"a claim is a file system", persistent_volume_claim_kind, "{spec: {}}",
       "{spec: {volumeMode: Filesystem}}"},
      {"a volume is retained", persistent_volume_kind, "{spec: {hostPath: {path: /a}}}",
       "{spec: {hostPath: {path: /a, type: ''}, persistentVolumeReclaimPolicy: Retain, volumeMode: "
       "Filesystem}}"},
      {"a storage class deletes and binds at once", storage_class_kind, "{provisioner: a/b}",
       "{provisioner: a/b, reclaimPolicy: Delete, volumeBindingMode: Immediate}"},
      {"a priority class may preempt", priority_class_kind, "{value: 1}",
       "{value: 1, preemptionPolicy: PreemptLowerPriority}"},
      {"container limits follow from the maximum", limit_range_kind,
       "{spec: {limits: [{type: Container, max: {cpu: '2'}, min: {memory: 1Mi}}]}}",
       "{spec: {limits: [{type: Container, max: {cpu: '2'}, min: {memory: 1Mi}, default: {cpu: "
       "'2'}, defaultRequest: {cpu: '2', memory: 1Mi}}]}}"},
      {"limits of pods are left alone", limit_range_kind,
       "{spec: {limits: [{type: Pod, max: {cpu: '2'}}]}}",
       "{spec: {limits: [{type: Pod, max: {cpu: '2'}}]}}"},
      {"a definition's names follow from its kind", custom_resource_definition_kind,
       "{spec: {names: {kind: Widget, plural: widgets}}}",
       "{spec: {names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}, "
       "conversion: {strategy: None}}}"},
  };
  for (const Case& c : cases) {
    Json object = yaml(c.object);
    c.kind().set_defaults(object);
    EXPECT_TRUE(equal(object, yaml(c.result))) << c.about << "\n" << to_text(object);
    Json again = object;
    c.kind().set_defaults(again);
    EXPECT_TRUE(equal(object, again)) << c.about << ": twice is once";
  }
}

TEST(KindRules, CreationAddsWhatTheServerAdds) {
  const Case cases[] = {
      {"a namespace is active and held by its finalizer", namespace_kind, "{metadata: {name: a}}",
       "{metadata: {name: a, labels: {kubernetes.io/metadata.name: a}}, spec: {finalizers: "
       "[kubernetes]}, status: {phase: Active}}"},
      {"a headless service stays headless", service_kind,
       "{spec: {type: ClusterIP, clusterIP: None}}",
       "{spec: {type: ClusterIP, clusterIP: None, clusterIPs: [None], ipFamilies: [IPv4], "
       "ipFamilyPolicy: SingleStack}, status: {loadBalancer: {}}}"},
      {"an address that was asked for is kept", service_kind,
       "{spec: {type: ClusterIP, clusterIP: 10.96.1.1}}",
       "{spec: {type: ClusterIP, clusterIP: 10.96.1.1, clusterIPs: [10.96.1.1], ipFamilies: "
       "[IPv4], ipFamilyPolicy: SingleStack}, status: {loadBalancer: {}}}"},
      {"an external name gets no address", service_kind,
       "{spec: {type: ExternalName, externalName: a.b}}",
       "{spec: {type: ExternalName, externalName: a.b}, status: {loadBalancer: {}}}"},
      {"a claim is pending, protected, and of the default class", persistent_volume_claim_kind,
       "{metadata: {name: a}, spec: {}}",
       "{metadata: {name: a, finalizers: [kubernetes.io/pvc-protection]}, spec: "
       "{storageClassName: standard}, status: {phase: Pending}}"},
      {"a claim for no class gets none", persistent_volume_claim_kind,
       "{metadata: {name: a}, spec: {storageClassName: ''}}",
       "{metadata: {name: a, finalizers: [kubernetes.io/pvc-protection]}, spec: "
       "{storageClassName: ''}, status: {phase: Pending}}"},
      {"a volume is pending and protected", persistent_volume_kind,
       "{metadata: {name: a, finalizers: [x.io/y]}}",
       "{metadata: {name: a, finalizers: [x.io/y, kubernetes.io/pv-protection]}, status: {phase: "
       "Pending}}"},
      {"a quota starts without figures", resource_quota_kind, "{status: {hard: {cpu: '1'}}}",
       "{status: {}}"},
      {"a definition notes the version it stores", custom_resource_definition_kind,
       "{spec: {versions: [{name: v1, storage: true}, {name: v2, storage: false}]}}",
       "{spec: {versions: [{name: v1, storage: true}, {name: v2, storage: false}]}, status: "
       "{acceptedNames: {plural: '', kind: ''}, storedVersions: [v1]}}"},
  };
  for (const Case& c : cases) {
    World world;
    world.facts.default_storage_class = "standard";
    Json object = yaml(c.object);
    ASSERT_TRUE(c.kind().prepare_create(object, world.admission())) << c.about;
    EXPECT_TRUE(equal(object, yaml(c.result))) << c.about << "\n" << to_text(object);
  }
}

TEST(KindRules, ANewNodeTakesNoPodsYet) {
  World world;
  Json node = yaml("{metadata: {name: n1}, status: {nodeInfo: {osImage: Debian}}}");
  ASSERT_TRUE(node_kind().prepare_create(node, world.admission()));
  EXPECT_TRUE(equal(*find_path(node, {"spec", "taints"}),
                    yaml("[{key: node.kubernetes.io/not-ready, effect: NoSchedule}]")));
  EXPECT_EQ(text_at(node, {"status", "nodeInfo", "osImage"}), "Debian");
  EXPECT_EQ(find_path(node, {"status", "nodeInfo"})->as_object().size(), 10u);
  ASSERT_TRUE(node_kind().prepare_create(node, world.admission()));
  EXPECT_EQ(find_path(node, {"spec", "taints"})->as_array().size(), 1u);
}

TEST(KindRules, AServiceKeepsWhatItWasGiven) {
  World world;
  Json live = yaml(
      "{spec: {type: NodePort, ports: [{port: 80, protocol: TCP}, {port: 81, protocol: TCP}]}}");
  ASSERT_TRUE(service_kind().prepare_create(live, world.admission()));
  EXPECT_TRUE(text_at(live, {"spec", "clusterIP"}).starts_with("10.96."));
  const JsonArray& ports = find_path(live, {"spec", "ports"})->as_array();
  EXPECT_NE(int_at(ports[0], {"nodePort"}), int_at(ports[1], {"nodePort"}));
  EXPECT_GE(int_at(ports[0], {"nodePort"}), 30000);

  Json again = yaml("{spec: {type: NodePort, ports: [{port: 80, protocol: TCP}]}}");
  ASSERT_TRUE(service_kind().prepare_update(again, live, world.admission()));
  EXPECT_EQ(text_at(again, {"spec", "clusterIP"}), text_at(live, {"spec", "clusterIP"}));
  EXPECT_EQ(int_at(find_path(again, {"spec", "ports"})->as_array()[0], {"nodePort"}),
            int_at(ports[0], {"nodePort"}));

  Json plain = live;
  plain.at("spec").as_object()["type"] = "ClusterIP";
  ASSERT_TRUE(service_kind().prepare_update(plain, live, world.admission()));
  EXPECT_EQ(find(find_path(plain, {"spec", "ports"})->as_array()[0], "nodePort"), nullptr);

  Json external = live;
  external.at("spec").as_object()["type"] = "ExternalName";
  ASSERT_TRUE(service_kind().prepare_update(external, live, world.admission()));
  EXPECT_EQ(find_path(external, {"spec", "clusterIP"}), nullptr);
  EXPECT_EQ(find_path(external, {"spec", "clusterIPs"}), nullptr);
}

TEST(KindRules, OnlyFinalizeChangesANamespacesFinalizers) {
  World world;
  Json object = yaml("{metadata: {name: a}, spec: {finalizers: []}}");
  ASSERT_TRUE(namespace_kind().prepare_update(
      object, yaml("{metadata: {name: a}, spec: {finalizers: [kubernetes]}}"), world.admission()));
  EXPECT_TRUE(equal(*find_path(object, {"spec", "finalizers"}), yaml("[kubernetes]")));
}

TEST(KindRules, OnePriorityClassIsTheDefault) {
  World world;
  world.facts.priority_classes["a"] = {.value = 1, .global_default = true, .preemption_policy = ""};
  Json second = yaml("{metadata: {name: b}, globalDefault: true}");
  Result<void> refused = priority_class_kind().prepare_create(second, world.admission());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::Forbidden);
  EXPECT_EQ(refused.error().message,
            "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass a is already "
            "marked as default. Only one default can exist");
  Json same_one = yaml("{metadata: {name: a}, globalDefault: true}");
  EXPECT_TRUE(priority_class_kind().prepare_update(same_one, same_one, world.admission()));
}

TEST(KindRules, ADefinitionRemembersEveryVersionItStored) {
  World world;
  Json object =
      yaml("{spec: {versions: [{name: v2, storage: true}]}, status: {storedVersions: [v1]}}");
  ASSERT_TRUE(custom_resource_definition_kind().prepare_update(object, object, world.admission()));
  EXPECT_TRUE(equal(*find_path(object, {"status", "storedVersions"}), yaml("[v1, v2]")));
}

TEST(KindRules, ValidationSpeaksInUpstreamsWords) {
  const Case cases[] = {
      {"a good config map", config_map_kind, "{data: {a.b-c_D: x}}", ""},
      {"a config key that walks up", config_map_kind, "{data: {..: x}}",
       "data[..]: Invalid value: \"..\": must not be '..'"},
      {"a config key that starts like a way up", config_map_kind, "{data: {..a: x}}",
       "data[..a]: Invalid value: \"..a\": must not start with '..'"},
      {"a config key with a slash", config_map_kind, "{binaryData: {a/b: AA==}}",
       "binaryData[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric "
       "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used "
       "for validation is '[-._a-zA-Z0-9]+')"},
      {"a key in both bags", config_map_kind, "{data: {a: x}, binaryData: {a: AA==}}",
       "data[a]: Invalid value: \"a\": duplicate of key present in binaryData"},
      {"an opaque secret may hold anything", secret_kind, "{type: Opaque}", ""},
      {"a TLS secret needs both halves", secret_kind, "{type: kubernetes.io/tls}",
       "[data[tls.crt]: Required value, data[tls.key]: Required value]"},
      {"basic auth needs a name or a password", secret_kind, "{type: kubernetes.io/basic-auth}",
       "[data[username]: Required value, data[password]: Required value]"},
      {"basic auth with one of them", secret_kind,
       "{type: kubernetes.io/basic-auth, data: {password: AA==}}", ""},
      {"ssh auth needs its key", secret_kind, "{type: kubernetes.io/ssh-auth}",
       "data[ssh-privatekey]: Required value"},
      {"a token secret names its account", secret_kind,
       "{type: kubernetes.io/service-account-token}",
       "metadata.annotations[kubernetes.io/service-account.name]: Required value"},
      {"registry credentials are there", secret_kind, "{type: kubernetes.io/dockerconfigjson}",
       "data[.dockerconfigjson]: Required value"},
      {"registry credentials that are JSON", secret_kind,
       "{type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: e30=}}", ""},
      {"a good service", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, clusterIP: 10.96.0.9, clusterIPs: "
       "[10.96.0.9], ports: [{port: 80, protocol: TCP, targetPort: 80}]}}",
       ""},
      {"a service without ports", service_kind, "{spec: {type: ClusterIP, sessionAffinity: None}}",
       "spec.ports: Required value"},
      {"a headless service needs none", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, clusterIP: None, clusterIPs: [None]}}", ""},
      {"several ports need names", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 1, protocol: TCP, name: a}, "
       "{port: 2, protocol: TCP}]}}",
       "spec.ports[1].name: Required value"},
      {"port names are unique", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 1, protocol: TCP, name: a}, "
       "{port: 2, protocol: TCP, name: a}]}}",
       "spec.ports[1].name: Duplicate value: \"a\""},
      {"a port beyond the last", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 70000, protocol: TCP}]}}",
       "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"},
      {"an unknown protocol", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 1, protocol: tcp}]}}",
       "spec.ports[0].protocol: Unsupported value: \"tcp\": supported values: \"SCTP\", \"TCP\", "
       "\"UDP\""},
      {"a target port name without a letter", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 1, protocol: TCP, "
       "targetPort: '80'}]}}",
       "spec.ports[0].targetPort: Invalid value: \"80\": must contain at least one letter (a-z)"},
      {"a node port on a plain service", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 1, protocol: TCP, nodePort: "
       "30000}]}}",
       "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
      {"a node port outside the range", service_kind,
       "{spec: {type: NodePort, sessionAffinity: None, ports: [{port: 1, protocol: TCP, nodePort: "
       "80}]}}",
       "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The "
       "range of valid ports is 30000-32767"},
      {"an unknown type of service", service_kind,
       "{spec: {type: Magic, sessionAffinity: None, ports: [{port: 1, protocol: TCP}]}}",
       "spec.type: Unsupported value: \"Magic\": supported values: \"ClusterIP\", "
       "\"ExternalName\", \"LoadBalancer\", \"NodePort\""},
      {"an external name must be given", service_kind,
       "{spec: {type: ExternalName, sessionAffinity: None}}", "spec.externalName: Required value"},
      {"an external name has no address", service_kind,
       "{spec: {type: ExternalName, externalName: a.b, sessionAffinity: None, clusterIP: 1.2.3.4}}",
       "spec.clusterIPs: Forbidden: may not be set for ExternalName services"},
      {"a node port service is not headless", service_kind,
       "{spec: {type: NodePort, sessionAffinity: None, clusterIP: None, clusterIPs: [None]}}",
       "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort "
       "services"},
      {"an address that is none", service_kind,
       "{spec: {type: ClusterIP, sessionAffinity: None, clusterIP: x, clusterIPs: [x], ports: "
       "[{port: 1, protocol: TCP}]}}",
       "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or "
       "2001:db8::ffff)"},
      {"a subset without addresses", endpoints_kind, "{subsets: [{}]}",
       "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
      {"an endpoint on the loopback", endpoints_kind, "{subsets: [{addresses: [{ip: 127.0.0.1}]}]}",
       "subsets[0].addresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range "
       "(127.0.0.0/8, ::1/128)"},
      {"an endpoint nowhere", endpoints_kind, "{subsets: [{notReadyAddresses: [{ip: 0.0.0.0}]}]}",
       "subsets[0].notReadyAddresses[0].ip: Invalid value: \"0.0.0.0\": may not be unspecified "
       "(0.0.0.0 or ::)"},
      {"a slice must say what its addresses are", endpoint_slice_kind, "{}",
       "addressType: Required value"},
      {"a slice of an unknown sort", endpoint_slice_kind, "{addressType: IP}",
       "addressType: Unsupported value: \"IP\": supported values: \"FQDN\", \"IPv4\", \"IPv6\""},
      {"an endpoint without address", endpoint_slice_kind, "{addressType: IPv4, endpoints: [{}]}",
       "endpoints[0].addresses: Required value: must contain at least 1 address"},
      {"an IPv6 address in an IPv4 slice", endpoint_slice_kind,
       "{addressType: IPv4, endpoints: [{addresses: ['fd00::1']}]}",
       "endpoints[0].addresses[0]: Invalid value: \"fd00::1\": must be a valid IPv4 address"},
      {"two slice ports of one name", endpoint_slice_kind,
       "{addressType: IPv4, ports: [{name: a, protocol: TCP}, {name: a, protocol: TCP}]}",
       "ports[1].name: Duplicate value: \"a\""},
      {"a taint with an unknown effect", node_kind, "{spec: {taints: [{key: a, effect: Now}]}}",
       "spec.taints[0].effect: Unsupported value: \"Now\": supported values: \"NoSchedule\", "
       "\"PreferNoSchedule\", \"NoExecute\""},
      {"a lease of no length", lease_kind, "{spec: {leaseDurationSeconds: 0}}",
       "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
      {"a lease with negative transitions", lease_kind, "{spec: {leaseTransitions: -1}}",
       "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
      {"a lease without spec", lease_kind, "{metadata: {name: a}}", ""},
      {"a preferred holder needs a strategy", lease_kind, "{spec: {preferredHolder: a}}",
       "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
      {"a claim without a wish", persistent_volume_claim_kind, "{spec: {}}",
       "[spec.accessModes: Required value: at least 1 access mode is required, "
       "spec.resources[storage]: Required value]"},
      {"a claim for nothing", persistent_volume_claim_kind,
       "{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: '0'}}}}",
       "spec.resources[storage]: Invalid value: \"0\": must be greater than zero"},
      {"a claim in an unknown mode", persistent_volume_claim_kind,
       "{spec: {accessModes: [Once], resources: {requests: {storage: 1Gi}}}}",
       "spec.accessModes: Unsupported value: \"Once\": supported values: \"ReadOnlyMany\", "
       "\"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\""},
      {"one pod only, and others", persistent_volume_claim_kind,
       "{spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce], resources: {requests: {storage: "
       "1Gi}}}}",
       "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"},
      {"a volume without anything", persistent_volume_kind, "{spec: {}}",
       "[spec.accessModes: Required value, spec.capacity: Required value, spec: Required value: "
       "must specify a volume type]"},
      {"a volume in two places", persistent_volume_kind,
       "{spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /a}, nfs: "
       "{server: s, path: /b}}}",
       "spec.nfs: Forbidden: may not specify more than 1 volume type"},
      {"a host path that walks up", persistent_volume_kind,
       "{spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /a/..}}}",
       "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'"},
      {"a class needs a provisioner", storage_class_kind, "{volumeBindingMode: Immediate}",
       "provisioner: Required value"},
      {"a class that recycles", storage_class_kind,
       "{provisioner: a/b, volumeBindingMode: Immediate, reclaimPolicy: Recycle}",
       "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\""},
      {"too high a priority", priority_class_kind, "{metadata: {name: a}, value: 1000000001}",
       "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
      {"a name of the system's", priority_class_kind, "{metadata: {name: system-a}, value: 1}",
       "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for "
       "system use only. error: system-a is not a known system priority class"},
      {"the system's own class", priority_class_kind,
       "{metadata: {name: system-cluster-critical}, value: 2000000000}", ""},
      {"a quota of the well known", resource_quota_kind,
       "{spec: {hard: {cpu: '1', requests.nvidia.com/gpu: '2', count/jobs.batch: '3', pods: '4'}}}",
       ""},
      {"a quota of something odd", resource_quota_kind, "{spec: {hard: {apples: '1'}}}",
       "[spec.hard[apples]: Invalid value: \"apples\": must be a standard resource type or fully "
       "qualified, spec.hard[apples]: Invalid value: \"apples\": must be a standard resource for "
       "quota]"},
      {"a negative quota", resource_quota_kind, "{spec: {hard: {cpu: '-1'}}}",
       "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"},
      {"half a pod", resource_quota_kind, "{spec: {hard: {pods: 500m}}}",
       "spec.hard[pods]: Invalid value: \"500m\": must be an integer"},
      {"scopes that exclude each other", resource_quota_kind,
       "{spec: {scopes: [BestEffort, NotBestEffort]}}",
       "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes"},
      {"a minimum above the maximum", limit_range_kind,
       "{spec: {limits: [{type: Pod, min: {cpu: '2'}, max: {cpu: '1'}}]}}",
       "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1"},
      {"a default request above the default limit", limit_range_kind,
       "{spec: {limits: [{type: Container, default: {cpu: '1'}, defaultRequest: {cpu: '2'}}]}}",
       "spec.limits[0].defaultRequest[cpu]: Invalid value: \"2\": default request value 2 is "
       "greater than default limit value 1"},
      {"pods have no defaults", limit_range_kind,
       "{spec: {limits: [{type: Pod, default: {cpu: '1'}}]}}",
       "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"},
      {"a type twice", limit_range_kind, "{spec: {limits: [{type: Pod}, {type: Pod}]}}",
       "spec.limits[1].type: Duplicate value: \"Pod\""},
      {"an event in its object's namespace", event_kind,
       "{apiVersion: v1, metadata: {namespace: a}, involvedObject: {namespace: a}}", ""},
      {"an event in another namespace", event_kind,
       "{apiVersion: v1, metadata: {namespace: a}, involvedObject: {namespace: b}}",
       "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"},
      {"an event about a node lives in default", event_kind,
       "{apiVersion: v1, metadata: {namespace: default}, involvedObject: {kind: Node}}", ""},
      {"a new event without time and type", events_event_kind,
       "{apiVersion: events.k8s.io/v1, metadata: {namespace: a}, regarding: {namespace: a}}",
       "[eventTime: Required value, type: Invalid value: \"\": has invalid value: ]"},
      {"a new event must say who and what", events_event_kind,
       "{apiVersion: events.k8s.io/v1, metadata: {namespace: a}, regarding: {namespace: a}, type: "
       "Normal, eventTime: '2024-01-01T00:00:00.000000Z'}",
       "[reportingController: Required value, reportingInstance: Required value, action: Required "
       "value, reason: Required value]"},
      {"a new event does not use the old members", events_event_kind,
       "{apiVersion: events.k8s.io/v1, metadata: {namespace: a}, regarding: {namespace: a}, type: "
       "Normal, eventTime: '2024-01-01T00:00:00.000000Z', reportingController: a.io/b, "
       "reportingInstance: i, action: a, reason: r, deprecatedCount: 3}",
       "count: Invalid value: \"\": needs to be unset"},
      {"a namespace's finalizers are names", namespace_kind, "{spec: {finalizers: [kubernetes]}}",
       ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(text_of_errors(c.kind().validate(yaml(c.object))), c.result) << c.about;
  }
}

TEST(KindRules, DataMayHoldAMebibyte) {
  Json object = yaml("{metadata: {name: big}, data: {}}");
  JsonObject& data = object.at("data").as_object();
  data["a"] = std::string(1024 * 1024, 'x');
  EXPECT_EQ(text_of_errors(config_map_kind().validate(object)), "");
  data["b"] = "y";
  EXPECT_EQ(text_of_errors(config_map_kind().validate(object)),
            "[]: Too long: may not be more than 1048576 bytes");
  data.clear();
  data["a"] = base64_encode(std::string(1024 * 1024, 'x'));
  EXPECT_EQ(text_of_errors(secret_kind().validate(object)), "");
  data["a"] = base64_encode(std::string(1024 * 1024 + 1, 'x'));
  EXPECT_EQ(text_of_errors(secret_kind().validate(object)),
            "data: Too long: may not be more than 1048576 bytes");
}

struct UpdateCase {
  const char* about;
  Kind (*kind)();
  const char* live;
  const char* object;
  const char* errors;
};

TEST(KindRules, UpdatesRespectWhatIsFixed) {
  const UpdateCase cases[] = {
      {"an immutable config map", config_map_kind, "{immutable: true, data: {a: x}}",
       "{immutable: true, data: {a: w}}",
       "data: Forbidden: field is immutable when `immutable` is set"},
      {"immutable cannot be taken back", config_map_kind, "{immutable: true}", "{}",
       "immutable: Forbidden: field is immutable when `immutable` is set"},
      {"a config map may become immutable", config_map_kind, "{data: {a: x}}",
       "{immutable: true, data: {a: w}}", ""},
      {"a secret keeps its type", secret_kind, "{type: a}", "{type: b}",
       "type: Invalid value: \"b\": field is immutable"},
      {"an immutable secret", secret_kind, "{type: a, immutable: true, data: {a: AA==}}",
       "{type: a, immutable: true}", "data: Forbidden: field is immutable when `immutable` is set"},
      {"a service keeps its address", service_kind, "{spec: {clusterIPs: [10.96.0.1]}}",
       "{spec: {clusterIPs: [10.96.0.2]}}",
       "spec.clusterIPs[0]: Invalid value: [\"10.96.0.2\"]: may not change once set"},
      {"a slice keeps its sort", endpoint_slice_kind, "{addressType: IPv4}", "{addressType: IPv6}",
       "addressType: Invalid value: \"IPv6\": field is immutable"},
      {"a priority keeps its value", priority_class_kind, "{value: 1}", "{value: 2}",
       "value: Forbidden: may not be changed in an update."},
      {"a class keeps its parameters", storage_class_kind, "{parameters: {a: x}}", "{}",
       "parameters: Forbidden: updates to parameters are forbidden."},
      {"a class keeps its binding mode", storage_class_kind, "{volumeBindingMode: Immediate}",
       "{volumeBindingMode: WaitForFirstConsumer}",
       "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable"},
      {"a claim's spec is fixed", persistent_volume_claim_kind,
       "{spec: {accessModes: [ReadWriteOnce]}}", "{spec: {accessModes: [ReadWriteMany]}}",
       "spec: Forbidden: spec is immutable after creation except resources.requests and "
       "volumeAttributesClassName for bound claims"},
      {"the binder names a claim's volume", persistent_volume_claim_kind, "{spec: {}}",
       "{spec: {volumeName: v}}", ""},
      {"a claim that has no class may be given one", persistent_volume_claim_kind,
       "{spec: {volumeMode: Block}}", "{spec: {volumeMode: Block, storageClassName: s}}", ""},
      {"a bound claim may grow", persistent_volume_claim_kind,
       "{spec: {resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}",
       "{spec: {resources: {requests: {storage: 2Gi}}}}", ""},
      {"a bound claim may not shrink", persistent_volume_claim_kind,
       "{spec: {resources: {requests: {storage: 2Gi}}}, status: {phase: Bound}}",
       "{spec: {resources: {requests: {storage: 1Gi}}}}",
       "spec.resources.requests.storage: Forbidden: field can not be less than previous value"},
      {"a volume stays where it is", persistent_volume_kind, "{spec: {hostPath: {path: /a}}}",
       "{spec: {hostPath: {path: /b}}}",
       "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
       "creation"},
      {"a quota keeps its scopes", resource_quota_kind, "{spec: {scopes: [BestEffort]}}",
       "{spec: {}}", "spec.scopes: Invalid value: null: field is immutable"},
      {"a definition keeps its group", custom_resource_definition_kind, "{spec: {group: a.b}}",
       "{spec: {group: a.c}}", "spec.group: Invalid value: \"a.c\": field is immutable"},
      {"an established definition keeps its kind and scope", custom_resource_definition_kind,
       "{spec: {scope: Cluster, names: {kind: A}}, status: {conditions: [{type: Established, "
       "status: 'True'}]}}",
       "{spec: {scope: Namespaced, names: {kind: B}}}",
       "[spec.scope: Invalid value: \"Namespaced\": field is immutable, spec.names.kind: Invalid "
       "value: \"B\": field is immutable]"},
      {"a stored version stays listed", custom_resource_definition_kind,
       "{status: {storedVersions: [v1]}}", "{spec: {versions: [{name: v2}]}}",
       "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was "
       "previously a storage version, and must remain in spec.versions until a storage migration "
       "ensures no data remains persisted in v1 and removes v1 from status.storedVersions"},
      {"an event's reason is fixed in the new view", events_event_kind,
       "{apiVersion: v1, reason: a, involvedObject: {name: p}}",
       "{apiVersion: events.k8s.io/v1, reason: b, regarding: {name: p}}",
       "reason: Invalid value: \"b\": field is immutable"},
  };
  for (const UpdateCase& c : cases) {
    EXPECT_EQ(text_of_errors(c.kind().validate_update(yaml(c.object), yaml(c.live))), c.errors)
        << c.about;
  }
}

}  // namespace
}  // namespace yard
