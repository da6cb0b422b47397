"""Other people's manifests: an operator's standalone overlay over what is built in, and a job patched by kustomize.

manifests/training-operator has the shape of the training operator's own: definitions, roles, webhook configuration,
Service, Deployment and Secret, all of it inert here because the kinds are built in."""
import json
import os

import pytest

from harness import Kubectl, eventually, newest_kubectl

MANIFESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "manifests")
OPERATOR = os.path.join(MANIFESTS, "training-operator/overlays/standalone")
JOB = os.path.join(MANIFESTS, "training-job/overlay")
OBJECTS = 14  # of the overlay

pytestmark = pytest.mark.skipif(newest_kubectl()[1] < 24, reason="NEEDS a kubectl of 1.24 or later: older ones know other kustomizations")


@pytest.fixture(scope="module")
def kubectl(yard):
    if not yard.is_ours:
        pytest.skip("the kinds are built in here only")
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, yard.new_namespace())


def job(name, script):
    replica = {"replicas": 1, "template": {"spec": {"containers": [
        {"name": "pytorch", "image": "busybox", "command": ["sh", "-c", script]}]}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"pytorchReplicaSpecs": {"Master": replica}}}


def test_a_standalone_overlay_applies_twice_and_the_kinds_go_on_working(kubectl):
    first = kubectl("apply", "--server-side", "-k", OPERATOR, namespace="kubeflow")
    second = kubectl("apply", "--server-side", "-k", OPERATOR, namespace="kubeflow")
    for run in (first, second):
        lines = run.out.splitlines()
        assert len(lines) == OBJECTS and all(line.endswith("serverside-applied") for line in lines), run.out
        assert "conflict" not in run.err
        assert "pytorchjobs.kubeflow.org is built into this server" in run.err
        assert "runs no controller for it" in run.err and "calls no admission webhooks" in run.err
    assert kubectl("diff", "--server-side", "-k", OPERATOR, namespace="kubeflow").out == ""

    kubectl("create", "-f", "-", stdin=job("after", "echo it ran"))
    kubectl("wait", "--for=condition=Succeeded", "pytorchjob/after", "--timeout=60s")
    assert kubectl("logs", "after-master-0").out == "it ran\n"
    refused = kubectl("create", "-f", "-", expect=1, stdin={**job("bad", "true"), "spec": {"pytorchReplicaSpecs": {}}})
    assert "is invalid" in refused.err and "webhook" not in refused.err
    for kind in ("pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs"):
        kubectl("wait", "--for=condition=Established", f"crd/{kind}.kubeflow.org", "--timeout=60s")


def test_the_same_by_client_side_apply(kubectl):
    rendered = kubectl("kustomize", OPERATOR).out
    kubectl("apply", "-f", "-", stdin=rendered, namespace="kubeflow")
    again = kubectl("apply", "-f", "-", stdin=rendered, namespace="kubeflow")
    assert len(again.out.splitlines()) == OBJECTS
    assert all(line.endswith(("unchanged", "configured")) for line in again.out.splitlines())
    assert kubectl("diff", "-f", "-", stdin=rendered, namespace="kubeflow").out == ""


def test_an_overlay_that_patches_a_job_runs(kubectl):
    kubectl("apply", "-k", JOB)
    assert kubectl("apply", "-k", JOB).out == "pytorchjob.kubeflow.org/train-small unchanged\n"
    kubectl("wait", "--for=condition=Succeeded", "pytorchjob/train-small", "--timeout=60s")
    assert kubectl("logs", "train-small-master-0").out == "master of 3\n"
    assert {kubectl("logs", f"train-small-worker-{index}").out for index in range(2)} == {"rank 1 of 3\n", "rank 2 of 3\n"}
    worker = kubectl.json("get", "pod", "train-small-worker-1")["spec"]
    assert worker["containers"][0]["image"] == "example.test/train:overlay"
    assert worker["containers"][0]["resources"] == {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "256Mi"}}
    assert worker["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_the_kinds_outlive_the_overlay(kubectl):
    """Deleting what was applied takes the namespace along; the server's own comes back, with its pod and nothing else."""
    before = kubectl.json("get", "namespace", "kubeflow")["metadata"]["uid"]
    kubectl("delete", "-k", OPERATOR, namespace="kubeflow", expect=None)  # what lies in the namespace may go first

    def is_back():
        found = json.loads(kubectl("get", "namespace", "kubeflow", "-o", "json", expect=None).out or "{}")
        return found.get("status", {}).get("phase") == "Active" and found["metadata"]["uid"] != before
    eventually(is_back)
    eventually(lambda: "training-operator-" in kubectl("get", "pods", "-n", "kubeflow", "-o", "name").out)
    assert kubectl("get", "deployments,secrets", "-o", "name", namespace="kubeflow").out == ""
    assert kubectl("apply", "--server-side", "-k", OPERATOR, namespace="kubeflow").out.count("serverside-applied") == OBJECTS
    kubectl("create", "-f", "-", stdin=job("without", "echo still there"))
    kubectl("wait", "--for=condition=Succeeded", "pytorchjob/without", "--timeout=60s")
    assert kubectl("logs", "without-master-0").out == "still there\n"
