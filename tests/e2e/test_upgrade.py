"""Upgrades are restarts: a server takes over the pods of the version before it, by files and a protocol kept as they were."""
import json
import os
import subprocess
import sys

from harness import Kubectl, eventually, is_running, newest_kubectl, processes_mounting, processes_naming
from pods import running, shell

HERE = os.path.dirname(os.path.abspath(__file__))
# As a server of that version wrote it.
FORMER_LAUNCH = {"version": 1, "uid": None, "namespace": "default", "pod": "old", "hostname": "old", "hosts": True,
                 "logFolder": None, "memory": [], "hostPaths": []}
SCRIPT = "trap 'echo bye; exit 7' TERM; echo from the former version; while true; do sleep 0.05; done"


def become_former(yard, uid):
    """The server is killed, the pod's shim and processes too, and a shim of the former version stands in for them."""
    run, logs = f"{yard.state}/run/{uid}", f"{yard.state}/logs/default_old_{uid}"
    yard.kill()
    for pid in processes_naming(run):
        os.kill(pid, 9)
    eventually(lambda: not processes_naming(run) and not processes_mounting(run), about="nothing of the newer version runs")
    for name in os.listdir(run):
        if not os.path.isdir(f"{run}/{name}"):  # its socket too
            os.unlink(f"{run}/{name}")
    with open(f"{run}/launch.json", "w", encoding="utf-8") as stream:
        json.dump({**FORMER_LAUNCH, "uid": uid, "logFolder": logs}, stream)
    yard.give(run)
    subprocess.run(["rm", "-rf", f"{logs}/c"], check=True)
    shim = subprocess.Popen([*yard.as_user, sys.executable if not yard.user else "/usr/bin/python3", f"{HERE}/former_shim.py", run, logs,
                             "c", "sh", "-c", SCRIPT], stdin=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(f"{run}/sock"), about="the former shim listens")
    return shim


def test_pods_of_the_former_version_are_taken_over(own_yard):
    own_yard.up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, "default")
    kubectl("apply", "-f", "-", stdin=shell("old", SCRIPT))
    running(kubectl, "old")
    uid = kubectl.json("get", "pod", "old")["metadata"]["uid"]
    shim = become_former(own_yard, uid)
    try:
        own_yard.up()
        assert eventually(lambda: kubectl("logs", "old").out) == "from the former version\n"
        now = running(kubectl, "old")
        assert (now["containerStatuses"][0]["restartCount"], is_running(shim.pid)) == (0, True), "it runs on, as it was"
        refused = kubectl("exec", "old", "--", "true", expect=1)
        assert refused.err, "what that version cannot do is said, and nobody waits for it"
        kubectl("apply", "-f", "-", stdin=shell("new", SCRIPT))
        running(kubectl, "new")
        own_yard.kill()
        own_yard.up()
        assert running(kubectl, "old")["containerStatuses"][0]["restartCount"] == 0, "and over one more restart"
        kubectl("delete", "pod", "old", "new")
        shim.wait(20)
        with open(f"{own_yard.state}/logs/default_old_{uid}/c/0.log", encoding="utf-8") as stream:
            assert stream.read().endswith("bye\n"), "it was asked to end before it was made to"
    finally:
        if shim.poll() is None:
            shim.kill()
    assert status_gone(kubectl)
    own_yard.down()
    assert own_yard.leftovers() == []


def status_gone(kubectl):
    return eventually(lambda: kubectl("get", "pods").out == "", about="no pod is left")
