"""`trainyard backup` and `up --restore`: the whole cluster in one file, and what clients see after."""
import os
import stat

import pytest

from harness import Api, Kubectl, Yard, eventually, newest_kubectl
from objects import config_map
from pods import running, shell


@pytest.fixture
def second_yard(tmp_path_factory):
    yard = Yard(tmp_path_factory.mktemp("second"))
    yield yard
    yard.end()


def kubectl_of(yard):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, "default")


def running_pod(kubectl):
    """The uid of the job's running pod."""
    pods = kubectl.json("get", "pods", "-l", "training.kubeflow.org/job-name=work")["items"]
    return next((pod["metadata"]["uid"] for pod in pods if pod["status"]["phase"] == "Running"), None)


def test_a_cluster_moves_to_another_folder(own_yard, second_yard):
    own_yard.up()
    kubectl = kubectl_of(own_yard)
    kubectl("apply", "-f", "-", stdin=config_map("before"))
    kubectl("create", "serviceaccount", "robot")
    token = own_yard.request("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": {}})
    token = token.json["status"]["token"]
    template = {"spec": shell("x", "sleep 600", terminationGracePeriodSeconds=0, container={"name": "pytorch"})["spec"]}
    template["spec"].pop("restartPolicy")
    kubectl("apply", "-f", "-", stdin={
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "work"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template}}}})
    worker = eventually(lambda: running_pod(kubectl))
    kubectl("apply", "-f", "-", stdin=shell("alone", "sleep 600", terminationGracePeriodSeconds=0))
    running(kubectl, "alone")
    before = kubectl.json("get", "configmap", "before")["metadata"]

    file = os.path.join(own_yard.folder, "today.yard")
    said = own_yard.command("backup", file).out
    assert "objects to" in said, said
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    refused = own_yard.command("backup", file, expect=1).err
    assert "is there already" in refused and "--force" in refused, refused
    own_yard.command("backup", "--force", file)

    # What comes after the backup is lost, and whoever has seen it is told so.
    kubectl("apply", "-f", "-", stdin=config_map("after"))
    seen = int(own_yard.request("GET", "/api/v1/configmaps?limit=1").json["metadata"]["resourceVersion"])
    refused = own_yard.command("up", "--restore", file, expect=1).err
    assert "already up" in refused, refused
    old_kubeconfig = own_yard.kubeconfig
    own_yard.down()

    second_yard.up("--restore", file)
    restored = kubectl_of(second_yard)
    assert restored.json("get", "configmap", "before")["metadata"] == before
    assert "NotFound" in restored("get", "configmap", "after", expect=1).err
    answer = second_yard.request("GET", f"/api/v1/configmaps?watch=1&resourceVersion={seen}")
    assert answer.status == 410 or '"code":410' in answer.text, answer.text
    now = int(second_yard.request("GET", "/api/v1/configmaps?limit=1").json["metadata"]["resourceVersion"])
    assert now > seen
    # Its processes stayed behind: the job, for which this is no failure, makes another pod.
    eventually(lambda: running_pod(restored) not in (None, worker))
    conditions = {one["type"]: one["status"] for one in restored.json("get", "pytorchjob", "work")["status"]["conditions"]}
    assert "Failed" not in conditions, conditions
    lost = restored.json("get", "pod", "alone")["status"]
    assert (lost["phase"], lost["reason"]) == ("Failed", "NodeLost"), lost
    # Kubeconfigs and tokens that were handed out are good: keys and port have come along.
    with open(old_kubeconfig, encoding="utf-8") as old, open(second_yard.kubeconfig, encoding="utf-8") as new:
        assert old.read() == new.read()
    api = Api(old_kubeconfig, own_yard.folder, credentials=False)
    review = api.request("GET", "/api", headers={"Authorization": f"Bearer {token}"})
    api.close()
    assert review.status == 200, review.text
    # A second backup of what was restored, by a server that is down.
    second_yard.down()
    second_yard.command("backup", os.path.join(second_yard.folder, "again.yard"))
    refused = second_yard.command("up", "--restore", file, expect=1).err
    assert "is not empty" in refused, refused


def test_a_file_that_is_no_backup_is_refused(own_yard):
    own_yard.up()
    file = os.path.join(own_yard.folder, "file.yard")
    own_yard.command("backup", file)
    own_yard.down()
    with open(file, "rb") as stream:
        whole = stream.read()
    other = os.path.join(own_yard.folder, "other")
    for data, sentence in ((b"Dear reader\n", "no backup of Trainyard"), (whole[:len(whole) // 2], "is damaged"),
                           (whole[:60] + b"\0\0\0\x09" + whole[64:], "newer Trainyard")):
        with open(file, "wb") as stream:
            stream.write(data)
        refused = own_yard.command("up", "--state", other, "--restore", file, expect=1).err
        assert sentence in refused and "nothing was restored" in refused, refused
        assert not os.path.exists(os.path.join(other, "store.db"))
