"""Pods as processes: how soon they start, what they cost, beside runc and podman."""
import os
import selectors
import shutil
import statistics
import subprocess
import time

from pods import peers
from pods.yard import Yard, cpu_of, processes_named, read

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
FLOOD_KEPT_MB = 50
SYNC_DELAY_MS, SYNC_PODS = 5, 8
SYNC_PAUSE_S = 1.2  # what the last pod left to write is written: the next one waits for no commit but its own


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def figure(started):
    ordered = started["latencies"]
    return {"p50_ms": percentile(ordered, 0.5), "p99_ms": percentile(ordered, 0.99),
            "per_second": started["per_second"], "cpu_ms": started["cpu_ms"]}


class PodRun:
    """Measures into `keep(name, server, figure)`; `say` tells what goes on."""

    def __init__(self, program, stamp, scratch, plan, keep, say):
        self.program, self.stamp, self.scratch = program, stamp, scratch
        self.plan, self.keep, self.say = plan, keep, say
        self.notes = []  # what could not be measured, and why

    def measure(self, phases, with_peers):
        yard = None
        try:
            if any(phase in phases for phase in ("pods", "jobs", "shims", "flood", "syncs")):
                yard = Yard(self.program, self.scratch, "ours-pods")
                shutil.copy(self.stamp, os.path.join(yard.out, "stamp"))
            if "pods" in phases:
                self.pods(yard, with_peers)
            if "jobs" in phases:
                self.jobs(yard)
            if "shims" in phases:
                self.idle(yard)
            if "flood" in phases:
                self.flood(yard)
            if "syncs" in phases:
                self.syncs(yard)
        finally:
            if yard:
                yard.stop()

    def pods(self, yard, with_peers):
        there = []
        if with_peers:
            bundle = peers.Bundle(self.scratch, self.stamp)
            for kind in (peers.Runc, peers.Podman):
                peer = self.try_peer(kind, bundle)
                if peer:
                    there.append(peer)
        start_pods(yard, "warm", 20, 4)
        for number in range(self.plan.rounds):
            self.say(f"pods, one by one and 8 at a time, round {number + 1}")
            self.keep("pods", "ours", figure(start_pods(yard, f"one-{number}", self.plan.pods, 1)))
            self.keep("pods at once", "ours", figure(start_pods(yard, f"many-{number}", self.plan.pods_at_once, 8)))
            for peer in there:
                slow = 4 if peer.name == "podman" else 1
                self.keep("pods", peer.name,
                          figure(peers.start_at_a_time(peer, self.plan.peer_pods // slow, 1)))
                self.keep("pods at once", peer.name,
                          figure(peers.start_at_a_time(peer, self.plan.peer_pods * 2 // slow, 8)))

    def try_peer(self, kind, bundle):
        """The peer, when it can run the command once; else a note that says why not."""
        if shutil.which(kind.name) is None:
            self.notes.append(f"{kind.name} is not installed: not measured.")
            return None
        try:
            peer = kind(bundle)
            if not peers.start_at_a_time(peer, 1, 1)["latencies"]:
                raise RuntimeError("the command did not run")
            return peer
        except (RuntimeError, subprocess.CalledProcessError) as error:
            self.notes.append(f"{kind.name} could not run here: {error}")
            self.say(f"WARNING: {self.notes[-1]}")
            return None

    def jobs(self, yard):
        count = self.plan.jobs
        self.say(f"{count} Jobs of one line")
        before, all_before = cpu_of(yard.pid), yard.serving_cpu()
        began = time.monotonic()
        connections = [yard.connect() for _ in range(8)]
        for first in range(0, count, len(connections)):
            for offset, connection in enumerate(connections[:count - first]):
                connection.send("POST", JOBS, job(f"line-{first + offset}", ["echo", "done"]))
            for connection in connections[:count - first]:
                status, text = connection.answer()
                if status != 201:
                    raise RuntimeError(f"a Job was refused: {status} {text[:300]!r}")
        yard.wait_for(JOBS, b'"type":"Complete"', count, 120)
        seconds = time.monotonic() - began
        used = cpu_of(yard.pid) - before
        yard.wait_for_no_shims()
        self.keep("jobs", "ours", {"seconds": seconds, "server_cpu_s": used,
                                   "all_cpu_s": yard.serving_cpu() - all_before})

    def idle(self, yard):
        count = self.plan.idle_pods
        self.say(f"{count} idle pods")
        connection = yard.connect()
        for number in range(count):
            connection.ask("POST", PODS, yard.pod(f"idle-{number}", ["/out/stamp", f"idle-{number}", "/out/stamps", "wait"]))
        began = 0
        while began < count:
            began += sum(name.startswith("idle-") for name, _ in yard.stamps.wait(30))
        time.sleep(2)
        shims = yard.shims()
        if len(shims) != count:
            raise RuntimeError(f"{count} pods, {len(shims)} shims")
        watched = [yard.pid, *yard.keepers(), *shims]
        before = sum(cpu_of(pid) for pid in watched)
        time.sleep(self.plan.idle_seconds)
        used = sum(cpu_of(pid) for pid in watched) - before
        self.keep("idle pods", "ours", {
            "private_kb": statistics.median(private_kb(pid) for pid in shims),
            "private_kb_most": max(private_kb(pid) for pid in shims),
            "cpu_percent": used / self.plan.idle_seconds * 100,
            "server_mb": int(read(f"/proc/{yard.pid}/status").partition("VmRSS:")[2].split()[0]) / 1024})
        connection.ask("DELETE", PODS)
        yard.wait_for_no_shims()

    def flood(self, yard):
        """One pod works in steps; another floods its log meanwhile."""
        self.say("a pod that floods its log")
        connection = yard.connect()
        connection.ask("POST", PODS, yard.pod("steps", ["/out/stamp", "steps", "/out/stamps"],
                                              container={"resources": {"requests": {"cpu": "1"}}}))
        quiet = self.steps(yard)
        connection.ask("POST", PODS, yard.pod("flood", ["/out/stamp", "flood"]))
        yard.wait_for(PODS, b'"phase":"Running"', 2, 10)
        flooded = self.steps(yard)
        followed = follow(yard, "flood", self.plan.flood_seconds)
        wait_for_rotation(yard, "flood", 60)
        self.keep("flood", "ours", {"slower_percent": (flooded / quiet - 1) * 100, "kept_mb": kept_mb(yard, "flood"),
                                    **followed})
        connection.ask("DELETE", PODS)
        yard.wait_for_no_shims()

    def syncs(self, yard):
        """How many commits stand between asking for a pod and its first instruction: a second server, whose every sync takes
        longer by a known time, beside the first."""
        slow = Yard(self.program, self.scratch, "ours-slow-syncs", TRAINYARD_SYNC_DELAY_MS=str(SYNC_DELAY_MS))
        try:
            shutil.copy(self.stamp, os.path.join(slow.out, "stamp"))
            for each in (yard, slow):
                start_pods(each, "warm-syncs", 10, 1)
            for number in range(self.plan.rounds):
                self.say(f"pods with {SYNC_DELAY_MS} ms more a sync, round {number + 1}")
                taken = {each: [] for each in (yard, slow)}
                for turn in range(SYNC_PODS):
                    for each in (yard, slow):
                        taken[each] += start_pods(each, f"sync-{number}-{turn}", 1, 1)["from_asking"]
                        time.sleep(SYNC_PAUSE_S / 2)
                plain, slower = (statistics.median(taken[each]) for each in (yard, slow))
                self.keep("syncs", "ours", {"plain_ms": plain, "slow_ms": slower, "commits": (slower - plain) / SYNC_DELAY_MS})
        finally:
            slow.stop()

    def steps(self, yard):
        """The median of a step, over some seconds."""
        yard.stamps.take()
        until, found = time.monotonic() + self.plan.flood_seconds, []
        while time.monotonic() < until:
            found += [value for name, value in yard.stamps.wait() if name == "step"]
        return statistics.median(found)


def follow(yard, pod, seconds):
    """kubectl logs -f of the flood: how much comes, and how many lines are missing without a word about it."""
    connection = yard.connect()
    connection.send("GET", f"{PODS}/{pod}/log?follow=true&tailLines=1")
    until = time.monotonic() + seconds
    last, silent, told, total, rest = None, 0, 0, 0, b""
    for part in connection.parts():
        total += len(part)
        lines, newline, rest_of = (rest + part).rpartition(b"\n")
        rest = rest_of
        numbers = [int(lines[:12]), int(lines[lines.rfind(b"\n") + 1:][:12])] if newline and b"[" not in lines else None
        if b"[" in lines:  # the one line that says what was skipped; numbers go on from wherever
            told, last = told + lines.count(b"[trainyard]"), None
        elif numbers:
            first = numbers[0] if last is None else last + 1
            silent += (numbers[1] - first) - lines.count(b"\n")
            last = numbers[1]
        if time.monotonic() > until:
            break
    connection.socket.close()
    return {"follow_mb_s": total / 1e6 / seconds, "lines_lost_silently": silent, "losses_told": told}


def start_pods(yard, prefix, count, at_a_time, **container):
    """Creates `count` pods, so many under way at once; a pod is under way until its command has begun. `container`: what
    theirs have besides."""
    cpu, began = yard.serving_cpu(), time.monotonic()
    waiting = selectors.DefaultSelector()
    free = [yard.connect() for _ in range(at_a_time)]
    asked, asked_at, answered, stamped = {}, {}, {}, {}
    waiting.register(yard.stamps, selectors.EVENT_READ)
    for connection in free:
        waiting.register(connection, selectors.EVENT_READ)
    number, under_way = 0, 0
    while len(stamped) < count or len(answered) < count:
        while free and number < count and under_way < at_a_time:
            connection, name, before = free.pop(), f"{prefix}-{number}", time.time_ns()
            connection.send("POST", PODS, yard.pod(name, ["/out/stamp", name, "/out/stamps"], container=container))
            asked[connection], asked_at[name] = name, before
            number, under_way = number + 1, under_way + 1
        ready = waiting.select(20)
        if not ready:
            raise RuntimeError(f"of {number} pods only {len(stamped)} began within 20 s")
        for key, _ in ready:
            if key.fileobj is yard.stamps:
                for name, at in yard.stamps.take():
                    if name in asked_at:  # not the last word of a pod of the phase before
                        stamped[name] = at
                        under_way -= 1
            else:
                status, text = key.fileobj.answer()
                answered[asked[key.fileobj]] = time.time_ns()
                if status != 201:
                    raise RuntimeError(f"a pod was refused: {status} {text[:300]!r}")
                free.append(key.fileobj)
    seconds = time.monotonic() - began
    waiting.close()
    yard.wait_for(PODS, b'"phase":"Succeeded"', count, 30)
    yard.wait_for_no_shims()
    used = yard.serving_cpu() - cpu
    clean = yard.connect()
    clean.ask("DELETE", PODS)
    return {"latencies": sorted((stamped[name] - answered[name]) / 1e6 for name in stamped),
            "from_asking": sorted((stamped[name] - asked_at[name]) / 1e6 for name in stamped),
            "per_second": count / seconds, "cpu_ms": used / count * 1e3}


def job(name, words):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "bench", "command": words}]}}}}


def private_kb(pid):
    rollup = read(f"/proc/{pid}/smaps_rollup")
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_"))


def log_files(yard, pod):
    return [os.path.join(folder, name) for folder, _, files in os.walk(os.path.join(yard.state, "logs"))
            for name in files if f"_{pod}_" in folder]


def wait_for_rotation(yard, pod, seconds):
    """Until the oldest lines have been dropped: then what is kept is what always is."""
    until = time.monotonic() + seconds
    while not any(path.endswith(".log.5") for path in log_files(yard, pod)):
        if time.monotonic() > until:
            raise RuntimeError(f"the flood did not fill its log within {seconds} s")
        time.sleep(0.1)


def kept_mb(yard, pod):
    total = 0
    for path in log_files(yard, pod):
        try:
            total += os.path.getsize(path)
        except OSError:
            pass  # rotated away meanwhile
    return total / 1e6
