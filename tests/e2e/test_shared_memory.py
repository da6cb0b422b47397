"""Pods of one training job have one /dev/shm and one ipc namespace; other pods do not."""
import os

import pytest

from harness import Kubectl, eventually, newest_kubectl

# Says what it sees, then stays until it is deleted.
RANK = r"""
echo "ipc $(readlink /proc/self/ns/ipc)"; echo "id $NCCL_HOSTID"
echo "size $(df --output=size -k /dev/shm | tail -1)"
touch "/dev/shm/$HOSTNAME"
trap 'exit 143' TERM
while true; do sleep 0.05; done
"""


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def training_job(name, workers, **annotations):
    def replicas(count):
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "pytorch", "image": "busybox", "command": ["sh", "-c", RANK]}]}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "annotations": annotations},
            "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(workers)}}}


def said(kubectl, pod):
    def facts():
        lines = kubectl("logs", pod, expect=None).out.splitlines()
        return dict(line.split(" ", 1) for line in lines) if len(lines) >= 3 else None
    return eventually(facts, 20, f"{pod} has said what it sees")


def files(kubectl, pod):
    return sorted(kubectl("exec", pod, "--", "ls", "/dev/shm").out.split())


def test_pods_of_a_job_share_memory(yard, kubectl):
    kubectl("create", "-f", "-", stdin=[training_job("one", 2), training_job("two", 1),
                                        training_job("apart", 1, **{"trainyard.dev/share-memory": "false"})])
    one, two, apart = (["one-master-0", "one-worker-0", "one-worker-1"], ["two-master-0", "two-worker-0"],
                       ["apart-master-0", "apart-worker-0"])
    facts = {pod: said(kubectl, pod) for pod in one + two + apart}
    for job in (one, two):
        assert len({facts[pod]["ipc"] for pod in job}) == 1 and len({facts[pod]["id"] for pod in job}) == 1
        for pod in job:
            eventually(lambda: files(kubectl, pod) == sorted(job), about=f"{pod} sees the files of its job alone")
    assert len({facts[pod]["ipc"] for pod in one[:1] + two[:1] + apart}) == 4
    for pod in apart:
        assert facts[pod]["id"] == "" and files(kubectl, pod) == [pod]
    memory_kb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
    assert abs(int(facts["one-master-0"]["size"]) - memory_kb // 2) < memory_kb // 10, "half of the memory"
    messages = kubectl("exec", "one-master-0", "--", "sh", "-c", "ipcmk -Q -p 0666 && ipcs -q | tail -n +4").out.split()
    assert messages[-2:] == kubectl("exec", "one-worker-0", "--", "sh", "-c", "ipcs -q | tail -n +4").out.split()[-2:]

    # The one who made it goes first; the memory stays for the others, also over a restart of the server.
    kubectl("delete", "pod", "one-master-0")
    yard.command("restart")
    eventually(lambda: kubectl("get", "pod", "one-master-0", expect=None).code == 0, 20, "a new master")
    eventually(lambda: said(kubectl, "one-master-0")["ipc"] == facts["one-worker-0"]["ipc"], 20, "the new master joins the others")
    assert files(kubectl, "one-master-0") == sorted(one)

    assert len(os.listdir(os.path.join(yard.state, "shared"))) == 2
    kubectl("delete", "pytorchjobs", "--all")
    eventually(lambda: kubectl.json("get", "pods")["items"] == [])
    eventually(lambda: os.listdir(os.path.join(yard.state, "shared")) == [], about="nothing of the jobs is left")
