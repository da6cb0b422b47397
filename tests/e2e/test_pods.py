"""Pods are processes of this machine: what kubectl shows of them, and what is left when they are gone."""
import glob
import json
import os
import subprocess
import time

import pytest

from harness import Api, Kubectl, newest_kubectl, eventually, processes_naming
from pods import end_state, finished, output, pod, run_folders, running, shell, status


@pytest.fixture
def one_kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def test_a_pod_runs_and_says_how_it_ended(kubectl):
    kubectl("apply", "-f", "-", stdin=[shell("good", "echo hello $WHO", container={"env": [{"name": "WHO", "value": "world"}]}),
                                       shell("bad", "echo no >&2; exit 3")])
    assert end_state(kubectl, "good")["exitCode"] == 0
    end = end_state(kubectl, "bad")
    assert (end["exitCode"], end["reason"]) == (3, "Error")
    assert kubectl("logs", "good").out == "hello world\n"
    assert kubectl("logs", "bad").out == "no\n"
    rows = {row[0]: row[2] for row in kubectl("get", "pods").rows[1:]}
    assert rows == {"good": "Completed", "bad": "Error"}
    described = kubectl("describe", "pod", "good").out
    for reason in ("Scheduled", "Pulled", "Created", "Started"):
        assert reason in described


def test_logs_follow_tail_previous(kubectl):
    kubectl("apply", "-f", "-", stdin=shell("talk", "for i in 1 2 3; do echo $i; sleep 0.3; done"))
    running(kubectl, "talk")
    with kubectl.stream("logs", "-f", "talk") as stream:
        assert [stream.line() for _ in range(3)] == ["1", "2", "3"]
        assert stream.process.wait(10) == 0, "logs -f ends with the container"
    assert kubectl("logs", "talk", "--tail=1").out == "3\n"
    assert kubectl("logs", "talk", "--limit-bytes=3").out == "1\n2"
    assert kubectl("logs", "talk", "--timestamps", "--tail=1").out.split()[1] == "3"
    refused = kubectl("logs", "talk", "--previous", expect=1)
    assert 'previous terminated container "c" in pod "talk" not found' in refused.err
    kubectl("apply", "-f", "-", stdin=shell("again", "echo run; exit 1", restartPolicy="OnFailure"))
    eventually(lambda: status(kubectl, "again")["containerStatuses"][0]["restartCount"] >= 1)
    assert kubectl("logs", "again", "--previous").out == "run\n"
    eventually(lambda: "CrashLoopBackOff" in kubectl("get", "pods").out)


def test_a_container_that_waits_has_no_log(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=pod("none"))
    eventually(lambda: status(one_kubectl, "none").get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
               .get("reason") == "CreateContainerError")
    assert 'container "c" in pod "none" is waiting to start: CreateContainerError' in one_kubectl("logs", "none", expect=1).err
    assert "names neither command nor args" in one_kubectl("describe", "pod", "none").out


def test_args_run_as_they_stand(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=pod("args", container={"args": ["python", "-c", "print(6*7)"]}))
    assert end_state(one_kubectl, "args")["exitCode"] == 0
    assert one_kubectl("logs", "args").out == "42\n"


def test_a_command_that_is_not_there(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=pod("lost", "no-such-program"))
    end = end_state(one_kubectl, "lost")
    assert (end["exitCode"], end["reason"]) == (128, "StartError")
    assert "executable file not found in $PATH" in end["message"]


def test_init_containers_come_first(one_kubectl):
    both = [{"name": "work", "emptyDir": {}}]
    mount = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    one_kubectl("apply", "-f", "-", stdin=shell(
        "ordered", "cat /work/order", container=mount, volumes=both,
        initContainers=[{"name": n, "image": "x", "command": ["sh", "-c", f"echo {n} >> /work/order"], **mount} for n in ("a", "b")]))
    finished(one_kubectl, "ordered")
    assert one_kubectl("logs", "ordered", "-c", "c").out == "a\nb\n"


def test_volumes(yard, one_kubectl, tmp_path):
    one_kubectl("create", "configmap", "settings", "--from-literal=rate=0.1")
    one_kubectl("create", "secret", "generic", "hidden", "--from-literal=key=s3cret")
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "hidden", "secret": {"secretName": "hidden"}},
               {"name": "host", "hostPath": {"path": str(tmp_path)}}, {"name": "memory", "emptyDir": {"medium": "Memory"}},
               {"name": "about", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
    mounts = [{"name": "settings", "mountPath": "/etc/settings"}, {"name": "hidden", "mountPath": "/hidden", "readOnly": True},
              {"name": "host", "mountPath": "/result", "subPath": "deep/er"}, {"name": "memory", "mountPath": "/cache"},
              {"name": "about", "mountPath": "/about"}]
    script = ("cat /etc/settings/rate /hidden/key /about/name; echo; stat -f -c %T /cache; echo kept > /result/file; "
              "touch /hidden/x 2>/dev/null || echo read-only; cat /var/run/secrets/kubernetes.io/serviceaccount/namespace")
    said = output(one_kubectl, shell("mounted", script, container={"volumeMounts": mounts}, volumes=volumes))
    assert said == f"0.1s3cretmounted\ntmpfs\nread-only\n{one_kubectl.namespace}"
    assert (tmp_path / "deep" / "er" / "file").read_text() == "kept\n"


def test_a_missing_config_map_is_told(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=shell("waits", "cat /m/k", container={"volumeMounts": [{"name": "m", "mountPath": "/m"}]},
                                                volumes=[{"name": "m", "configMap": {"name": "later"}}]))
    eventually(lambda: 'configmap "later" not found' in one_kubectl("describe", "pod", "waits").out)
    one_kubectl("create", "configmap", "later", "--from-literal=k=here")
    assert end_state(one_kubectl, "waits")["exitCode"] == 0
    assert one_kubectl("logs", "waits").out == "here"


def test_what_a_pod_sees_of_the_machine(one_kubectl):
    script = ("hostname; echo $$$$; ls -A /root /home | tr -d '\\n'; echo; touch /usr/x 2>/dev/null || echo no; "
              "echo ok > /tmp/x && cat /tmp/x; grep NoNewPrivs /proc/self/status | tr -d '\\t'; echo bye > /dev/termination-log")
    one_kubectl("apply", "-f", "-", stdin=shell("seen", script))
    assert end_state(one_kubectl, "seen")["message"] == "bye\n"
    assert one_kubectl("logs", "seen").out == "seen\n1\n/home:/root:\nno\nok\nNoNewPrivs:1\n"


def test_out_of_memory_is_named(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=pod("hungry", "python3", "-c", "x = bytearray(10**9)",
                                              container={"resources": {"limits": {"memory": "64Mi"}}}))
    end = end_state(one_kubectl, "hungry")
    assert (end["reason"], end["exitCode"]) == ("OOMKilled", 137)


def test_deletion_ends_everything(yard, one_kubectl):
    # The first ignores SIGTERM; a grandchild has left its session.
    one_kubectl("apply", "-f", "-", stdin=shell("stubborn", "trap '' TERM; setsid sleep 4242 & while true; do sleep 0.1; done"))
    running(one_kubectl, "stubborn")
    uid = one_kubectl.json("get", "pod", "stubborn")["metadata"]["uid"]
    began = time.monotonic()
    one_kubectl("delete", "pod", "stubborn")
    assert 1.5 < time.monotonic() - began < 8, "SIGKILL comes after the grace"
    one_kubectl("get", "pod", "stubborn", expect=1)
    eventually(lambda: uid not in run_folders(yard))
    assert subprocess.run(["pgrep", "-f", "^sleep 4242"], capture_output=True).returncode == 1
    assert glob.glob(f"/sys/fs/cgroup/**/{uid}*", recursive=True) == []


def test_unschedulable_says_why(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=shell("big", "true", container={"resources": {"requests": {"cpu": "512"}}}))
    message = eventually(lambda: [c["message"] for c in status(one_kubectl, "big").get("conditions", []) if c["status"] == "False"])
    assert message[0].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert "cpu: 512 asked" in message[0]
    assert "FailedScheduling" in one_kubectl("describe", "pod", "big").out


def test_capacity_and_labels_of_the_node(own_yard):
    refused = own_yard.command("up", "--capacity", "cpu=many", expect=None)
    assert refused.code != 0 and "--capacity cpu=many is not of the form" in refused.err
    own_yard.up("--capacity", "cpu=6,memory=16Gi", "--node-label", "disk=ssd", "--fake-gpus", "2")
    node = own_yard.request("GET", "/api/v1/nodes").json["items"][0]
    assert node["metadata"]["labels"]["disk"] == "ssd"
    assert {"cpu": "6", "memory": "16Gi", "nvidia.com/gpu": "2"}.items() <= node["status"]["allocatable"].items()
    own_yard.down()


def test_a_job_runs_to_its_end(one_kubectl):
    template = shell("", "echo index $JOB_COMPLETION_INDEX; test -e /work/x || touch /work/x")["spec"]
    template["containers"][0]["volumeMounts"] = [{"name": "w", "mountPath": "/work"}]
    template["volumes"] = [{"name": "w", "emptyDir": {}}]
    one_kubectl("apply", "-f", "-", stdin={
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "all"},
        "spec": {"completions": 3, "parallelism": 2, "completionMode": "Indexed", "template": {"spec": template}}})
    done = eventually(lambda: (lambda s: s if s.get("completionTime") else None)(one_kubectl.json("get", "job", "all")["status"]), 30)
    assert (done["succeeded"], done["completedIndexes"]) == (3, "0-2")
    assert sorted(one_kubectl("logs", "-l", "job-name=all").out.split("\n"))[1:] == ["index 0", "index 1", "index 2"]


def test_gpus_are_given_to_one_pod_each(own_yard):
    own_yard.up("--fake-gpus", "3")
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, "default")

    def asking(name, count, script="echo $CUDA_VISIBLE_DEVICES; while true; do sleep 0.1; done", **container):
        limits = {"resources": {"limits": {"nvidia.com/gpu": count}}} if count else {}
        return shell(name, script, container={**limits, **container})
    kubectl("apply", "-f", "-", stdin=[asking("two", 2), asking("one", 1), asking("none", 0)])
    for name in ("two", "one", "none"):
        running(kubectl, name)
    lines = {name: eventually(lambda name=name: kubectl("logs", name).out) for name in ("two", "one", "none")}
    assert sorted((lines["two"].strip() + "," + lines["one"].strip()).split(",")) == ["0", "1", "2"]
    assert lines["none"] == "\n", "a pod that asks for none sees none"
    kubectl("apply", "-f", "-", stdin=asking("late", 1, "echo got $CUDA_VISIBLE_DEVICES"))
    eventually(lambda: "nvidia.com/gpu" in kubectl("describe", "pod", "late").out and status(kubectl, "late")["phase"] == "Pending")
    own_yard.kill()
    own_yard.up("--fake-gpus", "3")
    kubectl("delete", "pod", "one", "--grace-period=0", "--force")
    assert end_state(kubectl, "late")["exitCode"] == 0
    assert kubectl("logs", "late").out == "got " + lines["one"]
    own_yard.down()


def test_active_deadline(one_kubectl):
    one_kubectl("apply", "-f", "-", stdin=pod("late", "sleep", "100", activeDeadlineSeconds=1, terminationGracePeriodSeconds=1))
    end = finished(one_kubectl, "late")
    assert (end["phase"], end["reason"]) == ("Failed", "DeadlineExceeded")


def test_kill_9_of_the_server_loses_nothing(own_yard):
    own_yard.up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, "default")
    kubectl("apply", "-f", "-", stdin=[shell("counts", "i=0; while [ $i -lt 30 ]; do echo $i; i=$((i+1)); sleep 0.05; done; exit 7"),
                                       shell("stays", "while true; do sleep 0.1; done")])
    running(kubectl, "stays")
    before = status(kubectl, "stays")["containerStatuses"][0]["containerID"]
    for _ in range(3):
        own_yard.kill()
        own_yard.up()
    end = end_state(kubectl, "counts")
    assert end["exitCode"] == 7
    assert kubectl("logs", "counts").out == "".join(f"{i}\n" for i in range(30))
    after = status(kubectl, "stays")["containerStatuses"][0]
    assert (after["containerID"], after["restartCount"]) == (before, 0)
    # Deleted while no server runs: the next one ends what is left of it.
    own_yard.command("down", "--keep-pods")
    assert processes_naming(own_yard.state), "--keep-pods leaves pods running"
    own_yard.up()
    kubectl("delete", "pod", "stays", "--grace-period=0", "--force")
    own_yard.down()
    assert own_yard.leftovers() == []
    mounts = open("/proc/self/mounts", encoding="utf-8").read()
    assert own_yard.state not in mounts


def test_kill_9_of_a_shim_fails_its_pod(own_yard):
    own_yard.up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, "default")
    kubectl("apply", "-f", "-", stdin=shell("orphan", "while true; do sleep 0.1; done"))
    running(kubectl, "orphan")
    for pid in processes_naming(os.path.join(own_yard.state, "run")):
        os.kill(pid, 9)
    end = end_state(kubectl, "orphan")
    assert (end["reason"], end["exitCode"]) == ("ContainerStatusUnknown", 137)
    own_yard.down()
    assert own_yard.leftovers() == []


def test_up_returns_when_there_is_a_node(own_yard):
    """So the first pod of a script finds one: nothing is waited for here."""
    own_yard.command("up")
    nodes = own_yard.request("GET", "/api/v1/nodes").json["items"]
    conditions = {c["type"]: c["status"] for c in nodes[0]["status"]["conditions"]}
    assert len(nodes) == 1 and conditions["Ready"] == "True" and not nodes[0]["spec"].get("taints")
