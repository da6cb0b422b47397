"""What kubectl asks before anything else: version, discovery, OpenAPI, plain paths."""
import json
import re

import pytest

from harness import Api

# resource, short name or "", API version, namespaced, kind
RESOURCES = [
    ("configmaps", "cm", "v1", True, "ConfigMap"),
    ("endpoints", "ep", "v1", True, "Endpoints"),
    ("events", "ev", "v1", True, "Event"),
    ("limitranges", "limits", "v1", True, "LimitRange"),
    ("namespaces", "ns", "v1", False, "Namespace"),
    ("nodes", "no", "v1", False, "Node"),
    ("persistentvolumeclaims", "pvc", "v1", True, "PersistentVolumeClaim"),
    ("persistentvolumes", "pv", "v1", False, "PersistentVolume"),
    ("pods", "po", "v1", True, "Pod"),
    ("podtemplates", "", "v1", True, "PodTemplate"),
    ("resourcequotas", "quota", "v1", True, "ResourceQuota"),
    ("secrets", "", "v1", True, "Secret"),
    ("serviceaccounts", "sa", "v1", True, "ServiceAccount"),
    ("services", "svc", "v1", True, "Service"),
    ("cronjobs", "cj", "batch/v1", True, "CronJob"),
    ("jobs", "", "batch/v1", True, "Job"),
    ("leases", "", "coordination.k8s.io/v1", True, "Lease"),
    ("endpointslices", "", "discovery.k8s.io/v1", True, "EndpointSlice"),
    ("events", "ev", "events.k8s.io/v1", True, "Event"),
    ("priorityclasses", "pc", "scheduling.k8s.io/v1", False, "PriorityClass"),
    ("storageclasses", "sc", "storage.k8s.io/v1", False, "StorageClass"),
]


def test_version(kubectl):
    version = kubectl.json("version")["serverVersion"]
    assert version["major"] == "1" and version["minor"].isdigit()
    assert re.match(r"v1\.\d+\.\d+", version["gitVersion"])


def test_api_resources(kubectl):
    printed = [line.split() for line in kubectl("api-resources", "--no-headers").out.splitlines()]
    for name, short, version, namespaced, kind in RESOURCES:
        ends = [version, str(namespaced).lower(), kind] if kubectl.minor >= 21 else [str(namespaced).lower(), kind]
        rows = [row for row in printed if row[0] == name and row[-len(ends):] == ends]
        assert rows, f"{name} {version}"
        if short:
            assert short in rows[0][1].split(",")


def test_api_versions(kubectl):
    versions = kubectl("api-versions").out.split()
    assert {"v1", "batch/v1", "events.k8s.io/v1"} <= set(versions)


def test_short_names_and_categories(kubectl):
    kubectl("get", "cm,po,svc,ns,ev,sa,cj,jobs.batch,job.v1.batch")
    assert kubectl("get", "all").code == 0


def test_the_same_in_legacy_and_aggregated_discovery(yard):
    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = yard.request("GET", "/apis", accept=wanted + ",application/json")
    assert "as=APIGroupDiscoveryList" in answer.headers["Content-Type"]
    aggregated = {}
    for group in answer.json["items"]:
        for version in group["versions"]:
            key = group["metadata"]["name"] + "/" + version["version"]
            aggregated[key] = {resource["resource"] for resource in version["resources"]}
    for group in yard.request("GET", "/apis").json["groups"]:
        for version in group["versions"]:
            legacy = yard.request("GET", "/apis/" + version["groupVersion"]).json["resources"]
            names = {resource["name"] for resource in legacy if "/" not in resource["name"]}
            assert names == aggregated[version["groupVersion"]], version["groupVersion"]


# Before 1.27 kubectl reads the v2 document, and prints it a little differently.
def test_explain_a_kind(kubectl):
    out = kubectl("explain", "job").out
    assert re.search(r"^KIND:\s+Job$", out, re.M)
    if kubectl.minor < 27:
        assert re.search(r"^VERSION:\s+batch/v1$", out, re.M) and re.search(r"^\s+spec\s+<Object>", out, re.M)
    else:
        assert re.search(r"^GROUP:\s+batch$", out, re.M) and re.search(r"^VERSION:\s+v1$", out, re.M)
        assert re.search(r"^\s+spec\s+<JobSpec>", out, re.M)


def test_explain_a_field(kubectl):
    out = kubectl("explain", "job.spec.template.spec.containers.command").out
    assert re.search(r"^FIELD: +command +<\[\]string>", out, re.M)


def test_explain_recursively(kubectl):
    out = kubectl("explain", "pod.spec", "--recursive").out
    assert re.search(r"^\s+restartPolicy\s+<string>", out, re.M)


def test_explain_an_unknown_field(kubectl):
    run = kubectl("explain", "job.spec.nonsense", expect=1)
    assert 'field "nonsense" does not exist' in run.err


@pytest.mark.parametrize("path,answer", [("/healthz", "ok"), ("/livez", "ok"), ("/readyz", "ok")])
def test_raw_health(kubectl, path, answer):
    assert kubectl("get", "--raw", path).out.strip() == answer


def test_raw_list(kubectl):
    listed = json.loads(kubectl("get", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/pods").out)
    assert listed["kind"] == "PodList" and listed["items"] == []


def test_raw_metrics(kubectl):
    assert "apiserver_request_total" in kubectl("get", "--raw", "/metrics").out


def test_cluster_info(kubectl):
    assert "is running at" in kubectl("cluster-info").out


@pytest.mark.parametrize("path,status", [
    ("/version", 200), ("/healthz", 200), ("/livez", 200), ("/readyz", 200),
    ("/api", 401), ("/apis", 401), ("/metrics", 401), ("/api/v1/namespaces/kube-system/secrets", 401), ("/", 401),
])
def test_without_credentials(yard, path, status):
    if not yard.is_ours:
        pytest.skip("another server has its own rules")
    api = Api(yard.kubeconfig, yard.folder, credentials=False)
    assert api.request("GET", path).status == status
    api.close()


def test_namespaces_from_the_start(yard):
    names = {item["metadata"]["name"] for item in yard.request("GET", "/api/v1/namespaces").json["items"]}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= names
