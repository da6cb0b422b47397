"""Jobs whose code is only in an image of a private registry."""
import os

import pytest

from harness import eventually
from registries import busybox_image, secret_of, up_with

HUSH = "hush-4711"
NAMESPACE = "/api/v1/namespaces/default"


@pytest.fixture
def private(registry):
    return registry(users={"me": HUSH})


def job(name, image, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": image, **spec.pop("container", {})}], **spec}}}}


def pods_of(yard, selector):
    return yard.request("GET", f"{NAMESPACE}/pods?labelSelector={selector}").json["items"]


def log_of(yard, pod):
    return yard.request("GET", f"{NAMESPACE}/pods/{pod['metadata']['name']}/log").text


def said(yard, one):
    name = one["metadata"]["name"]
    yard.create("/apis/batch/v1/namespaces/default/jobs", one)
    eventually(lambda: yard.request("GET", f"/apis/batch/v1/namespaces/default/jobs/{name}").json["status"].get("succeeded") == 1,
               about=f"{name} succeeded")
    return log_of(yard, pods_of(yard, f"job-name={name}")[0])


def test_a_job_runs_the_code_its_image_has(own_yard, private):
    code = {"code": {"folder": 0o755}, "code/train.sh": ('echo "trained by $(id -u):$(id -g) in $(pwd) with $1"\n', 0o755)}
    image = private.push("team/train", "1", busybox_image(
        code, Entrypoint=["sh", "/code/train.sh"], Cmd=["defaults"], WorkingDir="/code", User="worker"))
    up_with(own_yard, private)
    own_yard.create(f"{NAMESPACE}/secrets", secret_of(private, "login"))
    secrets = {"imagePullSecrets": [{"name": "login"}]}
    assert said(own_yard, job("plain", image, **secrets)) == "trained by 1234:2345 in /code with defaults\n"
    assert said(own_yard, job("args", image, container={"args": ["mine"]}, **secrets)) == \
        "trained by 1234:2345 in /code with mine\n", "args follow the image's own entrypoint"
    account = own_yard.request("GET", f"{NAMESPACE}/serviceaccounts/default").json
    account["imagePullSecrets"] = [{"name": "login"}]
    assert own_yard.request("PUT", f"{NAMESPACE}/serviceaccounts/default", account).status == 200
    other = private.push("team/other", "1", busybox_image({"word": "by its account"}))
    assert said(own_yard, job("account", other, container={"command": ["cat", "/word"]})) == "by its account"
    private.stop()
    assert said(own_yard, job("offline", other, container={"command": ["cat", "/word"]})) == "by its account"


def test_a_wrong_password_is_said_with_its_mend_and_never_shown(own_yard, private):
    image = private.push("team/train", "1", busybox_image())
    up_with(own_yard, private)
    own_yard.create(f"{NAMESPACE}/secrets", secret_of(private, "wrong", "me", "hush-wrong"))
    own_yard.create("/apis/batch/v1/namespaces/default/jobs",
                    job("refused", image, container={"command": ["true"]}, imagePullSecrets=[{"name": "wrong"}]))

    def waiting(reason):
        found = [pod["status"].get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
                 for pod in pods_of(own_yard, "job-name=refused")]
        return found[0]["message"] if found and found[0].get("reason") == reason else None
    first = eventually(lambda: waiting("ErrImagePull"), about="ErrImagePull")
    assert "401" in first and "authentication required" in first and "which is not accepted" in first
    assert "ErrImagePull: " + first in eventually(lambda: waiting("ImagePullBackOff"), about="ImagePullBackOff")
    why = own_yard.command("why", "job/refused", expect=None).out
    assert "authentication required" in why and f"podman login {private.name}" in why
    events = own_yard.request("GET", f"{NAMESPACE}/events").text
    assert "Error: ErrImagePull" in events
    with open(os.path.join(own_yard.state, "server.log"), encoding="utf-8") as stream:
        assert "hush" not in first + why + events + stream.read()


def test_a_pytorchjob_from_an_image_of_a_mirror(own_yard, registry):
    mirror = registry()
    mirror.push("team/ddp", "1", busybox_image({"rank.sh": 'echo "rank $RANK of $WORLD_SIZE by $MASTER_ADDR"\n'},
                                               Entrypoint=["sh", "/rank.sh"]))
    up_with(own_yard, mirror, entries={"models.invalid": {"mirrors": [mirror.name]}})
    replica = {"restartPolicy": "Never", "template": {"spec": {"containers": [
        {"name": "pytorch", "image": "models.invalid/team/ddp:1"}]}}}
    jobs = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
    own_yard.create(jobs, {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "ddp"}, "spec": {
        "pytorchReplicaSpecs": {"Master": {"replicas": 1, **replica}, "Worker": {"replicas": 2, **replica}}}})
    eventually(lambda: any(each["type"] == "Succeeded" and each["status"] == "True" for each in
                           own_yard.request("GET", f"{jobs}/ddp").json.get("status", {}).get("conditions", [])),
               about="the PyTorchJob succeeded")
    # The job has succeeded when its master has; its workers may still be at it.
    eventually(lambda: sorted(log_of(own_yard, pod).split(" by ")[0] for pod in
                              pods_of(own_yard, "training.kubeflow.org/job-name=ddp")) ==
               ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"], about="every rank spoke")
