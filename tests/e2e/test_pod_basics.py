"""What programs in pods rely on every day, a row each: messages of an end, variables and where they come from, changes of
a pod that runs. docs/compatibility.md names the upstream test beside each."""
import json

import pytest

from harness import Kubectl, eventually, newest_kubectl
from pods import end_state, finished, running, shell, status

FOREVER = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


@pytest.mark.parametrize("about, script, container, message", [
    ("success falls back to nothing", "echo said", {"terminationMessagePolicy": "FallbackToLogsOnError"}, None),
    ("a file comes first", "echo said; printf OK > /dev/termination-log", {"terminationMessagePolicy": "FallbackToLogsOnError"}, "OK"),
    ("an error falls back to the log", "printf DONE; exit 1", {"terminationMessagePolicy": "FallbackToLogsOnError"}, "DONE"),
    ("another path, another user", "printf DONE > /dev/termination-custom-log",
     {"terminationMessagePath": "/dev/termination-custom-log", "securityContext": {"runAsUser": 1000}}, "DONE"),
])
def test_the_message_of_an_end(kubectl, about, script, container, message):
    kubectl("apply", "-f", "-", stdin=shell("ends", script, container=container))
    assert end_state(kubectl, "ends").get("message") == message, about


def field(path):
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def amount(resource, **more):
    return {"valueFrom": {"resourceFieldRef": {"resource": resource, **more}}}


def from_key(kind, key):
    return {"valueFrom": {f"{kind}KeyRef": {"name": "source", "key": key}}}


def test_variables_and_their_sources(kubectl):
    """One pod that has them all; the facts it is told are those of its status."""
    kubectl("create", "configmap", "source", "--from-literal=data-1=value-1", "--from-literal=data_2=value-2")
    kubectl("create", "secret", "generic", "source", "--from-literal=data-1=secret-1", "--from-literal=data_2=secret-2")
    variables = {
        "FOO": {"value": "foo-value"}, "BAR": {"value": "bar-value"}, "FOOBAR": {"value": "$(FOO);;$(BAR)"},
        "KEPT": {"value": "$$(FOO) $(NOBODY)"},
        "POD_NAME": field("metadata.name"), "POD_NAMESPACE": field("metadata.namespace"), "POD_IP": field("status.podIP"),
        "HOST_IP": field("status.hostIP"), "HOST_IPS": field("status.hostIPs"), "POD_UID": field("metadata.uid"),
        "CPU_LIMIT": amount("limits.cpu"), "MEMORY_LIMIT": amount("limits.memory"), "CPU_REQUEST": amount("requests.cpu", divisor="1m"),
        "MEMORY_REQUEST": amount("requests.memory", divisor="1Mi"),
        "MAP": from_key("configMap", "data-1"), "SECRET": from_key("secret", "data-1"),
    }
    limits = {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"cpu": "1250m", "memory": "64Mi"}}
    told = shell("told", "", container={
        # Not a shell: it keeps names like data-1 to itself.
        "command": ["python3", "-c", "import os\nfor one in os.environ.items(): print('='.join(one))\nprint('COMMAND=$(FOOBAR)')"],
        "resources": limits,
        "env": [{"name": name, **source} for name, source in variables.items()],
        "envFrom": [{"configMapRef": {"name": "source"}}, {"prefix": "p-", "configMapRef": {"name": "source"}},
                    {"prefix": "s_", "secretRef": {"name": "source"}}]})
    defaults = shell("defaults", "env", container={
        "env": [{"name": "CPU_LIMIT", **amount("limits.cpu")}, {"name": "MEMORY_LIMIT", **amount("limits.memory")}]})
    args = shell("args", "", container={"command": ["sh", "-c"], "args": ["echo $(WORD); echo $(WORD)"],
                                        "env": [{"name": "WORD", "value": "test-value"}]})
    kubectl("apply", "-f", "-", stdin=[told, defaults, args])
    finished(kubectl, "told")
    found = dict(line.split("=", 1) for line in kubectl("logs", "told").out.splitlines())
    pod = kubectl.json("get", "pod", "told")
    expected = {
        "FOOBAR": "foo-value;;bar-value", "COMMAND": "foo-value;;bar-value", "KEPT": "$(FOO) $(NOBODY)",
        "POD_NAME": "told", "POD_NAMESPACE": kubectl.namespace, "POD_IP": pod["status"]["podIP"], "HOST_IP": pod["status"]["hostIP"],
        "HOST_IPS": ",".join(one["ip"] for one in pod["status"]["hostIPs"]), "POD_UID": pod["metadata"]["uid"],
        "CPU_LIMIT": "2", "MEMORY_LIMIT": str(64 << 20), "CPU_REQUEST": "250", "MEMORY_REQUEST": "32",
        "MAP": "value-1", "SECRET": "secret-1", "data-1": "value-1", "data_2": "value-2", "p-data-1": "value-1",
        "p-data_2": "value-2", "s_data-1": "secret-1", "s_data_2": "secret-2"}
    assert {name: found.get(name) for name in expected} == expected
    finished(kubectl, "defaults")
    found = dict(line.split("=", 1) for line in kubectl("logs", "defaults").out.splitlines() if "=" in line)
    node = kubectl.json("get", "nodes")["items"][0]["status"]["allocatable"]
    assert found["CPU_LIMIT"] == node["cpu"] and int(found["MEMORY_LIMIT"]) > 0
    finished(kubectl, "args")
    assert kubectl("logs", "args").out == "test-value\ntest-value\n"


@pytest.mark.parametrize("resources, qos", [
    ({}, "BestEffort"), ({"requests": {"cpu": "100m"}}, "Burstable"),
    ({"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "100m", "memory": "100Mi"}}, "Guaranteed"),
])
def test_the_class_of_a_pod(kubectl, resources, qos):
    kubectl("apply", "-f", "-", stdin=shell("classy", "true", container={"resources": resources}))
    assert status(kubectl, "classy")["qosClass"] == qos


def test_a_running_pod_is_changed(yard, kubectl):
    kubectl("apply", "-f", "-", stdin=shell("changes", FOREVER))
    now = running(kubectl, "changes")
    assert now["hostIP"] and now["hostIPs"][0]["ip"] == now["hostIP"]
    kubectl("label", "pod", "changes", "time=now")
    assert [one["metadata"]["name"] for one in kubectl.json("get", "pods", "-l", "time=now")["items"]] == ["changes"]
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/changes/status"
    condition = {"type": "example.com/Checked", "status": "True", "reason": "Patched", "message": "by a test"}
    answer = yard.request("PATCH", path, {"status": {"conditions": [condition]}}, content_type="application/strategic-merge-patch+json")
    assert answer.status == 200 and any(c["type"] == condition["type"] for c in answer.json["status"]["conditions"])
    kubectl("patch", "pod", "changes", "-p", json.dumps({"spec": {"activeDeadlineSeconds": 1}}))
    end = finished(kubectl, "changes")
    assert (end["phase"], end["reason"]) == ("Failed", "DeadlineExceeded")
    assert any(c["type"] == condition["type"] for c in end["conditions"]), "the condition of another stays"


def test_pods_are_seen_from_their_making_to_their_end(yard, kubectl):
    """A watch sees a pod added, changed and deleted; a collection goes at once by its label."""
    with kubectl.stream("get", "pods", "-w", "--no-headers", "--output-watch-events=true") as watch:
        pods = [shell(f"one-{number}", FOREVER) for number in range(3)]
        for one in pods:
            one["metadata"]["labels"] = {"type": "testing"}
        kubectl("apply", "-f", "-", stdin=pods)
        for number in range(3):
            running(kubectl, f"one-{number}")
        kubectl("delete", "pods", "-l", "type=testing", "--wait=false")
        seen = {}
        while sum("DELETED" in kinds for kinds in seen.values()) < 3:
            kind, name = watch.line(20).split()[:2]
            seen.setdefault(name, []).append(kind)
    for kinds in seen.values():
        assert (kinds[0], kinds[-1]) == ("ADDED", "DELETED") and set(kinds[1:-1]) == {"MODIFIED"}
    eventually(lambda: kubectl.json("get", "pods")["items"] == [])


def test_a_pod_that_always_fails_says_so_and_can_be_deleted(kubectl):
    kubectl("apply", "-f", "-", stdin=shell("false", "", container={"command": ["/bin/false"]}, restartPolicy="Always"))
    ended = eventually(lambda: [state["terminated"] for c in status(kubectl, "false").get("containerStatuses", [])
                                for state in (c["state"], c["lastState"]) if "terminated" in state])
    assert (ended[0]["reason"], ended[0]["exitCode"]) == ("Error", 1)
    kubectl("delete", "pod", "false")
    kubectl("get", "pod", "false", expect=1)


def test_init_containers_that_fail_hold_the_others(kubectl):
    first = {"name": "first", "image": "x", "command": ["false"]}
    second = {"name": "second", "image": "x", "command": ["true"]}
    kubectl("apply", "-f", "-", stdin=[shell("always", FOREVER, restartPolicy="Always", initContainers=[first, second]),
                                       shell("never", FOREVER, initContainers=[second, first])])
    end = finished(kubectl, "never")
    assert end["phase"] == "Failed"
    assert end["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}, "it has never been there"
    now = eventually(lambda: (lambda s: s if s.get("initContainerStatuses", [{}])[0].get("restartCount", 0) >= 1 else None)(
        status(kubectl, "always")))
    assert now["phase"] == "Pending"
    assert now["initContainerStatuses"][1]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert now["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_the_status_of_a_job_is_changed(yard, kubectl):
    """A condition of another stays, and nothing but the status is taken."""
    kubectl("create", "-f", "-", stdin={"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "held"}, "spec": {
        "suspend": True, "template": {"spec": shell("", "true")["spec"]}}})
    path = f"/apis/batch/v1/namespaces/{kubectl.namespace}/jobs/held/status"
    eventually(lambda: kubectl.json("get", "job", "held")["status"].get("conditions"))
    conditions = [*kubectl.json("get", "job", "held")["status"]["conditions"],
                  {"type": "StatusPatched", "status": "True", "reason": "E2E", "message": "by a test"}]
    answer = yard.request("PATCH", path, {"metadata": {"annotations": {"patched": "yes"}}, "spec": {"parallelism": 5},
                                          "status": {"conditions": conditions}}, content_type="application/merge-patch+json")
    assert answer.status == 200, answer.text
    kubectl("patch", "job", "held", "-p", '{"spec": {"suspend": false}}')
    kubectl("wait", "--for=condition=complete", "job/held", "--timeout=60s")
    after = kubectl.json("get", "job", "held")
    assert "StatusPatched" in [c["type"] for c in after["status"]["conditions"]] and after["spec"]["parallelism"] == 1
