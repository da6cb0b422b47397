"""Small things that every client takes for granted, each asked as upstream's conformance test of that name asks it
(docs/compatibility.md lists them), or more strictly."""
import base64

import pytest

from harness import Kubectl, eventually, newest_kubectl, websocket_messages
from pods import finished, running, shell, status

FOREVER = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def test_logs_over_websocket(yard, kubectl):
    text = "".join(f"line {number}\n" for number in range(1000))
    kubectl("apply", "-f", "-", stdin=[shell("said", "for i in $(seq 0 999); do echo line $i; done"),
                                       shell("says", "echo one; sleep 0.3; echo two")])
    running_or_over = lambda: status(kubectl, "says")["phase"] != "Pending"  # noqa: E731
    eventually(running_or_over)
    at = f"/api/v1/namespaces/{kubectl.namespace}/pods"
    first, *rest = websocket_messages(yard, f"{at}/says/log?container=c&follow=true", "binary.k8s.io")
    assert first == b"" and b"".join(rest) == b"one\ntwo\n", "an empty message says that the stream is live"
    finished(kubectl, "said")
    assert b"".join(websocket_messages(yard, f"{at}/said/log", "binary.k8s.io")).decode() == text
    assert b"".join(websocket_messages(yard, f"{at}/said/log?tailLines=1", "binary.k8s.io")) == b"line 999\n"


def with_expression(name, expression, **variable):
    return shell(name, FOREVER, volumes=[{"name": "v", "emptyDir": {}}], container={
        "env": [{"name": "WHERE", **variable}],
        "volumeMounts": [{"name": "v", "mountPath": "/sub", "subPathExpr": expression}, {"name": "v", "mountPath": "/all"}]})


def waiting(kubectl, name):
    return status(kubectl, name)["containerStatuses"][0]["state"].get("waiting")


@pytest.mark.parametrize("about, expression, value, words", [
    ("an absolute path", "$(WHERE)", "/tmp", "error SubPath `/tmp` must not be an absolute path"),
    ("a step back", "$(WHERE)", "..", "must not contain '..'"),
    ("a variable nobody set", "$(NOBODY)", "x", "missing value for NOBODY"),
    ("one that is empty", "a/$(WHERE)", "", "missing value for WHERE"),
])
def test_a_sub_path_that_leads_nowhere(kubectl, about, expression, value, words):
    kubectl("apply", "-f", "-", stdin=with_expression("lost", expression, value=value))
    why = eventually(lambda: (lambda w: w if w and w["reason"] == "CreateContainerConfigError" else None)(waiting(kubectl, "lost")))
    assert words in why["message"], about


def test_a_sub_path_comes_right_while_the_pod_waits(kubectl):
    """The annotation its expression asks for comes later; the container then starts and sees that folder."""
    kubectl("apply", "-f", "-", stdin=with_expression(
        "late", "$(WHERE)", valueFrom={"fieldRef": {"fieldPath": "metadata.annotations['where']"}}))
    eventually(lambda: waiting(kubectl, "late")["reason"] == "CreateContainerConfigError")
    kubectl("annotate", "pod", "late", "where=here")
    running(kubectl, "late")
    kubectl("exec", "late", "--", "sh", "-c", "echo found > /sub/file && test \"$(cat /all/here/file)\" = found")


def refused(yard, kubectl, kind, body):
    answer = yard.request("POST", f"/api/v1/namespaces/{kubectl.namespace}/{kind}", body)
    assert answer.status == 422, answer.text
    return answer.json["message"]


def test_the_life_of_a_config_map(yard, kubectl):
    why = refused(yard, kubectl, "configmaps", {"metadata": {"name": "empty-key"}, "data": {"": "value"}})
    assert 'data[]: Invalid value: ""' in why, why
    at = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    with kubectl.stream("get", "configmaps", "-w", "--no-headers", "--output-watch-events=true", "-l", "life=one") as watch:
        yard.create(at, {"metadata": {"name": "one", "labels": {"life": "one"}}, "data": {"valueName": "value"}})
        assert watch.line().split()[:2] == ["ADDED", "one"]
        patched = yard.request("PATCH", f"{at}/one", {"metadata": {"labels": {"patched": "yes"}}, "data": {"valueName": "value1"}},
                               content_type="application/strategic-merge-patch+json")
        assert patched.status == 200 and watch.line().split()[:2] == ["MODIFIED", "one"]
        now = yard.request("GET", f"{at}/one").json
        assert (now["data"], now["metadata"]["labels"]) == ({"valueName": "value1"}, {"life": "one", "patched": "yes"})
        everywhere = yard.request("GET", "/api/v1/configmaps?labelSelector=life%3Done,patched%3Dyes").json["items"]
        assert [one["metadata"]["namespace"] for one in everywhere] == [kubectl.namespace]
        assert yard.request("DELETE", f"{at}?labelSelector=life%3Done").status == 200
        assert watch.line().split()[:2] == ["DELETED", "one"]
    assert yard.request("GET", f"{at}?labelSelector=life%3Done").json["items"] == []


def test_the_life_of_a_secret(yard, kubectl):
    encode = lambda text: base64.b64encode(text.encode()).decode()  # noqa: E731
    why = refused(yard, kubectl, "secrets", {"metadata": {"name": "empty-key"}, "data": {"": encode("value")}})
    assert 'data[]: Invalid value: ""' in why, why
    at = f"/api/v1/namespaces/{kubectl.namespace}/secrets"
    yard.create(at, {"metadata": {"name": "one", "labels": {"life": "one"}}, "type": "Opaque", "data": {"key": encode("value")}})
    patched = yard.request("PATCH", f"{at}/one", {"metadata": {"labels": {"life": "two"}}, "data": {"key": encode("value1")}},
                           content_type="application/strategic-merge-patch+json")
    assert patched.status == 200 and patched.json["data"] == {"key": encode("value1")}
    found = yard.request("GET", "/api/v1/secrets?labelSelector=life%3Dtwo").json["items"]
    assert [(one["metadata"]["name"], one["data"]) for one in found] == [("one", {"key": encode("value1")})]
    assert yard.request("DELETE", f"{at}?labelSelector=life%3Dtwo").status == 200
    assert yard.request("GET", f"{at}/one").status == 404


def test_leases(yard, kubectl):
    at = f"/apis/coordination.k8s.io/v1/namespaces/{kubectl.namespace}/leases"
    lease = yard.create(at, {"metadata": {"name": "one", "labels": {"of": "test"}}, "spec": {
        "holderIdentity": "holder", "leaseDurationSeconds": 30, "acquireTime": "2026-01-02T03:04:05.000006Z",
        "renewTime": "2026-01-02T03:04:06.000007Z", "leaseTransitions": 0}})
    assert yard.request("GET", f"{at}/one").json["spec"] == lease["spec"]
    lease["spec"] = {"holderIdentity": "holder2", "leaseDurationSeconds": 40, "acquireTime": "2026-01-02T03:05:05.000006Z",
                     "renewTime": "2026-01-02T03:05:06.000007Z", "leaseTransitions": 1}
    assert yard.request("PUT", f"{at}/one", lease).json["spec"] == lease["spec"]
    patch = yard.request("PATCH", f"{at}/one", {"spec": {"leaseDurationSeconds": 50}}, content_type="application/merge-patch+json")
    assert patch.json["spec"] == {**lease["spec"], "leaseDurationSeconds": 50}
    yard.create(at, {"metadata": {"name": "two", "labels": {"of": "test"}}, "spec": {"holderIdentity": "other"}})
    assert len(yard.request("GET", f"{at}?labelSelector=of%3Dtest").json["items"]) == 2
    assert yard.request("DELETE", f"{at}?labelSelector=of%3Dtest").status == 200
    assert yard.request("GET", at).json["items"] == []
