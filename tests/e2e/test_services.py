"""Services, storage, quotas: what the controllers around them make of what a user writes."""
import os

import pytest

from harness import Kubectl, eventually, newest_kubectl

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


@pytest.fixture
def one_kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def job(name, script, read_only=False):
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": read_only}}
    one = {"name": "c", "image": "busybox", "command": ["sh", "-c", script], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [one], "volumes": [volume]}}}}


def complete(kubectl, name):
    return eventually(lambda: kubectl.json("get", "job", name).get("status", {}).get("succeeded") == 1, about=f"{name} done")


def folders(yard):
    path = os.path.join(yard.state, "volumes")
    return set(os.listdir(path)) if os.path.isdir(path) else set()


def test_what_one_job_writes_the_next_reads_and_a_delete_takes_along(yard, one_kubectl):
    kubectl, before = one_kubectl, folders(yard)
    # The Job comes first, as `kubectl apply -f folder` may have it: it waits for its claim.
    kubectl("apply", "-f", "-", stdin=[job("write", "echo kept > /data/file"), CLAIM])
    complete(kubectl, "write")
    kubectl("apply", "-f", "-", stdin=[job("read", "cat /data/file; touch /data/no || echo read-only", read_only=True)])
    complete(kubectl, "read")
    text = kubectl("logs", "job/read").out
    assert text.startswith("kept\n"), text
    assert "read-only" in text, text
    row = kubectl("get", "pvc").rows[1]
    assert row[1] == "Bound" and "trainyard-local" in row, row
    made = folders(yard) - before
    assert len(made) == 1
    assert os.stat(os.path.join(yard.state, "volumes")).st_mode & 0o777 == 0o700
    kubectl("delete", "job", "write", "read")
    kubectl("delete", "pvc", "data")
    eventually(lambda: not (folders(yard) & made), about="the folder is gone")
    eventually(lambda: not kubectl("get", "pv", "-o", "name").out.count(made.copy().pop()), about="the volume is gone")


def test_a_pod_waits_for_a_claim_and_says_so(one_kubectl):
    kubectl = one_kubectl
    claim = {**CLAIM, "spec": {**CLAIM["spec"], "storageClassName": "gp2"}}
    kubectl("apply", "-f", "-", stdin=[claim, job("waits", "true")])
    events = lambda: kubectl("get", "events", "-o", "custom-columns=M:.message", "--no-headers").out
    eventually(lambda: 'storageclass.storage.k8s.io "gp2" not found' in events(), about="the class is missed")
    eventually(lambda: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims." in events(), about="the pod says why")


def test_a_service_has_endpoints_while_its_pods_run(yard, one_kubectl, namespace):
    kubectl = one_kubectl
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
           "spec": {"terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "100"],
                                    "ports": [{"name": "http", "containerPort": 8080}]}]}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}}
    kubectl("apply", "-f", "-", stdin=[service, pod])

    def slices():
        path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io/service-name=web"
        return yard.request("GET", path).json["items"]

    def ready():
        return [each for one in slices() for each in one["endpoints"] or [] if each["conditions"]["ready"]]
    eventually(ready, about="the pod is behind the service")
    assert slices()[0]["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    assert ready()[0]["targetRef"]["name"] == "web"
    kubectl("delete", "pod", "web")
    eventually(lambda: not ready(), about="the pod is gone from the service")
    kubectl("delete", "service", "web")
    eventually(lambda: not slices(), about="the slices go with the service")


def test_a_quota_is_a_wall(yard, one_kubectl, namespace):
    kubectl = one_kubectl
    kubectl("create", "quota", "q", "--hard=configmaps=3")
    # kube-root-ca.crt is one of them.
    eventually(lambda: kubectl.json("get", "quota", "q").get("status", {}).get("used") == {"configmaps": "1"}, about="counted")
    kubectl("create", "configmap", "a")
    kubectl("create", "configmap", "b")
    refused = kubectl("create", "configmap", "c", expect=1)
    assert ('configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=3, limited: configmaps=3'
            in refused.err), refused.err
    eventually(lambda: kubectl.json("get", "quota", "q")["status"]["used"] == {"configmaps": "3"}, about="counted")
