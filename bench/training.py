"""Phases of training jobs: a two-rank DDP job beside the same processes by hand, and a thousand jobs on simulated nodes."""
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time

import yaml

import training_peer

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS, NODES = 1000, 100
PLAYED_S = 2.5           # how long a played pod runs
PEER_LONGEST_S = 300
RANK_CPU = "print('cpu', __import__('time').process_time(), flush=True)"
PATH = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"


class Socket(http.client.HTTPConnection):
    """The server of a state folder, by its own socket."""

    def __init__(self, folder):
        super().__init__("localhost", timeout=60)
        self.path = os.path.join(folder, "api.sock")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None, accept="application/json"):
        self.request(method, path, None if body is None else json.dumps(body),
                     {"Content-Type": "application/json", "Accept": accept})
        answer = self.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return text


def conditions(job):
    return {c["type"] for c in job.get("status", {}).get("conditions", []) if c["status"] == "True"}


def own_ticks(folder):
    """Processor seconds of every process that serves the folder: the server, its shims, the keeper; not of the pods."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                if folder.encode() not in stream.read():
                    continue
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
                fields = stream.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


def has_torch():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode == 0


def example():
    with open(os.path.join(ROOT, "examples/pytorchjob-ddp.yaml"), encoding="utf-8") as stream:
        job = json.loads(json.dumps(yaml.safe_load(stream)))  # its replicas share one template: each gets its own
    replicas = job["spec"]["pytorchReplicaSpecs"]
    for spec in replicas.values():
        container = spec["template"]["spec"]["containers"][0]
        container["command"] = ["/usr/bin/python3", "-u", "-c"]
        container["args"] = [container["args"][0] + RANK_CPU]
        spec["restartPolicy"] = "Never"
    job["spec"]["runPolicy"] = {"cleanPodPolicy": "None"}
    return job, replicas["Master"]["template"]["spec"]["containers"][0]["args"][0]


def cpu_said(text):
    return float(re.findall(r"^cpu ([0-9.]+)$", text, re.M)[-1])


def ddp_through_us(api, folder, name, gate=True):
    job, _ = example()
    if not gate:  # torch waits for its master itself
        job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {"annotations": {"trainyard.dev/wait-for": ""}}
    job["metadata"]["name"] = name
    before, began = own_ticks(folder), time.monotonic()
    api.ask("POST", PATH, job)
    while True:
        states = conditions(json.loads(api.ask("GET", f"{PATH}/{name}")))
        if states & {"Succeeded", "Failed"}:
            break
        time.sleep(0.01)
    wall = time.monotonic() - began
    if "Failed" in states:
        raise RuntimeError(f"{name} failed")
    pods = [f"{name}-master-0", f"{name}-worker-0"]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(
            json.loads(api.ask("GET", f"/api/v1/namespaces/default/pods/{pod}"))["status"]["phase"] == "Running"
            for pod in pods):
        time.sleep(0.05)
    ranks = sum(cpu_said(api.ask("GET", f"/api/v1/namespaces/default/pods/{pod}/log")) for pod in pods)
    cpu = own_ticks(folder) - before + ranks
    api.ask("DELETE", f"{PATH}/{name}")
    return wall, cpu


def ddp_by_hand(command):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    began = time.monotonic()
    processes = [subprocess.Popen(
        command(rank, port), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "RANK": str(rank),
             "OMP_NUM_THREADS": str(max(1, os.cpu_count() // 2)), "PYTHONUNBUFFERED": "1"}) for rank in (0, 1)]
    first = processes[0].communicate(timeout=120)[0]
    wall = time.monotonic() - began     # a job is over with its master
    return wall, cpu_said(first) + cpu_said(processes[1].communicate(timeout=120)[0])


def ddp_by_torchrun(script):
    """As information: what its own launcher takes for the same two ranks."""
    began = time.monotonic()
    # torch 1.13 stumbles over its own defaults of the last two.
    subprocess.run(["/usr/bin/python3", "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", "--redirects", "1:1",
                    "--tee", "1:1", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=120)
    return time.monotonic() - began


def plans(run, load_program):
    """One look at a job of a thousand replicas, in a process of its own."""
    done = subprocess.run([load_program, "plan", "--replicas", "1000"], capture_output=True, text=True, timeout=120, check=True)
    for name, value in json.loads(done.stdout).items():
        run.figures[(f"plan {name}", "ours")] = [value]


def ddp(run, start_ours, stop):
    if not has_torch():
        print("bench: LOUD: python3-torch is not installed, the DDP row is missing (tools/setup run)", file=sys.stderr)
        return
    folder = run.folder("ours-ddp")
    server = start_ours(folder)
    api = Socket(folder)
    program = example()[1]
    script = os.path.join(run.scratch, "ddp.py")
    with open(script, "w", encoding="utf-8") as stream:
        stream.write(program)
    by_hand = lambda rank, port: ["/usr/bin/python3", "-u", "-c", program]
    ddp_by_hand(by_hand)                # the page cache is warm for both
    for number in range(run.plan.ddp_rounds):
        for ours in ((True, False) if number % 2 == 0 else (False, True)):
            wall, cpu = ddp_through_us(api, folder, f"ddp-{number}") if ours else ddp_by_hand(by_hand)
            run.figures.setdefault(("ddp ours" if ours else "ddp by hand", "ours"), []).append({"wall": wall, "cpu": cpu})
        wall, cpu = ddp_through_us(api, folder, f"open-{number}", gate=False)
        run.figures.setdefault(("ddp open", "ours"), []).append({"wall": wall, "cpu": cpu})
        run.figures.setdefault(("ddp torchrun", "ours"), []).append(ddp_by_torchrun(script))
    hand, ours = run.figures[("ddp by hand", "ours")], run.figures[("ddp ours", "ours")]
    middle = lambda rows, key: sorted(row[key] for row in rows)[len(rows) // 2]
    for key in ("wall", "cpu"):
        run.figures[(f"ddp more {key}", "ours")] = [max(0.0, middle(ours, key) - middle(hand, key))]
        run.figures[(f"ddp hand {key}", "ours")] = [middle(hand, key)]
        open_gate = run.figures[("ddp open", "ours")]
        run.figures[(f"ddp open more {key}", "ours")] = [max(0.0, middle(open_gate, key) - middle(hand, key))]
    subprocess.run([os.path.join(ROOT, "build/trainyard"), "down", "--state", folder], capture_output=True, check=False)
    stop(server)


def job_body():
    pod = {"metadata": {"annotations": {"trainyard.dev/play": f"run={PLAYED_S}s"}}, "spec": {"containers": [
        {"name": "pytorch", "image": "pytorch/pytorch", "command": ["python", "train.py"],
         "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}
    replica = lambda count: {"replicas": count, "restartPolicy": "OnFailure", "template": pod}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "NAME"},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"},
                     "pytorchReplicaSpecs": {"Master": replica(1), "Worker": replica(3)}}}


def states(api):
    """The STATE of every job, as kubectl shows it."""
    table = json.loads(api.ask("GET", PATH, accept="application/json;as=Table;v=v1;g=meta.k8s.io"))
    return [row["cells"][1] for row in table["rows"]]


def make_thousand(run, server, api, load, longest_s):
    """How long until all of them have reached a state, and the processor time of all who served that."""
    body = os.path.join(run.scratch, "pytorchjob.json")
    with open(body, "w", encoding="utf-8") as stream:
        json.dump(job_body(), stream)
    before, began = server.processor_seconds(), time.monotonic()
    load(server, "create", connections=8, count=JOBS, body=body, path=PATH, prefix="t")
    found = {}
    while "succeeded" not in found and time.monotonic() - began < longest_s:
        now = states(api)
        passed = time.monotonic() - began
        if len(now) == JOBS and all(state in ("Running", "Succeeded") for state in now):
            found.setdefault("running", passed)
        if len(now) == JOBS and all(state == "Succeeded" for state in now):
            found["succeeded"] = passed
        time.sleep(0.1)
    found["cpu"] = server.processor_seconds() - before
    run.figures.setdefault(("thousand", server.name), []).append(found)


def thousand(run, start_ours, stop, load):
    folder = run.folder("ours-thousand")
    server = start_ours(folder, "--simulate", f"nodes={NODES},cpu=64,memory=512Gi")
    make_thousand(run, server, Socket(folder), load, 60)
    stop(server)


def thousand_of_peer(run, start_peer, stop, load):
    """Minutes. The operator has no part in the start or the memory of its server."""
    if not training_peer.is_built():
        run.notes.append("training-operator is not built (bench/peers/build operator): its thousand jobs were not measured.")
        return
    server = start_peer(run.folder("peer-thousand"))
    operator = training_peer.Operator(server.folder, run.scratch)
    try:
        server.pids.append(operator.process.pid)
        player = training_peer.Player(operator.peer, PLAYED_S)
        make_thousand(run, server, operator.peer.again(), load, PEER_LONGEST_S)
        player.over = True
    finally:
        operator.stop()
        server.pids.pop()
        stop(server)


def rows(made, Bar):
    made.add("2-rank DDP job: wall more than by hand", "ddp more wall", unit="s", bar=Bar("≤ 300 ms", ours_at_most=0.3))
    made.add("2-rank DDP job: CPU more than by hand", "ddp more cpu", unit="s", bar=Bar("≤ 150 ms", ours_at_most=0.15))
    made.add("2-rank DDP job without its start gate: wall more", "ddp open more wall", unit="s")
    made.add("2-rank DDP job without its start gate: CPU more", "ddp open more cpu", unit="s")
    made.add("2-rank DDP by hand: wall", "ddp hand wall", unit="s")
    made.add("2-rank DDP by hand: CPU of both ranks", "ddp hand cpu", unit="s")
    made.add("2-rank DDP by torchrun: wall", "ddp torchrun", unit="s")
    made.add("a look at a job of 1,000 replicas that run", "plan steady_ms", unit="ms", bar=Bar("≤ 5 ms", ours_at_most=5))
    made.add("a look while they are made, 50 at a time", "plan making_ms", unit="ms", bar=Bar("≤ 5 ms", ours_at_most=5))
    made.add("all looks until they are made", "plan all_ms", unit="ms")
    title = f"{JOBS:,} PyTorchJobs × 4, pods played, beside training-operator"
    made.add(f"{title}: all Running", "thousand", "running", unit="s", bar=Bar("≤ 3 s", ours_at_most=3))
    made.add(f"{title}: all Succeeded ({PLAYED_S} s of it played)", "thousand", "succeeded", unit="s",
             bar=Bar("≤ 6 s", ours_at_most=6))
    made.add(f"{title}: CPU of all that serve", "thousand", "cpu", unit="s")
