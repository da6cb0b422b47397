#include "api/tables.h"

#include <gtest/gtest.h>

#include "api/table.h"
#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

struct Case {
  const char* about;
  std::string (*cells)(const Json&);
  const char* object;
  const char* row;
};

const Case kCases[] = {
    {"a job that runs counts from its start", job_cells, R"(
metadata: {name: j, creationTimestamp: "2024-01-01T00:00:00Z"}
spec: {completions: 3, selector: {matchLabels: {b: "2", a: "1"}}, template: {spec: {containers: [{name: x, image: i:1}, {name: w, image: i:2}]}}}
status: {succeeded: 1, startTime: "2024-01-01T00:05:00Z"})",
     R"row(["j","Running","1/3","5m","10m","x,w","i:1,i:2","a=1,b=2"])row"},
    {"a complete job shows how long it took", job_cells, R"(
metadata: {name: j}
spec: {completions: 1}
status: {succeeded: 1, startTime: "2024-01-01T00:00:00Z", completionTime: "2024-01-01T00:02:05Z", conditions: [{type: Complete, status: "True"}]})",
     R"row(["j","Complete","1/1","2m5s","<unknown>","","","<none>"])row"},
    {"a failed job that is being deleted is still Failed", job_cells, R"(
metadata: {name: j, deletionTimestamp: "2024-01-01T00:00:00Z"}
status: {conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]})",
     R"row(["j","Failed","0/1","","<unknown>","","","<none>"])row"},
    {"a job being deleted is Terminating before it is Suspended", job_cells, R"(
metadata: {name: j, deletionTimestamp: "2024-01-01T00:00:00Z"}
status: {conditions: [{type: Suspended, status: "True"}]})",
     R"row(["j","Terminating","0/1","","<unknown>","","","<none>"])row"},
    {"a suspended job", job_cells,
     "{metadata: {name: j}, status: {conditions: [{type: Suspended, status: 'True'}]}}",
     R"row(["j","Suspended","0/1","","<unknown>","","","<none>"])row"},
    {"a job about to fail", job_cells,
     "{metadata: {name: j}, status: {conditions: [{type: FailureTarget, status: 'True'}]}}",
     R"row(["j","FailureTarget","0/1","","<unknown>","","","<none>"])row"},
    {"a job about to succeed", job_cells,
     "{metadata: {name: j}, status: {conditions: [{type: SuccessCriteriaMet, status: 'True'}]}}",
     R"row(["j","SuccessCriteriaMet","0/1","","<unknown>","","","<none>"])row"},
    {"a work queue of several workers", job_cells,
     "{metadata: {name: j}, spec: {parallelism: 4}, status: {succeeded: 2}}",
     R"row(["j","Running","2/1 of 4","","<unknown>","","","<none>"])row"},
    {"a selector's expressions are printed as they are written", job_cells, R"(
metadata: {name: j}
spec: {parallelism: 1, selector: {matchLabels: {a: x}, matchExpressions: [{key: b, operator: In, values: [z, w]}, {key: c, operator: Exists}, {key: d, operator: DoesNotExist}, {key: e, operator: NotIn, values: [q]}]}})",
     R"row(["j","Running","0/1","","<unknown>","","","a=x,b in (w,z),c,!d,e notin (q)"])row"},
    {"a deployment nothing acts on", deployment_cells, R"(
metadata: {name: d}
spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: c, image: i}]}}})",
     R"row(["d","0/3",0,0,"<unknown>","c","i","a=b"])row"},
    {"a replica set", replica_set_cells, "{metadata: {name: r}, spec: {replicas: 2}}",
     R"row(["r",2,0,0,"<unknown>","","","<none>"])row"},
    {"a stateful set", stateful_set_cells, "{metadata: {name: s}, spec: {replicas: 1}}",
     R"row(["s","0/1","<unknown>","",""])row"},
    {"a daemon set", daemon_set_cells,
     "{metadata: {name: s}, spec: {template: {spec: {nodeSelector: {k: v}}}}}",
     R"row(["s",0,0,0,0,0,"k=v","<unknown>","","","<none>"])row"},
    {"a controller revision names its controller", controller_revision_cells,
     "{metadata: {name: r, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, "
     "controller: true}]}, revision: 4}",
     R"row(["r","daemonset.apps/d",4,"<unknown>"])row"},
    {"a disruption budget", pod_disruption_budget_cells,
     "{metadata: {name: p}, spec: {maxUnavailable: 20%}}",
     R"row(["p","N/A","20%",0,"<unknown>"])row"},
    {"a network policy of all pods", network_policy_cells,
     "{metadata: {name: p}, spec: {podSelector: {}}}", R"row(["p","<none>","<unknown>"])row"},
    {"an ingress with TLS", ingress_cells,
     "{metadata: {name: i}, spec: {ingressClassName: x, tls: [{}], rules: [{host: a}, {host: b}]}}",
     R"row(["i","x","a,b","","80, 443","<unknown>"])row"},
    {"an ingress of any host", ingress_cells, "{metadata: {name: i}, spec: {rules: [{}]}}",
     R"row(["i","<none>","*","","80","<unknown>"])row"},
    {"an ingress class", ingress_class_cells,
     "{metadata: {name: i}, spec: {controller: e.com/c, parameters: {apiGroup: g, kind: K, name: "
     "p}}}",
     R"row(["i","e.com/c","K.g/p","<unknown>"])row"},
    {"webhooks are counted", webhook_configuration_cells,
     "{metadata: {name: w}, webhooks: [{}, {}]}", R"row(["w",2,"<unknown>"])row"},
    {"an admission policy", validating_admission_policy_cells,
     "{metadata: {name: v}, spec: {validations: [{}]}}", R"row(["v",1,"<unset>","<unknown>"])row"},
    {"an autoscaler", horizontal_pod_autoscaler_cells, R"(
metadata: {name: h}
spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: d}, metrics: [{type: Resource, resource: {name: cpu, target: {averageUtilization: 80}}}]})",
     R"row(["h","Deployment/d","cpu: <unknown>/80%","1",3,0,"<unknown>"])row"},
    {"a role binding names its subjects", role_binding_cells, R"(
metadata: {name: b}
roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: User, name: v}, {kind: ServiceAccount, name: s, namespace: d}])",
     R"row(["b","Role/r","<unknown>","u, v","g","d/s"])row"},
    {"a cron job that never ran", cron_job_cells,
     R"({metadata: {name: c}, spec: {schedule: "*/5 * * * *", suspend: false}})",
     R"row(["c","*/5 * * * *","<none>","False",0,"<none>","<unknown>","","","<none>"])row"},
    {"a suspended cron job that ran", cron_job_cells, R"(
metadata: {name: c}
spec: {schedule: "@daily", timeZone: Etc/UTC, suspend: true, jobTemplate: {spec: {template: {spec: {containers: [{name: x, image: i}]}}}}}
status: {active: [{}, {}], lastScheduleTime: "2024-01-01T00:09:00Z"})",
     R"row(["c","@daily","Etc/UTC","True",2,"60s","<unknown>","x","i","<none>"])row"},
    {"a service with an address", service_cells, R"(
metadata: {name: s}
spec: {type: ClusterIP, clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}], selector: {app: x}})",
     R"row(["s","ClusterIP","10.96.0.1","<none>","80/TCP,53/UDP","<unknown>","app=x"])row"},
    {"a headless service without ports", service_cells,
     "{metadata: {name: s}, spec: {type: ClusterIP, clusterIP: None}}",
     R"row(["s","ClusterIP","None","<none>","<none>","<unknown>","<none>"])row"},
    {"a node port stands beside its port", service_cells,
     "{metadata: {name: s}, spec: {type: NodePort, clusterIP: 10.96.0.2, externalIPs: [1.2.3.4], "
     "ports: [{port: 80, nodePort: 30080, protocol: TCP}]}}",
     R"row(["s","NodePort","10.96.0.2","1.2.3.4","80:30080/TCP","<unknown>","<none>"])row"},
    {"a load balancer without address is pending", service_cells,
     "{metadata: {name: s}, spec: {type: LoadBalancer, clusterIP: 10.96.0.2}}",
     R"row(["s","LoadBalancer","10.96.0.2","<pending>","<none>","<unknown>","<none>"])row"},
    {"a load balancer shows addresses and host names", service_cells,
     "{metadata: {name: s}, spec: {type: LoadBalancer, clusterIP: 10.96.0.2}, status: "
     "{loadBalancer: {ingress: [{ip: 1.1.1.1}, {hostname: lb.example}]}}}",
     R"row(["s","LoadBalancer","10.96.0.2","1.1.1.1,lb.example","<none>","<unknown>","<none>"])row"},
    {"an external name has no address", service_cells,
     "{metadata: {name: s}, spec: {type: ExternalName, externalName: db.example}}",
     R"row(["s","ExternalName","<none>","db.example","<none>","<unknown>","<none>"])row"},
    {"endpoints beyond three are counted", endpoints_cells,
     "{metadata: {name: e}, subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{port: "
     "80}, {port: 81}]}, {addresses: [{ip: 'fd00::1'}], ports: [{port: 1}]}]}",
     R"row(["e","10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 2 more...","<unknown>"])row"},
    {"endpoints without ports are addresses", endpoints_cells,
     "{metadata: {name: e}, subsets: [{addresses: [{ip: 10.0.0.1}]}]}",
     R"row(["e","10.0.0.1","<unknown>"])row"},
    {"an IPv6 endpoint is bracketed", endpoints_cells,
     "{metadata: {name: e}, subsets: [{addresses: [{ip: 'fd00::1'}], ports: [{port: 8}]}]}",
     R"row(["e","[fd00::1]:8","<unknown>"])row"},
    {"no endpoints", endpoints_cells, "{metadata: {name: e}}",
     R"row(["e","<none>","<unknown>"])row"},
    {"a slice of two endpoints", endpoint_slice_cells,
     "{metadata: {name: e}, addressType: IPv4, ports: [{port: 80}, {name: any}], endpoints: "
     "[{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]}",
     R"row(["e","IPv4","80,any","10.0.0.1,10.0.0.2","<unknown>"])row"},
    {"an empty slice", endpoint_slice_cells, "{metadata: {name: e}, addressType: IPv4}",
     R"row(["e","IPv4","<unset>","<unset>","<unknown>"])row"},
    {"an event that came twice", event_cells, R"(
apiVersion: v1
metadata: {name: e1}
type: Warning
reason: BackOff
message: "  Back-off restarting  "
involvedObject: {kind: Pod, name: p, fieldPath: "spec.containers{c}"}
source: {component: kubelet, host: node1}
firstTimestamp: "2024-01-01T00:00:00Z"
lastTimestamp: "2024-01-01T00:09:50Z"
count: 2)",
     R"row(["10s","Warning","BackOff","pod/p","spec.containers{c}","kubelet, node1","Back-off restarting","10m",2,"e1"])row"},
    {"an event of the new sort has an eventTime and a reporter", event_cells, R"(
apiVersion: v1
metadata: {name: e1}
type: Normal
reason: Scheduled
message: m
involvedObject: {kind: Pod, name: p}
eventTime: "2024-01-01T00:09:00.123456Z"
reportingComponent: sched
reportingInstance: host-1)",
     R"row(["60s","Normal","Scheduled","pod/p","","sched, host-1","m","60s",1,"e1"])row"},
    {"a series tells when it was last seen", event_cells, R"(
apiVersion: v1
metadata: {name: e1}
involvedObject: {kind: Node}
eventTime: "2024-01-01T00:00:00.000000Z"
series: {count: 7, lastObservedTime: "2024-01-01T00:09:58.000000Z"})",
     R"row(["2s","","","node","","","","10m",7,"e1"])row"},
    {"the events.k8s.io view prints the same row", event_cells, R"(
apiVersion: events.k8s.io/v1
metadata: {name: e1}
type: Normal
reason: Started
note: m
regarding: {kind: Pod, name: p}
deprecatedSource: {component: kubelet}
deprecatedLastTimestamp: "2024-01-01T00:09:59Z"
deprecatedCount: 3)",
     R"row(["1s","Normal","Started","pod/p","","kubelet","m","<unknown>",3,"e1"])row"},
    {"a ready node with roles, closed for scheduling", node_cells, R"(
metadata: {name: n1, labels: {node-role.kubernetes.io/worker: "", node-role.kubernetes.io/control-plane: "", kubernetes.io/role: z}}
spec: {unschedulable: true}
status:
  conditions: [{type: Ready, status: "True"}]
  addresses: [{type: InternalIP, address: 10.0.0.9}, {type: Hostname, address: n}]
  nodeInfo: {kubeletVersion: v1.34.0, osImage: Debian, kernelVersion: 6.1.0, containerRuntimeVersion: yard})",
     R"row(["n1","Ready,SchedulingDisabled","control-plane,worker,z","<unknown>","v1.34.0","10.0.0.9","<none>","Debian","6.1.0","yard"])row"},
    {"a node whose agent is silent", node_cells,
     "{metadata: {name: n1}, status: {conditions: [{type: Ready, status: Unknown}]}}",
     R"row(["n1","NotReady","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])row"},
    {"a node that has said nothing", node_cells, "{metadata: {name: n1}}",
     R"row(["n1","Unknown","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])row"},
    {"a namespace", namespace_cells, "{metadata: {name: n1}, status: {phase: Active}}",
     R"row(["n1","Active","<unknown>"])row"},
    {"a config map counts both bags", config_map_cells,
     "{metadata: {name: c}, data: {a: x, b: w}, binaryData: {c: AA==}}",
     R"row(["c",3,"<unknown>"])row"},
    {"a secret", secret_cells, "{metadata: {name: s}, type: Opaque, data: {a: AA==}}",
     R"row(["s","Opaque",1,"<unknown>"])row"},
    {"a service account", service_account_cells, "{metadata: {name: s}, secrets: [{name: a}]}",
     R"row(["s",1,"<unknown>"])row"},
    {"a lease", lease_cells, "{metadata: {name: l}, spec: {holderIdentity: me}}",
     R"row(["l","me","<unknown>"])row"},
    {"a claim that waits shows no capacity", persistent_volume_claim_cells, R"(
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeMode: Filesystem}
status: {phase: Pending})",
     R"row(["c","Pending","","","","fast","<unset>","<unknown>","Filesystem"])row"},
    {"a bound claim", persistent_volume_claim_cells, R"(
metadata: {name: c}
spec: {volumeName: v, storageClassName: fast}
status: {phase: Bound, capacity: {storage: 1Gi}, accessModes: [ReadWriteMany, ReadWriteOnce]})",
     R"row(["c","Bound","v","1Gi","RWO,RWX","fast","<unset>","<unknown>","<unset>"])row"},
    {"a claim being deleted", persistent_volume_claim_cells,
     "{metadata: {name: c, deletionTimestamp: '2024-01-01T00:00:00Z'}, status: {phase: Bound}}",
     R"row(["c","Terminating","","","","","<unset>","<unknown>","<unset>"])row"},
    {"a bound volume", persistent_volume_cells, R"(
metadata: {name: v}
spec: {capacity: {storage: 5Gi}, accessModes: [ReadOnlyMany, ReadWriteOncePod], persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: ns, name: c}, storageClassName: fast, volumeMode: Block}
status: {phase: Bound})",
     R"row(["v","5Gi","ROX,RWOP","Retain","Bound","ns/c","fast","<unset>","","<unknown>","Block"])row"},
    {"the default storage class is marked", storage_class_cells, R"(
metadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: x.io/dir
allowVolumeExpansion: true)",
     R"row(["local (default)","x.io/dir","Delete","Immediate",true,"<unknown>"])row"},
    {"a quota splits requests and limits", resource_quota_cells, R"(
metadata: {name: q}
status: {hard: {memory: 8Gi, cpu: "4", limits.cpu: "8"}, used: {cpu: "1", memory: 1Gi}})",
     R"row(["q","cpu: 1/4, memory: 1Gi/8Gi","limits.cpu: 0/8","<unknown>"])row"},
    {"a priority class", priority_class_cells,
     "{metadata: {name: high}, value: 1000, preemptionPolicy: Never}",
     R"row(["high",1000,false,"<unknown>","Never"])row"},
    {"a kind without a printer says when it was created", default_cells,
     "{metadata: {name: d, creationTimestamp: '2024-01-01T00:00:00Z'}}",
     R"row(["d","2024-01-01T00:00:00Z"])row"},
    {"a custom resource definition too", custom_resource_definition_cells,
     "{metadata: {name: w.ex.io, creationTimestamp: '2024-01-01T00:00:00Z'}}",
     R"row(["w.ex.io","2024-01-01T00:00:00Z"])row"},
};

TEST(Tables, RowsReadAsKubectlPrintsThem) {
  for (const Case& c : kCases) {
    std::string row;
    append_rendered_cells(row, c.cells(yaml(c.object)), *parse_rfc3339("2024-01-01T00:10:00Z"));
    EXPECT_EQ(row, c.row) << c.about;
  }
}

struct Printer {
  std::vector<Column> (*columns)();
  std::string (*cells)(const Json&);
  const char* names;  // wide ones with a star
};

const Printer kPrinters[] = {
    {pod_columns, pod_cells,
     "Name,Ready,Status,Restarts,Age,IP*,Node*,Nominated Node*,Readiness Gates*"},
    {job_columns, job_cells, "Name,Status,Completions,Duration,Age,Containers*,Images*,Selector*"},
    {cron_job_columns, cron_job_cells,
     "Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age,Containers*,Images*,Selector*"},
    {service_columns, service_cells, "Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector*"},
    {endpoints_columns, endpoints_cells, "Name,Endpoints,Age"},
    {endpoint_slice_columns, endpoint_slice_cells, "Name,AddressType,Ports,Endpoints,Age"},
    {event_columns, event_cells,
     "Last Seen,Type,Reason,Object,Subobject*,Source*,Message,First Seen*,Count*,Name*"},
    {node_columns, node_cells,
     "Name,Status,Roles,Age,Version,Internal-IP*,External-IP*,OS-Image*,Kernel-Version*,Container-"
     "Runtime*"},
    {namespace_columns, namespace_cells, "Name,Status,Age"},
    {config_map_columns, config_map_cells, "Name,Data,Age"},
    {secret_columns, secret_cells, "Name,Type,Data,Age"},
    {service_account_columns, service_account_cells, "Name,Secrets,Age"},
    {persistent_volume_claim_columns, persistent_volume_claim_cells,
     "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,VolumeMode*"},
    {persistent_volume_columns, persistent_volume_cells,
     "Name,Capacity,Access Modes,Reclaim "
     "Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,VolumeMode*"},
    {storage_class_columns, storage_class_cells,
     "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"},
    {resource_quota_columns, resource_quota_cells, "Name,Request,Limit,Age"},
    {priority_class_columns, priority_class_cells,
     "Name,Value,Global-Default,Age,PreemptionPolicy"},
    {lease_columns, lease_cells, "Name,Holder,Age"},
    {custom_resource_definition_columns, custom_resource_definition_cells, "Name,Created At"},
    {default_columns, default_cells, "Name,Created At"},
};

TEST(Tables, ColumnsAreUpstreamsAndEachHasACell) {
  for (const Printer& printer : kPrinters) {
    std::vector<std::string> names;
    for (const Column& column : printer.columns()) {
      names.push_back(column.name + (column.priority > 0 ? "*" : ""));
      EXPECT_FALSE(column.description.empty()) << printer.names << " " << column.name;
      EXPECT_EQ(column.format, column.name == "Name" ? "name" : "") << printer.names;
    }
    EXPECT_EQ(join(names, ","), printer.names);
    std::string row;
    append_rendered_cells(row, printer.cells(JsonObject()), Time{});
    Result<ParsedJson> parsed = parse_json(row);
    ASSERT_TRUE(parsed) << printer.names << row;
    EXPECT_EQ(parsed->value.as_array().size(), names.size()) << printer.names;
  }
}

}  // namespace
}  // namespace yard
