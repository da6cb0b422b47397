"""What pods do wrong stays theirs: the machine, the server and other pods go on, and nothing is left of them."""
import contextlib
import glob
import os
import signal
import subprocess

import pytest

from harness import BINARY, Kubectl, eventually, newest_kubectl, processes_mounting, processes_naming, run
from pods import end_state, finished, output, pod, run_folders, running, shell, status

# It stays: where no control group bounds memory, it is looked at ten times a second, later on a busy machine.
HOG = "x = bytearray(400 * 2**20); import signal; signal.pause()"
LIMITED = {"resources": {"limits": {"memory": "96Mi"}}}


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def own_kubectl(yard):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, "default")


def commands_in(yard, uid=""):
    """The names of the processes that see mounts of this server's pods, its shims among them."""
    found = []
    for pid in processes_mounting(os.path.join(yard.state, "run", uid).rstrip("/")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as stream:
                found.append(stream.read().strip())
        except FileNotFoundError:
            pass  # it has just ended
    return found


def has_memory_groups(yard):
    yard.note_cgroups()
    return any("memory" in base for base in yard.cgroups)


def test_a_fork_bomb_ends_in_its_pod(own_yard):
    own_yard.up("--pod-pids-limit", "64")
    kubectl = own_kubectl(own_yard)
    bomb = ("import os, sys\n"
            "made = 0\n"
            "try:\n"
            "    while made < 1000:\n"
            "        if os.fork() == 0:\n"
            "            import signal; signal.pause()\n"
            "        made += 1\n"
            "except BlockingIOError:\n"
            "    print('refused after', made); sys.exit(3)\n")
    kubectl("apply", "-f", "-", stdin=[pod("bomb", "python3", "-c", bomb), shell("neighbour", "sleep 1; echo fine")])
    assert end_state(kubectl, "bomb")["exitCode"] == 3
    made = int(kubectl("logs", "bomb").out.split()[-1])
    assert 32 <= made < 64
    assert end_state(kubectl, "neighbour")["exitCode"] == 0
    own_yard.down()
    assert own_yard.leftovers() == []


def test_daemonised_children_end_with_their_pod(yard, kubectl):
    script = ("import os, signal\n"
              "if os.fork() == 0:\n"
              "    os.setsid()\n"
              "    if os.fork() == 0:\n"
              "        os.execvp('sleep', ['sleep', '4711'])\n"
              "    os._exit(0)\n"
              "os.wait(); print('ready', flush=True); signal.pause()\n")
    kubectl("apply", "-f", "-", stdin=pod("daemon", "python3", "-c", script))
    running(kubectl, "daemon")
    eventually(lambda: "ready" in kubectl("logs", "daemon").out)
    uid = kubectl.json("get", "pod", "daemon")["metadata"]["uid"]
    kubectl("delete", "pod", "daemon")
    eventually(lambda: uid not in run_folders(yard))
    assert processes_mounting(os.path.join(yard.state, "run", uid)) == []


def test_a_child_does_not_outlive_its_container(yard, kubectl):
    # The first process ends well and leaves a child: the pod has ended all the same.
    kubectl("apply", "-f", "-", stdin=shell("leaves", "setsid sleep 4712 & echo done"))
    assert end_state(kubectl, "leaves")["exitCode"] == 0
    uid = kubectl.json("get", "pod", "leaves")["metadata"]["uid"]
    assert "sleep" not in commands_in(yard, uid)


def test_ten_thousand_open_files(kubectl):
    script = ("import resource\n"
              "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
              "assert soft == hard, (soft, hard)\n"
              "files = [open('/dev/null') for _ in range(min(10000, soft - 10))]\n"
              "print(len(files))\n")
    hard = int(subprocess.run(["sh", "-c", "ulimit -Hn"], capture_output=True, text=True).stdout.replace("unlimited", "10000000"))
    assert int(output(kubectl, pod("files", "python3", "-c", script))) == min(10000, hard - 10)


def test_the_server_takes_the_descriptors_it_may_have(own_yard):
    """A shell's soft limit is 1024 on most machines: watches are connections, and there are more of them."""
    own_yard.command("up", before=["prlimit", "--nofile=1024:8192"])
    with open(f"/proc/{own_yard.pid}/limits", encoding="utf-8") as stream:
        limit = next(line.split() for line in stream if line.startswith("Max open files"))
    assert limit[3:5] == ["8192", "8192"], limit


def test_where_memory_does_not_suit_small_files_lie_on_the_disk(own_yard):
    """In a mount namespace where programs in /dev/shm do not run: what pods are given works from the state folder."""
    if own_yard.user:
        pytest.skip("NOT TRIED as an ordinary user: mounting over /dev/shm takes root; TransientTest has the rule")
    script = f"mount -t tmpfs -o noexec none /dev/shm && exec {BINARY} up"
    run(["unshare", "--mount", "sh", "-c", script], {**os.environ, "HOME": own_yard.folder, "TRAINYARD_STATE": own_yard.state})
    kubectl = own_kubectl(own_yard)
    kubectl("create", "configmap", "script", "--from-literal=run=#!/bin/sh\necho from the disk; echo why > /dev/termination-log")
    said = output(kubectl, pod("disk", "/c/run", container={"volumeMounts": [{"name": "c", "mountPath": "/c"}]},
                               volumes=[{"name": "c", "configMap": {"name": "script", "defaultMode": 0o755}}]))
    assert said == "from the disk\n"
    assert end_state(kubectl, "disk")["message"] == "why\n"
    kubectl("apply", "-f", "-", stdin=shell("lives", "sleep 1000"))
    running(kubectl, "lives")
    uid = kubectl.json("get", "pod", "lives")["metadata"]["uid"]
    assert os.path.exists(f"{own_yard.state}/run/{uid}/c.0.json"), "what a run is told lies in its run folder"
    own_yard.down()
    assert own_yard.leftovers() == []


@pytest.mark.parametrize("about, script, exit_code", [
    ("the first process", HOG, 137),
    ("a child, and its parent ends well", f"import os, sys\nif os.fork() == 0:\n    {HOG}\nos.wait(); sys.exit(0)", None),
    ("a grandchild", f"import os\nif os.fork() == 0:\n    if os.fork() == 0:\n        {HOG}\n    os.wait(); os._exit(0)\nos.wait()", None),
    ("a writer to memory-backed files", "open('/dev/shm/x', 'wb').write(bytes(400 * 2**20))", 137),
])
def test_out_of_memory_is_named_whoever_it_hits(yard, kubectl, about, script, exit_code):
    if not has_memory_groups(yard) and "child" in about:
        exit_code = 137  # no control group: the container is ended as a whole
    if not has_memory_groups(yard) and "memory-backed" in about:
        pytest.skip("without control groups files in memory are nobody's: trainyard info says that limits are not enforced")
    kubectl("apply", "-f", "-", stdin=pod("hungry", "python3", "-c", script, container=LIMITED))
    end = end_state(kubectl, "hungry")
    assert end["reason"] == "OOMKilled", (about, end)
    if exit_code is not None:
        assert end["exitCode"] == exit_code


@pytest.mark.parametrize("script, exit_code", [("kill -9 $$$$", 137), ("exit 137", 137)])
def test_what_only_looks_like_out_of_memory_is_an_error(kubectl, script, exit_code):
    kubectl("apply", "-f", "-", stdin=shell("killed", f"sh -c '{script}'; exit $?", container=LIMITED))
    end = end_state(kubectl, "killed")
    assert (end["reason"], end["exitCode"]) == ("Error", exit_code)


def test_a_mount_path_that_cannot_be_made(kubectl):
    kubectl("apply", "-f", "-", stdin=shell("nowhere", "true", volumes=[{"name": "v", "emptyDir": {}}],
                                            container={"volumeMounts": [{"name": "v", "mountPath": "/proc/nowhere"}]}))
    end = end_state(kubectl, "nowhere")
    assert end["reason"] == "StartError"
    assert "cannot make the mount point /proc/nowhere" in end["message"]


def test_kill_9_of_the_shims_template(own_yard):
    """Shims are forked from one process; pods neither need it to run nor miss it to start."""
    own_yard.up()
    kubectl = own_kubectl(own_yard)

    def named(name):
        found = []
        for pid in processes_naming(own_yard.state):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as line:
                if line.read().startswith(name):
                    found.append(pid)
        return found

    def templates():
        return named(b"trainyard-template")

    def template():
        """The one; a spare looks like it for a moment."""
        return eventually(lambda: (lambda found: found[0] if len(found) == 1 else None)(templates()), about="one template")
    kubectl("apply", "-f", "-", stdin=shell("before", "while true; do sleep 0.1; done"))
    running(kubectl, "before")
    first = template()
    os.kill(first, signal.SIGKILL)
    kubectl("apply", "-f", "-", stdin=shell("after", "while true; do sleep 0.1; done"))
    running(kubectl, "after")
    assert status(kubectl, "before")["containerStatuses"][0]["restartCount"] == 0
    second = template()
    assert second != first
    assert len(processes_naming(os.path.join(own_yard.state, "run"))) == 2, "each shim shows its own folder"
    [spare] = eventually(lambda: named(b"trainyard-spare"), about="a shim forked ahead")
    os.kill(spare, signal.SIGKILL)
    kubectl("apply", "-f", "-", stdin=shell("later", "while true; do sleep 0.1; done"))
    running(kubectl, "later")
    assert not os.path.exists(f"/proc/{spare}"), "nobody waited for the spare"
    assert template() == second
    eventually(lambda: named(b"trainyard-spare"), about="the next spare")
    own_yard.kill()
    eventually(lambda: templates() + named(b"trainyard-spare") == [], about="the template and its spare end with the server")
    own_yard.up()
    assert [status(kubectl, name)["phase"] for name in ("before", "after", "later")] == ["Running"] * 3
    kubectl("delete", "pod", "before", "after", "later")
    own_yard.down()
    assert own_yard.leftovers() == []


def test_control_groups_go_from_pod_to_pod(own_yard):
    own_yard.up()
    own_yard.note_cgroups()
    bases = [base for base in own_yard.cgroups if os.path.exists(os.path.join(base, "pids.max")) or "/cpu" in base]
    if not bases or any(os.path.exists(os.path.join(base, "cgroup.controllers")) for base in bases):
        pytest.skip("no control groups of version 1 for us here: those of version 2 cannot be renamed")
    kubectl = own_kubectl(own_yard)

    def spares():
        return [group for base in bases for group in glob.glob(os.path.join(base, "spare-*"))]
    for number in range(3):
        kubectl("apply", "-f", "-", stdin=shell(f"p{number}", "true"))
        assert finished(kubectl, f"p{number}")["phase"] == "Succeeded"
        eventually(spares, about="a group that waits for another pod")
    for group in spares():
        with open(os.path.join(group, "cgroup.procs"), encoding="utf-8") as members:
            assert members.read() == ""
    own_yard.down()
    assert spares() == []


@pytest.mark.parametrize("host_pid", [False, True])
def test_kill_9_of_a_shim(own_yard, host_pid):
    own_yard.up()
    kubectl = own_kubectl(own_yard)
    kubectl("apply", "-f", "-", stdin=shell("orphan", "setsid sleep 4713 & while true; do sleep 0.1; done", hostPID=host_pid))
    running(kubectl, "orphan")
    eventually(lambda: commands_in(own_yard).count("sleep") >= 1, about="the child has left its session")
    for pid in processes_naming(os.path.join(own_yard.state, "run")):
        os.kill(pid, signal.SIGKILL)
    end = end_state(kubectl, "orphan")
    assert (end["reason"], end["exitCode"]) == ("ContainerStatusUnknown", 137)
    assert status(kubectl, "orphan")["phase"] == "Failed"
    eventually(lambda: commands_in(own_yard) == [], about="no process of the pod is left")
    assert kubectl("delete", "pod", "orphan").code == 0
    eventually(lambda: glob.glob(f"{own_yard.state}/run/*") == [])
    own_yard.down()
    assert own_yard.leftovers() == []


def test_no_temporary_file_is_left(own_yard):
    """In a mount namespace whose folders for such files are empty, and seen after a whole life with pods in it."""
    folder, places = own_yard.folder, "/tmp /var/tmp /run /dev/shm"
    script = (f"mount --bind {folder} /mnt && for place in {places}; do mount -t tmpfs none $place; done && mkdir -p {folder} && "
              f"mount --no-mtab --move /mnt {folder} && rm -rf /run/mount && echo ready && read line && find {places} -path {folder} -prune -o ! -type d -print -o -empty -print")
    world = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert world.stdout.readline() == "ready\n"
        inside = ["nsenter", "-t", str(world.pid), "-m"]
        own_yard.command("up", before=inside)
        kubectl = own_kubectl(own_yard)
        memory = {"volumes": [{"name": "m", "emptyDir": {"medium": "Memory"}}]}
        kubectl("apply", "-f", "-", stdin=[shell("ends", "echo x > /tmp/x; mktemp; exit 3"), shell("lives", "sleep 1000", **memory)])
        assert end_state(kubectl, "ends")["exitCode"] == 3
        running(kubectl, "lives")
        kubectl("exec", "lives", "--", "mktemp")
        own_yard.kill()
        own_yard.command("up", before=inside)
        own_yard.command("down", before=inside)
        world.stdin.write("\n")
        world.stdin.close()
        left = [path for path in world.stdout.read().split() if path not in places.split()]
        assert left == []
    finally:
        world.kill()
        world.wait()


def test_down_sweeps_what_dead_shims_left(own_yard):
    own_yard.up()
    kubectl = own_kubectl(own_yard)
    kubectl("apply", "-f", "-", stdin=shell("left", "while true; do sleep 0.1; done"))
    running(kubectl, "left")
    own_yard.kill()
    for pid in processes_naming(os.path.join(own_yard.state, "run")):
        os.kill(pid, signal.SIGKILL)
    own_yard.down()
    assert own_yard.leftovers() == []


def test_control_groups_of_version_2_end_a_pod_whole(own_yard, tmp_path):
    """In a mount namespace where only the v2 tree is seen. Controllers are v1's on such a machine, so limits are
    named as not enforced; the pod is born into its group and killed with it."""
    if own_yard.user or not os.path.ismount("/sys/fs/cgroup/unified"):
        pytest.skip("needs root and a machine with both trees, to hide one")
    script = f"umount -R -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec {BINARY} up"
    run(["unshare", "--mount", "sh", "-c", script], {**os.environ, "HOME": own_yard.folder, "TRAINYARD_STATE": own_yard.state})
    kubectl = own_kubectl(own_yard)
    kubectl("apply", "-f", "-", stdin=shell("whole", "setsid sleep 4714 & sleep 3; echo ok", hostPID=True))
    uid = kubectl.json("get", "pod", "whole")["metadata"]["uid"]
    groups = eventually(lambda: glob.glob(f"/sys/fs/cgroup/unified/**/{uid}.c.0", recursive=True), about="a v2 group")
    assert end_state(kubectl, "whole")["exitCode"] == 0
    assert "sleep" not in commands_in(own_yard, uid)
    assert not os.path.exists(groups[0])
    node = own_yard.request("GET", "/api/v1/nodes").json["items"][0]
    message = next(c["message"] for c in node["status"]["conditions"] if c["type"] == "SandboxDegraded")
    assert "not enforced by control groups: limits of memory, cpu and processes: no controllers" in message
    own_yard.down()
    assert own_yard.leftovers() == []
