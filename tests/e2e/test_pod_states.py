"""What kubectl shows of a pod in each of its states, and what probes, hooks and ends do to real processes."""
import glob
import json
import os
import shutil
import socket

import pytest

from harness import Kubectl, available_kubectls, eventually

KUBECTLS = available_kubectls()


def a_kubectl(yard, namespace):
    path, minor = KUBECTLS.get("path") or next(iter(KUBECTLS.values()))
    return Kubectl(path, minor, yard, namespace)


@pytest.fixture
def k(yard, namespace):
    return a_kubectl(yard, namespace)


def pod(name, script, container=None, **spec):
    one = {"name": "c", "image": "busybox", "command": ["sh", "-c", script], **(container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [one], **spec}}


FOREVER = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


def status(k, name):
    return k.json("get", "pod", name)["status"]


def row(k, name):
    """READY, STATUS and RESTARTS of the table."""
    for cells in k("get", "pods").rows[1:]:
        if cells[0] == name:
            return cells[1:4]
    return None


def shows(k, name, ready, state, restarts="0"):
    eventually(lambda: row(k, name) == [ready, state, restarts], about=f"{name} {ready} {state} {restarts}")


def events(k, name, reason):
    return [e["message"] for e in k.json("get", "events")["items"]
            if e["involvedObject"]["name"] == name and e["reason"] == reason]


def conditions(k, name):
    return {c["type"]: c["status"] for c in status(k, name).get("conditions", [])}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_pending(k):
    k("apply", "-f", "-", stdin=pod("waits", "true", nodeSelector={"disk": "none"}))
    shows(k, "waits", "0/1", "Pending")
    wide = k("get", "pod", "waits", "-o", "wide").rows
    assert wide[0][-4:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert wide[1][-4:] == ["<none>"] * 4
    assert "FailedScheduling" in k("describe", "pod", "waits").out


def test_init_containers_in_turn(k, tmp_path):
    def gate(name):
        return {"name": name, "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "command": ["sh", "-c", f"while ! test -e /v/{name}; do sleep 0.05; done"]}
    k("apply", "-f", "-", stdin=pod("first", FOREVER, volumes=[{"name": "v", "hostPath": {"path": str(tmp_path)}}],
                                    initContainers=[gate("a"), gate("b")]))
    shows(k, "first", "0/1", "Init:0/2")
    now = status(k, "first")
    assert now["initContainerStatuses"][1]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert now["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert [c["message"] for c in now["conditions"] if c["type"] == "Initialized"] == \
        ["containers with incomplete status: [a b]"]
    (tmp_path / "a").write_text("")
    shows(k, "first", "0/1", "Init:1/2")
    (tmp_path / "b").write_text("")
    shows(k, "first", "1/1", "Running")
    assert conditions(k, "first") == dict.fromkeys(
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"], "True")


def test_a_failing_init_container(k):
    k("apply", "-f", "-", stdin=pod("broken", "true", initContainers=[
        {"name": "a", "image": "x", "command": ["sh", "-c", "exit 3"]}]))
    shows(k, "broken", "0/1", "Init:Error")
    ended = status(k, "broken")
    assert ended["phase"] == "Failed"
    assert ended["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_running_completed_failed(k):
    k("apply", "-f", "-", stdin=[pod("runs", FOREVER), pod("good", "true"), pod("bad", "exit 2")])
    shows(k, "runs", "1/1", "Running")
    shows(k, "good", "0/1", "Completed")
    shows(k, "bad", "0/1", "Error")
    described = k("describe", "pod", "bad").out
    for line in ("Status:           Failed", "Reason:       Error", "Exit Code:    2", "Ready:          False"):
        assert " ".join(line.split()) in " ".join(described.split()), described
    assert [c["reason"] for c in status(k, "good")["conditions"] if c["type"] == "Ready"] == ["PodCompleted"]
    assert events(k, "runs", "Started") == ["Started container c"]
    assert events(k, "runs", "Created") == ["Created container: c"]


def test_crash_loop(k):
    k("apply", "-f", "-", stdin=pod("loops", "exit 1", restartPolicy="Always"))
    eventually(lambda: (row(k, "loops") or [""] * 3)[1] == "CrashLoopBackOff")
    assert row(k, "loops")[2].startswith("1 (")
    now = status(k, "loops")["containerStatuses"][0]
    uid = k.json("get", "pod", "loops")["metadata"]["uid"]
    assert now["state"]["waiting"]["message"] == \
        f"back-off 10s restarting failed container=c pod=loops_{k.namespace}({uid})"
    assert now["lastState"]["terminated"]["exitCode"] == 1
    assert status(k, "loops")["phase"] == "Running"
    assert events(k, "loops", "BackOff") == \
        [f"Back-off restarting failed container c in pod loops_{k.namespace}({uid})"]


def test_out_of_memory(k):
    k("apply", "-f", "-", stdin=pod("hungry", "exec python3 -c 'x = bytearray(10**9)'",
                                    container={"resources": {"limits": {"memory": "64Mi"}}}))
    shows(k, "hungry", "0/1", "OOMKilled")


def test_a_bad_command_is_tried_again(k):
    bad = pod("lost", "", container={"command": ["no-such-program"]}, restartPolicy="Always")
    k("apply", "-f", "-", stdin=bad)
    eventually(lambda: (row(k, "lost") or [""] * 3)[1] in ("RunContainerError", "CrashLoopBackOff"))
    last = eventually(lambda: status(k, "lost")["containerStatuses"][0]["lastState"].get("terminated"))
    assert (last["exitCode"], last["reason"]) == (128, "StartError")
    assert any("executable file not found in $PATH" in message for message in events(k, "lost", "Failed"))


def test_a_missing_source_of_the_environment(k):
    k("apply", "-f", "-", stdin=pod("needs", "echo $KEY", container={
        "env": [{"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "k"}}}]}))
    shows(k, "needs", "0/1", "CreateContainerConfigError")
    assert 'Error: configmap "later" not found' in events(k, "needs", "Failed")
    k("create", "configmap", "later", "--from-literal=other=1")
    eventually(lambda: f"Error: couldn't find key k in ConfigMap {k.namespace}/later" in events(k, "needs", "Failed"))
    k("patch", "configmap", "later", "-p", '{"data": {"k": "here"}}')
    shows(k, "needs", "0/1", "Completed")
    assert k("logs", "needs").out == "here\n"


def test_a_mount_path_that_cannot_be_made(k):
    k("apply", "-f", "-", stdin=pod("nowhere", "true", volumes=[{"name": "v", "emptyDir": {}}], container={
        "volumeMounts": [{"name": "v", "mountPath": "/dev/null/inside"}]}))
    end = eventually(lambda: status(k, "nowhere").get("containerStatuses", [{}])[0].get("state", {}).get("terminated"))
    assert (end["exitCode"], end["reason"]) == (128, "StartError")
    assert "/dev/null/inside" in end["message"]


def test_terminating_and_the_hook_before_it(k, tmp_path):
    shared = {"volumes": [{"name": "h", "hostPath": {"path": str(tmp_path)}}]}
    mounted = {"volumeMounts": [{"name": "h", "mountPath": "/h"}], "lifecycle": {
        "postStart": {"exec": {"command": ["sh", "-c", "echo after start >> /h/said"]}},
        "preStop": {"exec": {"command": ["sh", "-c", "echo before stop >> /h/said; while ! test -e /h/go; do sleep 0.05; done"]}}}}
    k("apply", "-f", "-", stdin=pod("hooked", "trap 'echo stopped >> /h/said; exit 0' TERM; while true; do sleep 0.1; done",
                                    container=mounted, terminationGracePeriodSeconds=60, **shared))
    shows(k, "hooked", "1/1", "Running")
    k("delete", "pod", "hooked", "--wait=false")
    shows(k, "hooked", "1/1", "Terminating")
    assert events(k, "hooked", "Killing") == ["Stopping container c"]
    (tmp_path / "go").write_text("")
    eventually(lambda: row(k, "hooked") is None)
    assert (tmp_path / "said").read_text() == "after start\nbefore stop\nstopped\n"


def test_a_failed_post_start_hook(k):
    k("apply", "-f", "-", stdin=pod("unhooked", FOREVER, container={
        "lifecycle": {"postStart": {"exec": {"command": ["false"]}}}}))
    eventually(lambda: status(k, "unhooked")["phase"] == "Failed" or status(k, "unhooked")["phase"] == "Succeeded")
    assert events(k, "unhooked", "FailedPostStartHook") == ["PostStartHook failed"]
    assert events(k, "unhooked", "Killing") == ["FailedPostStartHook"]


def runs_again(k, name):
    container = status(k, name)["containerStatuses"][0]
    return container["restartCount"] >= 1 and "running" in container["state"]


AGNHOST = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "trainyard/peers/bin/agnhost")


def test_liveness_by_grpc(yard, k, tmp_path):
    """Asked of a real server of that protocol, that is well for two seconds."""
    if not os.access(AGNHOST, os.X_OK):
        pytest.skip("MISSING agnhost: NOT TRIED with a real gRPC server (GrpcHealth in src/node has the bytes); bench/peers/build conformance builds it")
    shutil.copy(AGNHOST, tmp_path / "agnhost")
    yard.give(tmp_path)
    probe = {"grpc": {"port": 5000, "service": "train"}, "periodSeconds": 1, "failureThreshold": 1}
    well = {"grpc": {"port": 5000, "service": "train"}, "periodSeconds": 1}
    k("apply", "-f", "-", stdin=pod("asked", "", restartPolicy="Always", volumes=[{"name": "h", "hostPath": {"path": str(tmp_path)}}], container={
        "command": ["/h/agnhost", "grpc-health-checking", "--port=5000", "--service=train", "--delay-unhealthy-sec=2"],
        "volumeMounts": [{"name": "h", "mountPath": "/h"}], "livenessProbe": {**probe, "initialDelaySeconds": 1}, "readinessProbe": well}))
    eventually(lambda: status(k, "asked")["containerStatuses"][0]["ready"], about="SERVING is ready")
    eventually(lambda: runs_again(k, "asked"), 20)
    assert 'Liveness probe failed: service unhealthy (responded with "NOT_SERVING")' in events(k, "asked", "Unhealthy")


def test_liveness_by_command(k):
    k("apply", "-f", "-", stdin=pod("alive", "touch /tmp/well; sleep 1; rm /tmp/well; " + FOREVER, restartPolicy="Always", container={
        "livenessProbe": {"exec": {"command": ["cat", "/tmp/well"]}, "periodSeconds": 1, "failureThreshold": 1}}))
    eventually(lambda: runs_again(k, "alive"), 20)
    assert "Container c failed liveness probe, will be restarted" in events(k, "alive", "Killing")
    assert events(k, "alive", "Unhealthy")[0] == "Liveness probe failed: cat: /tmp/well: No such file or directory\n"


SERVER = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if os.path.exists('/tmp/ready') and self.path == '/healthz' else 503)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(('0.0.0.0', PORT), Handler).serve_forever()
"""


def test_readiness_by_http_and_tcp(k):
    port, nobody = free_port(), free_port()
    k("apply", "-f", "-", stdin=[
        pod("web", "", container={
            "command": ["python3", "-c", SERVER.replace("PORT", str(port))],
            "ports": [{"name": "web", "containerPort": port}],
            "startupProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1, "failureThreshold": 30},
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": "web"}, "periodSeconds": 1},
            "lifecycle": {"preStop": {"httpGet": {"path": "/", "port": "web"}}}}),
        pod("deaf", FOREVER, container={"readinessProbe": {"tcpSocket": {"port": nobody}, "periodSeconds": 1}})])
    shows(k, "web", "0/1", "Running")
    eventually(lambda: "Readiness probe failed: HTTP probe failed with statuscode: 503" in events(k, "web", "Unhealthy"))
    assert conditions(k, "web")["Ready"] == "False"
    eventually(lambda: any(m.endswith(f":{nobody}: connect: connection refused") and m.startswith("Readiness probe failed: dial tcp ")
                           for m in events(k, "deaf", "Unhealthy")))
    k("exec", "web", "--", "touch", "/tmp/ready")
    shows(k, "web", "1/1", "Running")
    k("delete", "pod", "web", "deaf")


def test_evicted_for_its_volume(k):
    k("apply", "-f", "-", stdin=pod("fat", "head -c 3000000 /dev/zero > /v/file; " + FOREVER,
                                    volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}],
                                    container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}))
    end = eventually(lambda: (lambda s: s if s["phase"] == "Failed" else None)(status(k, "fat")), 20)
    message = 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '
    assert (end["reason"], end["message"]) == ("Evicted", message)
    assert events(k, "fat", "Evicted") == [message]
    described = k("describe", "pod", "fat").out
    assert "Reason:" in described and "Evicted" in described and message.strip() in described


def test_logs_outlive_their_pod(yard, k):
    """kubectl asks for the pod first; the server itself still has the log, and so has the state folder."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "keeps"},
           "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
               {"name": "c", "image": "x", "command": ["echo", "kept"]}]}}}}
    k("apply", "-f", "-", stdin=job)
    k("wait", "--for=condition=complete", "job/keeps", "--timeout=60s")
    one = k.json("get", "pods")["items"][0]["metadata"]
    k("delete", "pod", one["name"])
    path = f"/api/v1/namespaces/{k.namespace}/pods/{one['name']}/log"
    assert eventually(lambda: (lambda r: r.text if r.status == 200 else None)(yard.request("GET", path))) == "kept\n"
    assert yard.request("GET", path + "?container=../c").status == 400
    assert yard.request("GET", f"/api/v1/namespaces/{k.namespace}/pods/never/log").status == 404
    folder = os.path.join(yard.state, "logs", f"{k.namespace}_{one['name']}_{one['uid']}")
    with open(os.path.join(folder, "pod.json"), encoding="utf-8") as stream:
        about = json.load(stream)
    assert about["owner"]["kind"] == "Job" and about["owner"]["name"] == "keeps"
    assert not os.path.exists(os.path.join(folder, "gone"))
    k("delete", "job", "keeps")
    eventually(lambda: os.path.exists(os.path.join(folder, "gone")))


def test_a_flood_keeps_its_newest_lines(yard, k):
    k("apply", "-f", "-", stdin=pod("flood", "yes $(head -c 990 /dev/zero | tr '\\0' x) | head -n 90000; echo the end"))
    eventually(lambda: status(k, "flood")["phase"] == "Succeeded", 60)
    files = glob.glob(os.path.join(yard.state, "logs", f"{k.namespace}_flood_*", "c", "0.log*"))
    assert 50_000_000 <= sum(os.path.getsize(f) for f in files) <= 64 << 20
    assert k("logs", "flood", "--tail=1").out == "the end\n"


def test_down_is_a_shutdown_of_the_node(own_yard):
    own_yard.up()
    k = a_kubectl(own_yard, "default")
    k("apply", "-f", "-", stdin=[pod("ends", FOREVER), pod("done", "true"),
                                 pod("always", "exec sleep 1000", restartPolicy="Always")])
    shows(k, "ends", "1/1", "Running")
    shows(k, "always", "1/1", "Running")
    shows(k, "done", "0/1", "Completed")
    assert "ended 2 pods" in own_yard.command("down").out
    assert own_yard.leftovers() == []
    own_yard.up()
    for name in ("ends", "always"):
        end = status(k, name)
        assert (end["phase"], end["reason"], end["message"]) == \
            ("Failed", "Terminated", "Pod was terminated in response to imminent node shutdown.")
        assert conditions(k, name)["DisruptionTarget"] == "True"
    assert status(k, "done")["phase"] == "Succeeded"
    # Without a server `down` leaves a mark that the next one reads.
    k("apply", "-f", "-", stdin=pod("later", FOREVER))
    shows(k, "later", "1/1", "Running")
    own_yard.kill()
    own_yard.command("down")
    own_yard.up()
    eventually(lambda: status(k, "later").get("reason") == "Terminated")
    own_yard.down()


def test_a_reboot_ends_what_ran(own_yard):
    own_yard.up()
    k = a_kubectl(own_yard, "default")
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "goes-on"},
           "spec": {"backoffLimit": 3, "template": {"spec": {"restartPolicy": "Never", "containers": [
               {"name": "c", "image": "x", "command": ["sh", "-c", FOREVER]}]}}}}
    k("apply", "-f", "-", stdin=[pod("ran", FOREVER, restartPolicy="Always"), job])
    shows(k, "ran", "1/1", "Running")
    eventually(lambda: k.json("get", "job", "goes-on")["status"].get("active") == 1)
    eventually(lambda: len(glob.glob(os.path.join(own_yard.state, "run", "*", "sock"))) == 2)
    own_yard.kill()
    own_yard.cut_power()
    for path in glob.glob(os.path.join(own_yard.state, "run", "*", "launch.json")):
        with open(path, encoding="utf-8") as stream:
            launch = json.load(stream)
        launch["bootId"] = "another"
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(launch, stream)
    own_yard.up()
    end = eventually(lambda: (lambda s: s if s["phase"] == "Failed" else None)(status(k, "ran")))
    assert end["reason"] == "NodeLost" and "restarted" in end["message"]
    assert end["containerStatuses"][0]["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
    eventually(lambda: (lambda s: s.get("failed") == 1 and s.get("active") == 1)(k.json("get", "job", "goes-on")["status"]), 30)
    own_yard.down()
    assert own_yard.leftovers() == []
