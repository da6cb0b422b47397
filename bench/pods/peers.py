"""runc and podman running the same command: one bundle on the host's /usr, namespaces of its own."""
import atexit
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time

from pods.yard import Stamps

PROGRAM = "/out/stamp"
LOCKS = "/dev/shm/libpod_lock"


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bundle:
    """A root folder that both can use: empty but for mount points; /usr is the host's."""

    def __init__(self, scratch, stamp):
        self.folder = os.path.join(scratch, "bundle")
        self.out = os.path.join(scratch, "bundle-out")
        self.root = os.path.join(self.folder, "rootfs")
        for folder in (self.out, *(os.path.join(self.root, name) for name in ("usr", "out", "proc", "dev", "sys", "etc"))):
            os.makedirs(folder)
        shutil.copy(stamp, os.path.join(self.out, "stamp"))
        self.stamps = Stamps(self.out)


class Runc:
    name = "runc"

    def __init__(self, bundle):
        self.bundle = bundle
        subprocess.run(["runc", "spec", "-b", bundle.folder], check=True, capture_output=True)
        self.path = os.path.join(bundle.folder, "config.json")
        with open(self.path, encoding="utf-8") as stream:
            self.config = json.load(stream)
        self.config["process"]["terminal"] = False
        self.config["mounts"] += [
            {"destination": "/usr", "type": "none", "source": "/usr", "options": ["rbind", "ro"]},
            {"destination": "/out", "type": "none", "source": bundle.out, "options": ["bind"]}]

    def start(self, number):
        # A bundle each: runs overlap, and each says who it is.
        folder = f"{self.bundle.folder}-{number}"
        os.makedirs(folder)
        self.config["process"]["args"] = [PROGRAM, str(number), "/out/stamps"]
        self.config["root"]["path"] = self.bundle.root
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as stream:
            json.dump(self.config, stream)
        began = time.time_ns()
        return began, subprocess.Popen(["runc", "--root", self.bundle.folder + "-state", "run", "-b", folder,
                                        f"bench-{os.getpid()}-{number}"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Podman:
    name = "podman"

    def __init__(self, bundle):
        self.bundle = bundle
        self.state = tempfile.mkdtemp(prefix="yb-")  # it wants a path of 50 characters at most
        atexit.register(shutil.rmtree, self.state, ignore_errors=True)
        if not os.path.exists(LOCKS):  # which it makes for all of its users, and leaves
            atexit.register(lambda: os.path.exists(LOCKS) and os.unlink(LOCKS))

    def start(self, number):
        began = time.time_ns()
        # Without a network: its own needs plug-ins that are not everywhere. The limits are its defaults where root may
        # not raise them.
        return began, subprocess.Popen(
            ["podman", "--root", self.state + "/data", "--runroot", self.state + "/run", "run", "--rm",
             "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000",
             "-v", "/usr:/usr:ro", "-v", f"{self.bundle.out}:/out", "--rootfs", self.bundle.root, PROGRAM, str(number),
             "/out/stamps"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def start_at_a_time(peer, count, at_a_time):
    """Starts `count` containers, so many at once; milliseconds to each one's first instruction, the rate, CPU each."""
    stamps, cpu, began = peer.bundle.stamps, children_cpu(), time.monotonic()
    stamps.take()
    begins, ends, running = {}, {}, []
    number = 0
    while number < count or running:
        while number < count and len(running) < at_a_time:
            begins[str(number)], process = peer.start(number)
            running.append(process)
            number += 1
        still = []
        for process in running:
            if process.poll() is None:
                still.append(process)
            elif process.returncode != 0:
                raise RuntimeError(f"{peer.name} run: {process.stderr.read().decode().strip()[-300:]}")
            else:
                process.stderr.close()
        if len(still) == len(running):
            time.sleep(0.001)
        running = still
        ends.update(stamps.take())
    seconds = time.monotonic() - began
    ends.update(stamps.take())
    shutil.rmtree(peer.bundle.folder + "-state", ignore_errors=True)
    for each in range(count):
        shutil.rmtree(f"{peer.bundle.folder}-{each}", ignore_errors=True)
    return {"latencies": sorted((ends[name] - begin) / 1e6 for name, begin in begins.items() if name in ends),
            "per_second": count / seconds, "cpu_ms": (children_cpu() - cpu) / count * 1e3}
