"""Where pods go, on nodes that are simulated: as many as a test needs, with the real scheduler and agent."""
import pytest

from harness import Kubectl, eventually, newest_kubectl


@pytest.fixture
def rehearsal(own_yard):
    def start(simulate):
        own_yard.up("--simulate", simulate)
        path, minor = newest_kubectl()
        return Kubectl(path, minor, own_yard, "default")
    yield start
    own_yard.down()


def pod(name, play="run=forever", annotations=None, requests=None, **spec):
    container = {"name": "c", "image": "anything", "resources": {"requests": requests or {}}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {"trainyard.dev/play": play, **(annotations or {})}},
            "spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def phases(kubectl):
    out = kubectl("get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}").out
    return dict(word.split("=") for word in out.split())


def test_played_pods_end_as_their_annotation_says(rehearsal):
    kubectl = rehearsal("nodes=3,cpu=4,memory=8Gi,gpu=2")
    assert {row[0] for row in kubectl("get", "nodes").rows[1:]} == {"sim-0", "sim-1", "sim-2"}
    kubectl("apply", "-f", "-", stdin=[pod("good", "run=10ms"), pod("bad", "run=10ms,exit=3"), pod("stays")])
    eventually(lambda: phases(kubectl) == {"good": "Succeeded", "bad": "Failed", "stays": "Running"})
    code = kubectl("get", "pod", "bad", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}").out
    assert code == "3"


def test_an_annotation_that_is_not_understood_is_told(rehearsal):
    kubectl = rehearsal("nodes=1,cpu=4")
    kubectl("apply", "-f", "-", stdin=pod("odd", "run=soon"))
    eventually(lambda: '"run=soon" is not understood' in kubectl("describe", "pod", "odd").out)


def test_a_gang_starts_whole_or_not_at_all(rehearsal):
    kubectl = rehearsal("nodes=2,cpu=2")
    gang = {"trainyard.dev/gang": "ring", "trainyard.dev/gang-size": "4"}
    kubectl("apply", "-f", "-", stdin=[pod("filler", requests={"cpu": "1"})])
    eventually(lambda: phases(kubectl)["filler"] == "Running")
    kubectl("apply", "-f", "-", stdin=[pod(f"rank-{i}", annotations=gang, requests={"cpu": "1"}) for i in range(4)])
    eventually(lambda: "3 of the 4 pods that ring needs at once fit" in kubectl("describe", "pod", "rank-0").out)
    assert [phase for name, phase in phases(kubectl).items() if name != "filler"] == ["Pending"] * 4
    kubectl("delete", "pod", "filler", "--grace-period=0", "--force")
    eventually(lambda: set(phases(kubectl).values()) == {"Running"})


def test_a_pod_of_higher_priority_takes_the_place_of_a_lower(rehearsal):
    kubectl = rehearsal("nodes=1,cpu=2")
    kubectl("apply", "-f", "-", stdin=[
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000},
        pod("low-1", requests={"cpu": "1"}), pod("low-2", requests={"cpu": "1"})])
    eventually(lambda: phases(kubectl) == {"low-1": "Running", "low-2": "Running"})
    kubectl("apply", "-f", "-", stdin=pod("high", requests={"cpu": "1"}, priorityClassName="urgent"))
    eventually(lambda: phases(kubectl).get("high") == "Running")
    assert len(phases(kubectl)) == 2, "one of the two had to go"
    events = kubectl("get", "events", "--field-selector", "reason=Preempted").out
    assert "Preempted by pod" in events and "on node sim-0" in events
