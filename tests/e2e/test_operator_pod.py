"""The newcomer's check: the operator is a pod of namespace kubeflow that shows the server itself."""
import os
import time

from harness import Kubectl, eventually, newest_kubectl


def kubectl_of(yard):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, "kubeflow")


def operator_pod(kubectl):
    """The one pod of the namespace, once it runs."""
    def look():
        pods = kubectl.json("get", "pods")["items"]
        return pods[0] if len(pods) == 1 and pods[0].get("status", {}).get("phase") == "Running" else None
    return eventually(look, about="the operator's pod")


def restarts(pod):
    return pod["status"]["containerStatuses"][0]["restartCount"]


def test_a_newcomers_check(kubectl, yard):
    mine = Kubectl(kubectl.path, kubectl.minor, yard, "kubeflow")
    operator_pod(mine)
    rows = mine("get", "pods").rows
    assert len(rows) == 2 and rows[1][0].startswith("training-operator-"), rows
    assert rows[1][1:4] == ["1/1", "Running", "0"], rows
    kinds = [row[0] for row in mine("get", "crd").rows if "kubeflow" in row[0]]
    for plural in ("pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mxjobs", "mpijobs"):
        assert f"{plural}.kubeflow.org" in kinds


def test_its_log_is_the_servers(yard, namespace):
    kubectl = kubectl_of(yard)
    name = operator_pod(kubectl)["metadata"]["name"]
    said = kubectl("logs", name).out
    assert "the control plane answers at" in said
    with open(os.path.join(yard.state, "server.log"), encoding="utf-8") as stream:
        assert said.splitlines()[0] == stream.readline().rstrip("\n")
    assert len(kubectl("logs", name, "--tail=1").out.splitlines()) == 1
    # What the controllers do next is heard by whoever follows.
    with kubectl.stream("logs", "-f", "--tail=1", name) as stream:
        assert stream.line()  # it follows by now
        other = Kubectl(kubectl.path, kubectl.minor, yard, namespace)
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "heard"}, "spec": {
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {
                "containers": [{"name": "pytorch", "image": "busybox", "command": ["true"]}]}}}}}}
        other("apply", "-f", "-", stdin=job)
        eventually(lambda: f"PyTorchJob {namespace}/heard: PyTorchJob heard is successfully completed."
                   in (stream.line() or ""), 20, "the end of the job in the log")


def test_deleting_it_brings_it_back(yard):
    kubectl = kubectl_of(yard)
    before = operator_pod(kubectl)
    pid = yard.pid
    kubectl("delete", "pod", before["metadata"]["name"])
    after = eventually(lambda: next((pod for pod in kubectl.json("get", "pods")["items"]
                                     if pod["metadata"]["uid"] != before["metadata"]["uid"]
                                     and pod.get("status", {}).get("phase") == "Running"), None))
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"], "nothing was started"
    assert yard.pid == pid


def test_nobody_touches_it(yard):
    kubectl = kubectl_of(yard)
    pod = operator_pod(kubectl)
    kubectl("create", "quota", "none", "--hard=pods=0,count/pods=0,requests.cpu=1")
    kubectl("delete", "pod", pod["metadata"]["name"])
    pod = eventually(lambda: operator_pod(kubectl) if operator_pod(kubectl)["metadata"]["uid"] != pod["metadata"]["uid"]
                     else None, about="back in spite of the quota")
    status = kubectl.json("get", "quota", "none")["status"]["used"]
    assert status["pods"] == "0" and status["count/pods"] == "0", status
    kubectl("delete", "quota", "none")
    node = pod["spec"]["nodeName"]
    kubectl("drain", node, "--ignore-daemonsets", "--force")
    try:
        assert operator_pod(kubectl)["metadata"]["uid"] == pod["metadata"]["uid"]
    finally:
        kubectl("uncordon", node)


def test_a_restart_is_a_restart(own_yard):
    own_yard.up()
    kubectl = kubectl_of(own_yard)
    first = operator_pod(kubectl)
    started = first["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    age = time.time() - time.mktime(time.strptime(started, "%Y-%m-%dT%H:%M:%SZ")) + time.timezone
    assert -2 <= age < 60, started
    own_yard.command("restart")
    second = eventually(lambda: operator_pod(kubectl) if restarts(operator_pod(kubectl)) == 1 else None)
    own_yard.kill()
    own_yard.up()
    third = eventually(lambda: operator_pod(kubectl) if restarts(operator_pod(kubectl)) == 2 else None)
    assert len({pod["metadata"]["uid"] for pod in (first, second, third)}) == 1
    assert second["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "Completed"
    assert third["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
    own_yard.down()
    own_yard.up()
    eventually(lambda: restarts(operator_pod(kubectl)) == 3)
    own_yard.down()
