"""get in all its shapes, watch, wait, describe."""
import json

import pytest
import yaml

from harness import eventually
from objects import config_map, container, job, pod


@pytest.fixture
def pods(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name, tier in (("alpha", "front"), ("beta", "back"), ("gamma", "back")):
        yard.create(path, pod(name, {"tier": tier, "app": "shop"}))
    return path


def test_table(kubectl, pods):
    rows = kubectl("get", "pods").rows
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[:4] for row in rows[1:]] == [[name, "0/1", "Pending", "0"] for name in ("alpha", "beta", "gamma")]
    assert all(row[4].endswith("s") for row in rows[1:])


def test_wide(kubectl, pods):
    rows = kubectl("get", "pods", "-o", "wide").rows
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert rows[1][5:] == ["<none>"] * 4


def test_one_by_name(kubectl, pods):
    assert [row[0] for row in kubectl("get", "pod", "beta").rows] == ["NAME", "beta"]


def test_nothing_found(kubectl):
    run = kubectl("get", "pods")
    assert run.out == "" and run.err == f"No resources found in {kubectl.namespace} namespace.\n"


def test_yaml(kubectl, pods):
    got = yaml.safe_load(kubectl("get", "pod", "alpha", "-o", "yaml").out)
    assert got["apiVersion"] == "v1" and got["kind"] == "Pod"
    assert got["metadata"]["labels"] == {"tier": "front", "app": "shop"}
    assert got["spec"]["terminationGracePeriodSeconds"] == 30 and got["status"]["phase"] == "Pending"


def test_list_as_json(kubectl, pods):
    got = kubectl.json("get", "pods")
    assert got["kind"] == "List" and [item["kind"] for item in got["items"]] == ["Pod"] * 3


def test_names(kubectl, pods):
    assert kubectl("get", "pods", "-o", "name").out.split() == ["pod/alpha", "pod/beta", "pod/gamma"]


def test_jsonpath(kubectl, pods):
    run = kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}")
    assert run.out == "alpha beta gamma"


def test_custom_columns(kubectl, pods):
    rows = kubectl("get", "pods", "-o", "custom-columns=WHO:.metadata.name,TIER:.metadata.labels.tier").rows
    assert rows == [["WHO", "TIER"], ["alpha", "front"], ["beta", "back"], ["gamma", "back"]]


def test_sorted(kubectl, pods):
    run = kubectl("get", "pods", "--sort-by={.metadata.labels.tier}", "--no-headers")
    assert [line.split()[0] for line in run.out.splitlines()][2] == "alpha"


def test_show_labels(kubectl, pods):
    assert kubectl("get", "pod", "alpha", "--show-labels").rows[1][-1] == "app=shop,tier=front"


@pytest.mark.parametrize("selector,names", [
    ("tier=back", ["beta", "gamma"]),
    ("tier==front", ["alpha"]),
    ("tier!=back", ["alpha"]),
    ("tier in (front,back),app", ["alpha", "beta", "gamma"]),
    ("tier notin (front)", ["beta", "gamma"]),
    ("!nothing", ["alpha", "beta", "gamma"]),
    ("nothing", []),
])
def test_label_selector(kubectl, pods, selector, names):
    assert kubectl("get", "pods", "-l", selector, "-o", "name").out.split() == ["pod/" + name for name in names]


@pytest.mark.parametrize("selector,names", [
    ("metadata.name=beta", ["beta"]),
    ("metadata.name!=beta", ["alpha", "gamma"]),
    ("status.phase=Pending,spec.restartPolicy=Never", ["alpha", "beta", "gamma"]),
    ("status.phase=Running", []),
    ("spec.nodeName=", ["alpha", "beta", "gamma"]),
])
def test_field_selector(kubectl, pods, selector, names):
    out = kubectl("get", "pods", "--field-selector", selector, "-o", "name").out
    assert out.split() == ["pod/" + name for name in names]


def test_all_namespaces(kubectl, pods):
    rows = kubectl("get", "pods", "-A", "-l", "app=shop").rows
    assert rows[0][0] == "NAMESPACE" and [kubectl.namespace, "alpha"] in [row[:2] for row in rows]


def test_pages(kubectl, yard):
    for number in range(7):
        yard.create(f"/api/v1/namespaces/{kubectl.namespace}/configmaps", config_map(f"page-{number}"))
    out = kubectl("get", "configmaps", "--chunk-size=2", "-o", "name").out.split()
    assert [f"configmap/page-{number}" for number in range(7)] == [name for name in out if "/page-" in name]


def test_job_table(kubectl, yard):
    yard.create(f"/apis/batch/v1/namespaces/{kubectl.namespace}/jobs", job("train", completions=3))
    expected = {"NAME": "train", "STATUS": "Suspended", "COMPLETIONS": "0/3", "CONTAINERS": "main", "IMAGES": "busybox"}

    def row():
        header, *rows = kubectl("get", "jobs", "-o", "wide").rows
        assert header == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
        blank_duration = rows[0][:3] + [""] + rows[0][3:]
        return dict(zip(header, blank_duration))

    first = row()
    if yard.is_ours:  # "Suspended" is written by the job controller, which a bare kube-apiserver lacks
        eventually(lambda: expected.items() <= row().items())
    else:
        assert first["COMPLETIONS"] == "0/3"
    assert first["SELECTOR"].startswith("batch.kubernetes.io/controller-uid=")


def test_other_tables(kubectl, yard):
    space = f"/api/v1/namespaces/{kubectl.namespace}"
    yard.create(space + "/configmaps", config_map("settings", {"a": "1", "b": "2"}))
    yard.create(space + "/secrets", {"metadata": {"name": "token"}, "stringData": {"a": "1"}})
    yard.create(space + "/services", {"metadata": {"name": "web"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}})
    assert kubectl("get", "cm", "settings").rows[1][:2] == ["settings", "2"]
    assert kubectl("get", "secret", "token").rows[1][:3] == ["token", "Opaque", "1"]
    assert kubectl("get", "svc", "web").rows[1][:5] == ["web", "ClusterIP", "None", "<none>", "80/TCP"]
    assert kubectl("get", "ns", kubectl.namespace).rows[1][:2] == [kubectl.namespace, "Active"]


def test_watch(kubectl, yard, pods):
    with kubectl.stream("get", "pods", "-l", "tier=front", "-w") as stream:
        assert stream.line().split()[0] == "NAME"
        assert stream.line().split()[0] == "alpha"
        yard.create(pods, pod("delta", {"tier": "front"}))
        row = stream.line().split()[:3]
        assert row == ["delta", "0/1", "Pending"]
        yard.request("PATCH", pods + "/delta/status", {"status": {"phase": "Running"}},
                     content_type="application/merge-patch+json")
        while row == ["delta", "0/1", "Pending"]:  # our scheduler says once more why it waits
            row = stream.line().split()[:3]
        assert row == ["delta", "0/1", "Running"]
        yard.request("DELETE", pods + "/delta?gracePeriodSeconds=0")
        assert stream.line().split()[0] == "delta"


def test_watch_as_json(kubectl, yard):
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    with kubectl.stream("get", "cm", "--watch-only", "-o", "jsonpath={.metadata.name}={.data.key}{\"\\n\"}") as stream:
        seen = set()

        def written():
            # Until the watch stands its events are not ours to see: write until one arrives.
            yard.create(path, config_map(f"seen-{len(seen)}"))
            seen.add(len(seen))
            while not stream.lines.empty():
                if stream.line().startswith("seen-"):
                    return True
            return False

        eventually(written)


def test_wait_for_a_condition(kubectl, yard):
    path = f"/apis/batch/v1/namespaces/{kubectl.namespace}/jobs"
    yard.create(path, job("train", managedBy="trainyard.dev/test") if yard.is_ours else job("train"))
    with kubectl.stream("wait", "--for=condition=Suspended", "job/train", "--timeout=60s") as stream:
        condition = {"type": "Suspended", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
        answer = yard.request("PATCH", path + "/train/status", {"status": {"conditions": [condition]}},
                              content_type="application/merge-patch+json")
        assert answer.status == 200, answer.text
        assert stream.line(20) == "job.batch/train condition met"


def test_wait_for_deletion(kubectl, yard, pods):
    with kubectl.stream("wait", "--for=delete", "pod/alpha", "--timeout=60s") as stream:
        yard.request("DELETE", pods + "/alpha?gracePeriodSeconds=0")
        code = stream.process.wait(20)
        # Old clients call a pod that was gone before they looked an error.
        assert code == 0 or (kubectl.minor < 24 and "no matching resources found" in stream.line())


def test_wait_for_a_value(kubectl, pods):
    kubectl.needs(23)
    assert kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/alpha", "--timeout=60s").out == \
        "pod/alpha condition met\n"


def test_wait_in_vain(kubectl, pods):
    run = kubectl("wait", "--for=condition=Ready", "pod/alpha", "--timeout=1s", expect=1)
    assert "timed out waiting for the condition on pods/alpha" in run.err


def test_describe_job(kubectl, yard):
    yard.create(f"/apis/batch/v1/namespaces/{kubectl.namespace}/jobs",
                job("train", parallelism=2, completions=4, backoffLimit=1))
    out = kubectl("describe", "job", "train").out
    for part in ("Name:", "train", "Parallelism:", "Completions:", "Pod Template:", "main:", "busybox"):
        assert part in out


def test_describe_pod_shows_its_events(kubectl, yard, pods):
    uid = yard.request("GET", pods + "/alpha").json["metadata"]["uid"]
    yard.create(f"/api/v1/namespaces/{kubectl.namespace}/events", {
        "metadata": {"name": "alpha.1"}, "type": "Warning", "reason": "Waiting", "message": "no node has this label",
        "involvedObject": {"kind": "Pod", "name": "alpha", "namespace": kubectl.namespace, "uid": uid, "apiVersion": "v1"},
        "source": {"component": "scheduler"}, "firstTimestamp": "2024-01-01T00:00:00Z",
        "lastTimestamp": "2024-01-01T00:00:00Z", "count": 2})
    out = kubectl("describe", "pod", "alpha").out
    assert "nowhere=true" in out and "no node has this label" in out
    rows = kubectl("get", "events").rows
    assert rows[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert rows[1][1:] == ["Warning", "Waiting", "pod/alpha", "no node has this label"]


@pytest.mark.parametrize("kind", ["configmap", "secret", "service", "namespace", "serviceaccount"])
def test_describe_other_kinds(kubectl, yard, kind):
    space = f"/api/v1/namespaces/{kubectl.namespace}"
    bodies = {"configmap": config_map("it"), "secret": {"metadata": {"name": "it"}, "stringData": {"a": "hidden"}},
              "service": {"metadata": {"name": "it"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
              "serviceaccount": {"metadata": {"name": "it"}}}
    name = kubectl.namespace if kind == "namespace" else "it"
    if kind in bodies:
        yard.create(f"{space}/{kind}s", bodies[kind])
    out = kubectl("describe", kind, name).out
    assert out.split()[:2] == ["Name:", name] and "hidden" not in out


def test_protobuf_is_asked_for_and_json_is_understood(yard, pods):
    answer = yard.request("GET", pods, accept="application/vnd.kubernetes.protobuf,application/json")
    assert answer.status == 200


def test_partial_metadata(yard, pods):
    answer = yard.request("GET", pods, accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
    assert answer.json["kind"] == "PartialObjectMetadataList"
    assert "spec" not in answer.json["items"][0]


def test_streaming_list(yard, pods):
    answer = yard.request("GET", pods + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                          "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1")
    events = [json.loads(line) for line in answer.text.splitlines()]
    assert [event["type"] for event in events[:4]] == ["ADDED"] * 3 + ["BOOKMARK"]
    assert events[3]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_two_containers(kubectl, yard):
    yard.create(f"/api/v1/namespaces/{kubectl.namespace}/pods", pod("two", containers=[container(), container("aside")]))
    assert kubectl("get", "pod", "two").rows[1][1] == "0/2"
