// Writes src/api/schema/testdata/*.hex: what Go's own protobuf encoder makes of a few full objects, each
// with the JSON we expect. Run by hand in a module that requires k8s.io/api, k8s.io/apimachinery and
// k8s.io/apiextensions-apiserver:  go run record_protobuf.go <testdata folder>
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	coord "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type msg interface{ Marshal() ([]byte, error) }

func p[T any](v T) *T { return &v }

// nulls are how Go shows unset times and lists; we leave such members out
func strip(v any, free bool) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			if e == nil && !free {
				delete(t, k)
			} else {
				t[k] = strip(e, free || k == "default" || k == "fieldsV1")
			}
		}
	case []any:
		for i := range t {
			t[i] = strip(t[i], free)
		}
	}
	return v
}

func write(name, av, kind string, m msg) {
	raw, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: av, Kind: kind}, Raw: raw}
	b, err := u.Marshal()
	if err != nil {
		panic(err)
	}
	b = append([]byte("k8s\x00"), b...)
	j, _ := json.Marshal(m)
	var v any
	d := json.NewDecoder(strings.NewReader(string(j)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	v = strip(v, false)
	o, _ := json.Marshal(v)
	h := hex.EncodeToString(b)
	var lines []string
	for len(h) > 96 {
		lines = append(lines, h[:96])
		h = h[96:]
	}
	lines = append(lines, h)
	os.WriteFile(os.Args[1]+"/"+name+".hex", []byte(av+" "+kind+"\n"+string(o)+"\n"+strings.Join(lines, "\n")+"\n"), 0644)
	fmt.Println(name, len(b))
}

func main() {
	when := meta.NewTime(time.Unix(1700000000, 0))
	micro := meta.NewMicroTime(time.Unix(1700000000, 123456000))
	om := meta.ObjectMeta{Name: "x", Namespace: "default", Labels: map[string]string{"a": "b", "empty": ""},
		Annotations: map[string]string{"note": "größer"}, Finalizers: []string{"a.io/f"}, Generation: 3, CreationTimestamp: when, DeletionTimestamp: &when, DeletionGracePeriodSeconds: p(int64(0)),
		OwnerReferences: []meta.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "u-1", Controller: p(true), BlockOwnerDeletion: p(false)}},
		ManagedFields:   []meta.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1", Time: &when, FieldsType: "FieldsV1", FieldsV1: &meta.FieldsV1{Raw: []byte(`{"f:data":{".":{},"f:a":{}}}`)}}}}
	pod := core.PodSpec{
		Volumes: []core.Volume{{Name: "e", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}},
			{Name: "m", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{Medium: "Memory", SizeLimit: p(resource.MustParse("1.5Gi"))}}},
			{Name: "c", VolumeSource: core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: "cm"}, DefaultMode: p(int32(0)), Optional: p(false), Items: []core.KeyToPath{{Key: "k", Path: "p"}}}}},
			{Name: "pr", VolumeSource: core.VolumeSource{Projected: &core.ProjectedVolumeSource{Sources: []core.VolumeProjection{{ServiceAccountToken: &core.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: p(int64(3607))}}, {DownwardAPI: &core.DownwardAPIProjection{Items: []core.DownwardAPIVolumeFile{{Path: "l", FieldRef: &core.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}}}}}}},
		InitContainers: []core.Container{{Name: "i", Image: "img", RestartPolicy: p(core.ContainerRestartPolicyAlways)}},
		Containers: []core.Container{{Name: "c", Image: "img", Command: []string{"sh", "-c", ""}, Args: []string{"a"},
			Ports:           []core.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}},
			Env:             []core.EnvVar{{Name: "A", Value: "1"}, {Name: "B"}, {Name: "C", ValueFrom: &core.EnvVarSource{ConfigMapKeyRef: &core.ConfigMapKeySelector{LocalObjectReference: core.LocalObjectReference{Name: "cm"}, Key: "k"}}}, {Name: "D", ValueFrom: &core.EnvVarSource{ResourceFieldRef: &core.ResourceFieldSelector{Resource: "limits.cpu"}}}},
			EnvFrom:         []core.EnvFromSource{{SecretRef: &core.SecretEnvSource{LocalObjectReference: core.LocalObjectReference{Name: "s"}}}},
			Resources:       core.ResourceRequirements{Limits: core.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("64Mi"), "nvidia.com/gpu": resource.MustParse("2")}, Requests: core.ResourceList{"cpu": resource.MustParse("0")}},
			VolumeMounts:    []core.VolumeMount{{Name: "e", MountPath: "/e", ReadOnly: true, SubPath: "s"}},
			LivenessProbe:   &core.Probe{ProbeHandler: core.ProbeHandler{HTTPGet: &core.HTTPGetAction{Path: "/", Port: intstr.FromString("http"), HTTPHeaders: []core.HTTPHeader{{Name: "h", Value: ""}}}}, PeriodSeconds: 5, TerminationGracePeriodSeconds: p(int64(0))},
			ReadinessProbe:  &core.Probe{ProbeHandler: core.ProbeHandler{TCPSocket: &core.TCPSocketAction{Port: intstr.FromInt32(8080)}}},
			StartupProbe:    &core.Probe{ProbeHandler: core.ProbeHandler{Exec: &core.ExecAction{Command: []string{"true"}}}},
			Lifecycle:       &core.Lifecycle{PreStop: &core.LifecycleHandler{Sleep: &core.SleepAction{Seconds: 0}}},
			SecurityContext: &core.SecurityContext{RunAsUser: p(int64(0)), Privileged: p(false), Capabilities: &core.Capabilities{Add: []core.Capability{"NET_ADMIN"}}}, Stdin: true, TTY: true}},
		RestartPolicy: "Never", TerminationGracePeriodSeconds: p(int64(0)), ActiveDeadlineSeconds: p(int64(9007199254740993)), NodeSelector: map[string]string{"k": "v"},
		SecurityContext: &core.PodSecurityContext{}, HostNetwork: true, EnableServiceLinks: p(false), Priority: p(int32(-5)), Overhead: core.ResourceList{},
		Affinity:                  &core.Affinity{PodAntiAffinity: &core.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []core.PodAffinityTerm{{LabelSelector: &meta.LabelSelector{}, TopologyKey: "kubernetes.io/hostname"}}}},
		Tolerations:               []core.Toleration{{Key: "k", Operator: "Exists", TolerationSeconds: p(int64(0))}},
		TopologySpreadConstraints: []core.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "z", WhenUnsatisfiable: "DoNotSchedule", MinDomains: p(int32(2))}},
		EphemeralContainers:       []core.EphemeralContainer{{EphemeralContainerCommon: core.EphemeralContainerCommon{Name: "dbg", Image: "i"}, TargetContainerName: "c"}},
	}
	write("pod", "v1", "Pod", &core.Pod{ObjectMeta: om, Spec: pod, Status: core.PodStatus{Phase: "Running", StartTime: &when, PodIPs: []core.PodIP{{IP: "10.0.0.1"}},
		Conditions: []core.PodCondition{{Type: "Ready", Status: "True"}}, ContainerStatuses: []core.ContainerStatus{{Name: "c", State: core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: 0, Reason: "Completed", StartedAt: when}}, LastTerminationState: core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: -1}}, Started: p(false)}}}})
	write("job", "batch/v1", "Job", &batch.Job{ObjectMeta: meta.ObjectMeta{GenerateName: "j-"}, Spec: batch.JobSpec{Parallelism: p(int32(0)), Completions: p(int32(3)), BackoffLimit: p(int32(0)), Suspend: p(false), CompletionMode: p(batch.IndexedCompletion), ManualSelector: p(true), Selector: &meta.LabelSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []meta.LabelSelectorRequirement{{Key: "k", Operator: "In", Values: []string{"1", "2"}}}},
		PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: "FailJob", OnExitCodes: &batch.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: []int32{1, 0, 255}}}, {Action: "Ignore", OnPodConditions: []batch.PodFailurePolicyOnPodConditionsPattern{{Type: "DisruptionTarget", Status: "True"}}}}},
		SuccessPolicy:    &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: p("0,2-3")}}}, Template: core.PodTemplateSpec{Spec: core.PodSpec{Containers: []core.Container{{Name: "c", Image: "i"}}, RestartPolicy: "Never"}}}, Status: batch.JobStatus{Active: 1, Ready: p(int32(0)), UncountedTerminatedPods: &batch.UncountedTerminatedPods{Succeeded: nil}}})
	write("configmap", "v1", "ConfigMap", &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "c"}, Data: map[string]string{"a": "1", "b": ""}, BinaryData: map[string][]byte{"z": {0, 255, 1}}, Immutable: p(false)})
	write("secret", "v1", "Secret", &core.Secret{ObjectMeta: meta.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": []byte("hello"), "empty": {}}, StringData: map[string]string{"x": "y"}, Type: "Opaque"})
	write("lease", "coordination.k8s.io/v1", "Lease", &coord.Lease{ObjectMeta: meta.ObjectMeta{Name: "l"}, Spec: coord.LeaseSpec{HolderIdentity: p(""), LeaseDurationSeconds: p(int32(15)), AcquireTime: &micro, RenewTime: &micro, LeaseTransitions: p(int32(0))}})
	write("event", "v1", "Event", &core.Event{ObjectMeta: meta.ObjectMeta{Name: "e"}, InvolvedObject: core.ObjectReference{Kind: "Pod", Name: "p", FieldPath: "spec.containers{c}"}, Reason: "Started", Source: core.EventSource{Component: "x"}, FirstTimestamp: when, LastTimestamp: when, Count: 2, Type: "Normal"})
	write("events_event", "events.k8s.io/v1", "Event", &events.Event{ObjectMeta: meta.ObjectMeta{Name: "e"}, EventTime: micro, Series: &events.EventSeries{Count: 3, LastObservedTime: micro}, ReportingController: "c", Action: "A", Regarding: core.ObjectReference{Kind: "Pod"}, Note: "n"})
	write("delete_options", "v1", "DeleteOptions", &meta.DeleteOptions{GracePeriodSeconds: p(int64(0)), PropagationPolicy: p(meta.DeletePropagationForeground), Preconditions: &meta.Preconditions{UID: p(om.OwnerReferences[0].UID)}, DryRun: []string{"All"}})
	write("ssar", "authorization.k8s.io/v1", "SelfSubjectAccessReview", &authz.SelfSubjectAccessReview{Spec: authz.SelfSubjectAccessReviewSpec{ResourceAttributes: &authz.ResourceAttributes{Namespace: "default", Verb: "create", Resource: "pods"}}})
	write("sar", "authorization.k8s.io/v1", "SubjectAccessReview", &authz.SubjectAccessReview{Spec: authz.SubjectAccessReviewSpec{NonResourceAttributes: &authz.NonResourceAttributes{Path: "/", Verb: "get"}, User: "u", Groups: []string{"g"}, Extra: map[string]authz.ExtraValue{"k": {"a", "b"}}}})
	write("token_request", "authentication.k8s.io/v1", "TokenRequest", &authn.TokenRequest{Spec: authn.TokenRequestSpec{Audiences: []string{"a"}, ExpirationSeconds: p(int64(600)), BoundObjectRef: &authn.BoundObjectReference{Kind: "Pod", Name: "p", UID: "u"}}, Status: authn.TokenRequestStatus{Token: "t", ExpirationTimestamp: when}})
	write("eviction", "policy/v1", "Eviction", &policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: "p"}, DeleteOptions: &meta.DeleteOptions{}})
	write("pdb", "policy/v1", "PodDisruptionBudget", &policy.PodDisruptionBudget{Spec: policy.PodDisruptionBudgetSpec{MinAvailable: p(intstr.FromString("50%")), MaxUnavailable: p(intstr.FromInt32(0)), Selector: &meta.LabelSelector{}}, Status: policy.PodDisruptionBudgetStatus{DisruptedPods: map[string]meta.Time{"p": when}}})
	write("node", "v1", "Node", &core.Node{ObjectMeta: meta.ObjectMeta{Name: "n"}, Status: core.NodeStatus{DaemonEndpoints: core.NodeDaemonEndpoints{KubeletEndpoint: core.DaemonEndpoint{Port: 10250}}, Capacity: core.ResourceList{"cpu": resource.MustParse("8")}}})
	js := apiext.JSONSchemaProps{Type: "object", Description: "d", Ref: p(""), Properties: map[string]apiext.JSONSchemaProps{
		"a": {Type: "array", Items: &apiext.JSONSchemaPropsOrArray{Schema: &apiext.JSONSchemaProps{Type: "string"}}, XListType: p("map"), XListMapKeys: []string{"p"}, MinItems: p(int64(0))},
		"b": {Items: &apiext.JSONSchemaPropsOrArray{JSONSchemas: []apiext.JSONSchemaProps{{Type: "string"}, {}}}, AdditionalProperties: &apiext.JSONSchemaPropsOrBool{Allows: false}},
		"c": {AdditionalProperties: &apiext.JSONSchemaPropsOrBool{Allows: true, Schema: &apiext.JSONSchemaProps{Type: "integer", Format: "int32", Minimum: p(0.0), Maximum: p(1.5), ExclusiveMaximum: true}}, AdditionalItems: &apiext.JSONSchemaPropsOrBool{Allows: true}},
		"d": {Default: &apiext.JSON{Raw: []byte(`{"x":[1,null,"s"]}`)}, Enum: []apiext.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte("1")}, {Raw: []byte("null")}}, Nullable: true, XPreserveUnknownFields: p(true), XEmbeddedResource: true},
		"e": {XIntOrString: true, AnyOf: []apiext.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}, Not: &apiext.JSONSchemaProps{Required: []string{"q"}}, Dependencies: apiext.JSONSchemaDependencies{"k": {Property: []string{"l"}}, "m": {Schema: &apiext.JSONSchemaProps{Title: "t"}}}, XValidations: apiext.ValidationRules{{Rule: "self > 0", Message: "m"}}}}}
	write("crd", "apiextensions.k8s.io/v1", "CustomResourceDefinition", &apiext.CustomResourceDefinition{ObjectMeta: meta.ObjectMeta{Name: "widgets.ex.io"}, Spec: apiext.CustomResourceDefinitionSpec{Group: "ex.io", Scope: "Namespaced", Names: apiext.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"}, Versions: []apiext.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: false, Schema: &apiext.CustomResourceValidation{OpenAPIV3Schema: &js}, Subresources: &apiext.CustomResourceSubresources{Status: &apiext.CustomResourceSubresourceStatus{}, Scale: &apiext.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.r", StatusReplicasPath: ".status.r"}}, AdditionalPrinterColumns: []apiext.CustomResourceColumnDefinition{{Name: "A", Type: "date", JSONPath: ".a"}}}}}})
}
