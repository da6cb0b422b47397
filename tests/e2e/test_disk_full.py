"""The disk of the state folder is full: pods go on, the server answers and says why it cannot write, and when there is
room again everything that happened meanwhile is known."""
import glob
import os
import re
import subprocess

import pytest

from harness import Kubectl, eventually, newest_kubectl, unmount
from pods import shell, status

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
# Counts in the log and, beside it, in a file that is on another disk.
COUNT = ("import os, time\n"
         "n = 0\n"
         "while not os.path.exists('/h/stop'):\n"
         "    print(n, flush=True); n += 1\n"
         "    open('/h/count', 'w').write(str(n)); time.sleep(0.01)\n")  # of the pod
ENDS = "while ! test -e /h/end; do sleep 0.05; done; echo bye; exit 3"


@pytest.fixture
def small_disk(own_yard):
    """A state folder with room for a few megabytes."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    os.makedirs(own_yard.state, mode=0o700)
    owner = f",uid={own_yard.user.pw_uid},gid={own_yard.user.pw_gid},mode=700" if own_yard.user else ",mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m" + owner, "yard-e2e", own_yard.state], check=True)
    yield own_yard
    own_yard.end()
    unmount(own_yard.state)


def fill(folder):
    """Takes all that is left; the path of what took it."""
    path = os.path.join(folder, "ballast")
    with open(path, "wb", buffering=0) as stream:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    stream.write(bytes(size))
            except OSError:
                pass
    return path


def near_the_end_of_a_page(path):
    """A file's next words go over into a block that a full disk does not have."""
    with open(path, "ab") as stream:
        stream.write(b"#" * (4096 - stream.tell() - 11) + b"\n")
        assert stream.tell() == 4096 - 10


def test_pods_and_server_outlive_a_full_disk(small_disk, tmp_path):
    yard = small_disk
    tmp_path.chmod(0o777)
    yard.up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, yard, "default")
    more = {"volumes": [{"name": "h", "hostPath": {"path": str(tmp_path)}}]}
    mounted = {"volumeMounts": [{"name": "h", "mountPath": "/h"}]}
    kubectl("apply", "-f", "-", stdin=[shell("counts", "", container={**mounted, "command": ["python3", "-c", COUNT]}, **more),
                                       shell("ends", ENDS, container=mounted, **more)])
    for name in ("counts", "ends"):
        eventually(lambda name=name: status(kubectl, name)["phase"] == "Running")
    before = status(kubectl, "counts")["containerStatuses"][0]["containerID"]
    uid = kubectl.json("get", "pod", "ends")["metadata"]["uid"]
    journal = os.path.join(yard.state, "run", uid, "journal")
    near_the_end_of_a_page(journal)
    pid = yard.pid
    ballast = fill(yard.state)

    # The server lives, reads, and says what is the matter.
    refused = eventually(lambda: (lambda answer: answer if answer.status != 201 else None)(
        yard.request("POST", CONFIG_MAPS, {"metadata": {"generateName": "no-room-"}, "data": {"a": "x" * 5000}})))
    assert refused.status == 500 and "no space is left on its disk" in refused.json["message"]
    assert status(kubectl, "counts")["phase"] == "Running" and yard.pid == pid

    # Pods go on: one writes lines that nobody can keep, one ends.
    log = glob.glob(os.path.join(yard.state, "logs", "default_counts_*", "c", "0.log"))[0]
    kept = eventually(lambda: is_behind(log, tmp_path / "count"), 20)
    (tmp_path / "end").touch()
    eventually(lambda: os.path.getsize(journal) == 4096, about="the end of the pod has no room in its journal")

    # A server that dies now cannot start again, and says why; with room it knows all that happened.
    yard.kill()
    failed = yard.command("up", expect=None)
    assert failed.code == 1 and re.search("no space (is )?left on", failed.err, re.IGNORECASE), failed.err
    os.remove(ballast)
    yard.up()
    end = eventually(lambda: status(kubectl, "ends")["containerStatuses"][0]["state"].get("terminated"))
    assert end["exitCode"] == 3
    eventually(lambda: is_told(kubectl, kept))
    (tmp_path / "stop").touch()
    end = eventually(lambda: status(kubectl, "counts")["containerStatuses"][0]["state"].get("terminated"))
    assert (end["exitCode"], end["containerID"]) == (0, before)
    check_lines(kubectl("logs", "counts").out.splitlines(), int((tmp_path / "count").read_text()))
    kubectl("create", "configmap", "room-again")
    yard.down()
    assert yard.leftovers() == []


def is_behind(log, count):
    """The last number in the log, once the program is far beyond it."""
    with open(log, encoding="utf-8") as stream:
        kept = int(stream.read().split()[-1])
    return kept if int(count.read_text() or 0) > kept + 50 else None


def is_told(kubectl, kept):
    lines = kubectl("logs", "counts").out.splitlines()
    return any("bytes of log could not be written and are lost" in line for line in lines[kept:])


def check_lines(lines, count):
    """Every number once and in order, but for gaps; each gap is told on a line of its own, with the bytes lost in it."""
    expected, lost = 0, 0
    for line in lines:
        if line.startswith("[trainyard] "):
            lost = int(line.split()[1])
            continue
        while lost > 0:
            lost -= len(f"{expected}\n")
            expected += 1
        assert lost == 0 and int(line) == expected, f"{line}, expected {expected}; {lost} bytes off"
        expected += 1
    assert expected == count
