"""delete in all its shapes: names, labels, all, each cascade, finalizers, namespaces."""
import pytest

from harness import eventually
from objects import config_map, job, owned, pod


def has_controllers(yard):
    """A bare kube-apiserver (YARD_E2E_KUBECONFIG) collects no garbage."""
    if not yard.is_ours:
        pytest.skip("needs the garbage collector")


def path_of(kubectl, plural="configmaps", name=""):
    root = "/apis/batch/v1" if plural == "jobs" else "/api/v1"
    return f"{root}/namespaces/{kubectl.namespace}/{plural}" + (f"/{name}" if name else "")


def test_by_name(kubectl, yard):
    yard.create(path_of(kubectl), config_map("it"))
    assert kubectl("delete", "cm", "it").out.startswith('configmap "it" deleted')
    assert yard.request("GET", path_of(kubectl, name="it")).status == 404


def test_from_a_file(kubectl):
    body = [config_map("one"), config_map("two")]
    kubectl("create", "-f", "-", stdin=body)
    out = kubectl("delete", "-f", "-", stdin=body).out.splitlines()
    assert [line.split(" deleted")[0] for line in out] == ['configmap "one"', 'configmap "two"']


def test_by_label(kubectl, yard):
    for name, label in (("one", "a"), ("two", "b")):
        yard.create(path_of(kubectl, "pods"), pod(name, {"x": label}))
    assert kubectl("delete", "pods", "-l", "x=a").out.startswith('pod "one" deleted')
    assert kubectl("get", "pods", "-o", "name").out == "pod/two\n"


def test_all(kubectl, yard):
    for name in ("one", "two", "three"):
        yard.create(path_of(kubectl, "jobs"), job(name))
    out = kubectl("delete", "jobs", "--all").out.splitlines()
    assert sorted(line.split(" deleted")[0] for line in out) == ['job.batch "one"', 'job.batch "three"', 'job.batch "two"']
    assert kubectl("get", "jobs", "-o", "name").out == ""


def test_what_is_not_there(kubectl):
    run = kubectl("delete", "cm", "ghost", expect=1)
    assert run.err == 'Error from server (NotFound): configmaps "ghost" not found\n'
    assert kubectl("delete", "cm", "ghost", "--ignore-not-found").out == ""


def test_a_collection(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for name, label in (("one", "a"), ("two", "b"), ("three", "a")):
        yard.create(path, config_map(name, labels={"x": label}))
    answer = yard.request("DELETE", path + "?labelSelector=x%3Da")
    assert answer.status == 200 and answer.json["kind"] == "ConfigMapList"
    left = yard.request("GET", path + "?labelSelector=x").json["items"]
    assert [item["metadata"]["name"] for item in left] == ["two"]


@pytest.fixture
def family(kubectl, yard):
    """A ConfigMap that owns another."""
    owner = yard.create(path_of(kubectl), config_map("owner"))
    yard.create(path_of(kubectl), owned(config_map("child"), owner))
    return owner


def child(kubectl, yard):
    return yard.request("GET", path_of(kubectl, name="child"))


def test_background(kubectl, yard, family):
    assert kubectl("delete", "cm", "owner", "--cascade=background").out.startswith('configmap "owner" deleted')
    has_controllers(yard)
    eventually(lambda: child(kubectl, yard).status == 404)


def test_foreground(kubectl, yard, family):
    has_controllers(yard)
    kubectl("delete", "cm", "owner", "--cascade=foreground")
    assert child(kubectl, yard).status == 404
    assert yard.request("GET", path_of(kubectl, name="owner")).status == 404


def test_foreground_waits_for_a_child_that_blocks(kubectl, yard, family):
    has_controllers(yard)
    yard.request("PATCH", path_of(kubectl, name="child"), {"metadata": {"finalizers": ["example.com/wait"]}},
                 content_type="application/merge-patch+json")
    kubectl("delete", "cm", "owner", "--cascade=foreground", "--wait=false")
    eventually(lambda: "deletionTimestamp" in child(kubectl, yard).json["metadata"])
    assert yard.request("GET", path_of(kubectl, name="owner")).json["metadata"]["finalizers"] == ["foregroundDeletion"]
    yard.request("PATCH", path_of(kubectl, name="child"), {"metadata": {"finalizers": None}},
                 content_type="application/merge-patch+json")
    eventually(lambda: yard.request("GET", path_of(kubectl, name="owner")).status == 404)


def test_orphan(kubectl, yard, family):
    has_controllers(yard)
    kubectl("delete", "cm", "owner", "--cascade=orphan")
    left = child(kubectl, yard)
    assert left.status == 200 and "ownerReferences" not in left.json["metadata"]


def test_a_jobs_pods_stay_unless_told(yard, namespace):
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    yard.create(path, job("train"))
    answer = yard.request("DELETE", path + "/train")
    assert answer.status == 200
    assert "child pods are preserved by default when jobs are deleted" in answer.headers["Warning"]


def test_a_finalizer_holds(kubectl, yard):
    yard.create(path_of(kubectl), config_map("held", finalizers=["example.com/wait"]))
    assert kubectl("delete", "cm", "held", "--wait=false").out.startswith('configmap "held" deleted')
    assert "deletionTimestamp" in kubectl.json("get", "cm", "held")["metadata"]
    kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert yard.request("GET", path_of(kubectl, name="held")).status == 404


def test_delete_waits_for_the_finalizer(kubectl, yard):
    yard.create(path_of(kubectl), config_map("held", finalizers=["example.com/wait"]))
    with kubectl.stream("delete", "cm", "held") as stream:
        eventually(lambda: "deletionTimestamp" in yard.request("GET", path_of(kubectl, name="held")).json["metadata"])
        assert stream.process.poll() is None
        yard.request("PATCH", path_of(kubectl, name="held"), {"metadata": {"finalizers": None}},
                     content_type="application/merge-patch+json")
        assert stream.process.wait(10) == 0


def test_a_pod_with_force(kubectl, yard):
    yard.create(path_of(kubectl, "pods"), pod("one"))
    kubectl("delete", "pod", "one", "--force", "--grace-period=0")
    assert yard.request("GET", path_of(kubectl, "pods", "one")).status == 404


def test_preconditions(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    yard.create(path, config_map("it"))
    answer = yard.request("DELETE", path + "/it", {"preconditions": {"uid": "other"}})
    assert answer.status == 409 and answer.json["reason"] == "Conflict"
    assert 'Operation cannot be fulfilled on ConfigMap "it": the UID in the precondition (other)' in answer.json["message"]


def test_a_namespace_takes_its_content_along(kubectl, yard):
    has_controllers(yard)
    yard.create(path_of(kubectl), config_map("it"))
    yard.create(path_of(kubectl, "jobs"), job("train"))
    assert kubectl("delete", "ns", kubectl.namespace).out.startswith(f'namespace "{kubectl.namespace}" deleted')
    assert yard.request("GET", "/api/v1/namespaces/" + kubectl.namespace).status == 404
    assert yard.request("GET", path_of(kubectl)).json["items"] == []


def test_a_terminating_namespace_takes_nothing_new(kubectl, yard):
    yard.create(path_of(kubectl), config_map("held", finalizers=["example.com/wait"]))
    kubectl("delete", "ns", kubectl.namespace, "--wait=false")
    run = kubectl("create", "-f", "-", stdin=config_map("late"), expect=1)
    assert run.err == (
        f'Error from server (Forbidden): error when creating "STDIN": configmaps "late" is forbidden: unable to create '
        f'new content in namespace {kubectl.namespace} because it is being terminated\n')
    yard.request("PATCH", path_of(kubectl, name="held"), {"metadata": {"finalizers": None}},
                 content_type="application/merge-patch+json")
