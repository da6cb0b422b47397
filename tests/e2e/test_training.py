"""Training jobs of Kubeflow's kinds as real processes: what kubectl shows of them, and what a lost rank does."""
import copy
import json
import os
import signal
import subprocess

import pytest

from harness import PATIENCE_S, ROOT, Kubectl, eventually, newest_kubectl


@pytest.fixture
def one_kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def job(kind, name, replicas, container, script, policy=None, metadata=None, version="v1", **spec):
    """replicas: {type: (count, restartPolicy)}; every replica runs the shell script."""
    template = {"spec": {"terminationGracePeriodSeconds": 1, "containers": [
        {"name": container, "image": "busybox", "command": ["sh", "-c", script]}]}}
    field = {"PyTorchJob": "pytorch", "TFJob": "tf", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax",
             "MXJob": "mx", "MPIJob": "mpi"}[kind] + "ReplicaSpecs"
    return {"apiVersion": f"kubeflow.org/{version}", "kind": kind, "metadata": {"name": name, **(metadata or {})},
            "spec": {**({"runPolicy": policy} if policy else {}), **spec,
                     field: {kind_: {"replicas": count, "restartPolicy": restart, "template": copy.deepcopy(template)}
                             for kind_, (count, restart) in replicas.items()}}}


def states(kubectl, kind, name):
    conditions = kubectl.json("get", kind, name)["status"].get("conditions", [])
    return [c["type"] for c in conditions if c["status"] == "True"]


def reaches(kubectl, kind, name, state, deadline_s=PATIENCE_S):
    return eventually(lambda: state in states(kubectl, kind, name), deadline_s, f"{kind} {name} {state}")


def main_pid(mark):
    """The shell of a pod's script, found by the mark in its environment."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                line = stream.read()
            with open(f"/proc/{pid}/environ", "rb") as stream:
                environment = stream.read().split(b"\0")
        except OSError:
            continue
        if line.startswith(b"sh\0-c\0") and f"POD_MARK={mark}".encode() in environment:
            return int(pid)
    return None


def test_the_kinds_are_there_as_definitions(kubectl):
    rows = kubectl("get", "crd").out
    for plural in ("pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mxjobs", "mpijobs"):
        assert f"{plural}.kubeflow.org" in rows
    kubectl("wait", "--for=condition=Established", "crd/pytorchjobs.kubeflow.org", "--timeout=60s")


def test_a_pytorchjob_runs_and_succeeds(kubectl):
    script = 'echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"'
    kubectl("apply", "-f", "-", stdin=job("PyTorchJob", "env", {"Master": (1, "OnFailure"), "Worker": (2, "OnFailure")},
                                          "pytorch", script))
    kubectl("wait", "--for=condition=Succeeded", "pytorchjob/env", "--timeout=60s")
    assert kubectl("get", "pytorchjob", "env").rows[1][1] == "Succeeded"
    eventually(lambda: kubectl("logs", "env-worker-1").out == "2 of 3 at env-master-0:23456\n")
    assert kubectl("logs", "-l", "training.kubeflow.org/job-role=master").out == "0 of 3 at env-master-0:23456\n"


def test_bad_jobs_are_refused_at_the_door(kubectl):
    bad = job("PyTorchJob", "bad", {"Master": (2, "OnFailure")}, "wrong", "true")
    refused = kubectl("create", "-f", "-", stdin=bad, expect=1).err
    assert "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1" in refused
    assert "must have at least one container with name pytorch" in refused


@pytest.mark.parametrize("kind,replicas,container,more", [
    ("TFJob", {"Chief": (1, "Never"), "PS": (1, "Never"), "Worker": (1, "Never")}, "tensorflow", {}),
    ("XGBoostJob", {"Master": (1, "Never"), "Worker": (2, "ExitCode")}, "xgboost", {}),
    ("PaddleJob", {"Worker": (2, "OnFailure")}, "paddle", {}),
    ("JAXJob", {"Worker": (2, "OnFailure")}, "jax", {}),
    ("MXJob", {"Scheduler": (1, "Never"), "Server": (1, "Never"), "Worker": (1, "Never")}, "mxnet", {"jobMode": "MXTrain"}),
    ("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}, "mpi", {}),
])
def test_every_kind_runs_and_succeeds(one_kubectl, kind, replicas, container, more):
    one_kubectl("apply", "-f", "-", stdin=job(kind, "one", replicas, container, "sleep 0.2", **more))
    reaches(one_kubectl, kind.lower(), "one", "Succeeded")
    status = one_kubectl.json("get", kind.lower(), "one")["status"]
    assert "completionTime" in status
    assert sum(c["status"] == "True" and c["type"] in ("Succeeded", "Failed") for c in status["conditions"]) == 1


def test_a_tfjob_of_2019(one_kubectl):
    one_kubectl("create", "secret", "generic", "user", "--from-literal=token=s3cret")
    old = job("TFJob", "old", {"Master": (1, "Never"), "PS": (1, "Never"), "Worker": (1, "Never")}, "tensorflow",
              'case "$TF_CONFIG" in *\'"type":"ps"\'*) sleep 60;; esac; echo $KEY; cat /secret/token', version="v1beta1")
    del old["metadata"]["name"]
    old["metadata"]["generateName"] = "tutorial-"
    old["spec"]["cleanPodPolicy"] = "Running"
    for spec in old["spec"]["tfReplicaSpecs"].values():
        pod = spec["template"]["spec"]
        pod["volumes"] = [{"name": "secret", "secret": {"secretName": "user"}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "secret", "mountPath": "/secret"}]
        pod["containers"][0]["env"] = [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "user", "key": "token"}}}]
    made = one_kubectl("create", "-f", "-", "-o", "json", stdin=old)
    name = json.loads(made.out)["metadata"]["name"]
    reaches(one_kubectl, "tfjobs.v1beta1.kubeflow.org", name, "Succeeded")
    assert one_kubectl("logs", f"{name}-master-0").out == "s3cret\ns3cret"
    eventually(lambda: f"{name}-ps-0" not in one_kubectl("get", "pods").out, about="the server is cleaned up")
    assert one_kubectl.json("get", "tfjob", name)["apiVersion"] == "kubeflow.org/v1"


@pytest.mark.parametrize("restart,state,restarts", [
    ("Never", "Failed", 0), ("ExitCode", "Succeeded", 1), ("OnFailure", "Succeeded", 0), ("Always", "Succeeded", 0)])
def test_a_rank_that_is_killed(yard, one_kubectl, restart, state, restarts):
    """The worker's second life ends well; whether it has one is the policy's business."""
    script = ('if [ "$RANK" = 0 ]; then while [ ! -e /tmp/yard-done ]; do [ -e "$MARK/ok" ] && exit 0; sleep 0.05; done; fi; '
              'if [ -e "$MARK/life" ]; then touch "$MARK/ok"; sleep 1; exit 0; fi; touch "$MARK/life"; sleep 300')
    folder = os.path.join(yard.folder, f"mark-{restart}")
    os.makedirs(folder)
    os.chmod(folder, 0o777)
    made = job("PyTorchJob", "kill", {"Master": (1, "OnFailure"), "Worker": (1, restart)}, "pytorch", script,
               policy={"cleanPodPolicy": "Running"})
    for kind, spec in made["spec"]["pytorchReplicaSpecs"].items():
        pod = spec["template"]["spec"]
        pod["volumes"] = [{"name": "mark", "hostPath": {"path": folder}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "mark", "mountPath": "/mark"}]
        pod["containers"][0]["env"] = [{"name": "MARK", "value": "/mark"}, {"name": "POD_MARK", "value": f"{folder}-{kind}"}]
    one_kubectl("apply", "-f", "-", stdin=made)
    reaches(one_kubectl, "pytorchjob", "kill", "Running")
    eventually(lambda: os.path.exists(os.path.join(folder, "life")), about="the worker lives")
    os.kill(eventually(lambda: main_pid(f"{folder}-Worker")), signal.SIGKILL)
    reaches(one_kubectl, "pytorchjob", "kill", state)
    status = one_kubectl.json("get", "pytorchjob", "kill")["status"]
    assert status.get("restarts", 0) == restarts
    if state == "Failed":
        message = status["conditions"][-1]["message"]
        assert message.startswith("PyTorchJob kill is failed because 1 Worker replica(s) failed.; first failure: pod "
                                  "kill-worker-0 container pytorch exit 137"), message


def test_suspend_resume_and_scale(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=job("PyTorchJob", "held", {"Worker": (1, "OnFailure")}, "pytorch", "sleep 300",
                                              policy={"suspend": True}))
    reaches(one_kubectl, "pytorchjob", "held", "Suspended")
    assert one_kubectl("get", "pods").rows[1:] == []
    one_kubectl("patch", "pytorchjob", "held", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":false}}}')
    reaches(one_kubectl, "pytorchjob", "held", "Running")
    one_kubectl("scale", "pytorchjob", "held", "--replicas=2")
    eventually(lambda: len(one_kubectl("get", "pods").rows) == 3, about="two workers")
    one_kubectl("patch", "pytorchjob", "held", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}')
    eventually(lambda: one_kubectl("get", "pods").rows[1:] == [], about="no pods")
    one_kubectl("delete", "pytorchjob", "held")


def test_a_job_lives_on_over_a_crash_of_the_server(own_yard):
    own_yard.up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, own_yard.new_namespace())
    kubectl("apply", "-f", "-", stdin=job("JAXJob", "long", {"Worker": (2, "ExitCode")}, "jax", "sleep 3"))
    reaches(kubectl, "jaxjob", "long", "Running")
    own_yard.kill()
    own_yard.up()
    reaches(kubectl, "jaxjob", "long", "Succeeded")
    assert kubectl.json("get", "jaxjob", "long")["status"].get("restarts", 0) == 0
    own_yard.down()


def test_foreign_definitions_go_over_ours(one_kubectl, yard):
    """Upstream's own manifest of a definition, in its shape, twice: no conflict, and the kind goes on working."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "jaxjobs.kubeflow.org", "annotations": {"controller-gen.kubebuilder.io/version": "v0.14.0"}},
        "spec": {"group": "kubeflow.org", "scope": "Namespaced",
                 "names": {"kind": "JAXJob", "listKind": "JAXJobList", "plural": "jaxjobs", "singular": "jaxjob"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                                   "spec": {"type": "object", "properties": {"runPolicy": {"type": "object"}}}}}}}]}}
    for _ in range(2):
        applied = one_kubectl("apply", "--server-side", "-f", "-", stdin=definition)
    assert "is built into this server" in applied.err
    one_kubectl("apply", "-f", "-", stdin=job("JAXJob", "after", {"Worker": (1, "Never")}, "jax", "true"))
    reaches(one_kubectl, "jaxjob", "after", "Succeeded")


@pytest.mark.parametrize("example", ["tfjob-ps.yaml", "jaxjob.yaml", "xgboostjob.yaml", "paddlejob.yaml", "mxjob.yaml",
                                     "mpijob.yaml", "mpijob-v2beta1.yaml"])
def test_examples_run(yard, namespace, example):
    """As they are, with the one command; those of torch have tests of their own below."""
    if example.startswith("mpi") and not os.path.exists("/usr/bin/mpirun"):
        pytest.skip("LOUD: /usr/bin has no mpirun, the example of MPIJob is untried (tools/setup test)")
    run = yard.command("run", os.path.join(ROOT, "examples", example), "-n", namespace, expect=0)
    assert " succeeded after " in run.err, run.err


def need_torch():
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        pytest.skip("LOUD: python3-torch is not installed, real DDP is untried (tools/setup)")


def test_torchrun_finds_its_workers(yard, namespace, one_kubectl):
    """The elastic example: torchrun's own rendezvous at the first worker, and one sum over both."""
    need_torch()
    yard.command("run", os.path.join(ROOT, "examples/pytorchjob-elastic.yaml"), "-n", namespace, expect=0)
    said = "".join(one_kubectl("logs", f"elastic-worker-{index}").out for index in (0, 1))
    assert "rank 0 of 2" in said and "rank 1 of 2" in said, said


def test_a_worker_waits_for_its_masters_port(one_kubectl):
    """The master listens only when the worker has begun and asks for it: that first connect waits in the kernel."""
    began = "/dev/shm/began"  # the pods of a job share that folder
    # The sleeps are the pod's: they make the port late.
    late = f"while not os.path.exists({began!r}): time.sleep(0.02)\ntime.sleep(0.3)"
    serve = f"import os, socket, time\n{late}\ns = socket.create_server(('', 23456)); s.accept(); s.accept()"
    connect = (f"import os, socket; open({began!r}, 'w').close()\n"
               "socket.create_connection((os.environ['MASTER_ADDR'], 23456), 5); print('at the first try')")
    waits = job("PyTorchJob", "gate", {"Master": (1, "Never"), "Worker": (1, "Never")}, "pytorch", "")
    for replica, program in (("Master", serve), ("Worker", connect)):
        container = waits["spec"]["pytorchReplicaSpecs"][replica]["template"]["spec"]["containers"][0]
        container["command"] = ["/usr/bin/python3", "-u", "-c", program]
    one_kubectl("apply", "-f", "-", stdin=waits)
    reaches(one_kubectl, "pytorchjob", "gate", "Succeeded")
    eventually(lambda: "at the first try" in one_kubectl("logs", "gate-worker-0").out)
    pods = {pod["metadata"]["name"]: pod for pod in one_kubectl.json("get", "pods")["items"]}
    assert pods["gate-worker-0"]["status"]["containerStatuses"][0]["restartCount"] == 0
    one_kubectl("delete", "pytorchjob", "gate")


def test_ranks_share_the_cores(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=job("PyTorchJob", "threads", {"Worker": (2, "Never")}, "pytorch",
                                              "echo $OMP_NUM_THREADS threads $NCCL_HOSTID"))
    reaches(one_kubectl, "pytorchjob", "threads", "Succeeded")
    uid = one_kubectl.json("get", "pytorchjob", "threads")["metadata"]["uid"]
    for index in (0, 1):
        assert one_kubectl("logs", f"threads-worker-{index}").out == f"{max(1, os.cpu_count() // 2)} threads {uid}\n"


def test_ddp_with_a_master_and_a_worker(one_kubectl):
    """Real gloo DDP: the worker finds its master by the name it was told."""
    need_torch()
    one_kubectl("apply", "-f", os.path.join(ROOT, "examples/pytorchjob-ddp.yaml"))
    reaches(one_kubectl, "pytorchjob", "ddp", "Succeeded", 120)
    assert "epoch 10" in one_kubectl("logs", "ddp-master-0").out
    for pod in ("ddp-master-0", "ddp-worker-0"):
        eventually(lambda pod=pod: "all ranks hold the same weights" in one_kubectl("logs", pod).out)
    one_kubectl("delete", "pytorchjob", "ddp")
    eventually(lambda: one_kubectl("get", "pods,services").rows == [], about="what it owned is gone")
