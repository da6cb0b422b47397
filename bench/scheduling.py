"""The scheduler: pods that wait, and the nodes come. Nobody serves the nodes, as in the peer's own benchmark."""
import json
import os
import time

from training import Socket

NODES, PODS = 5_000, 50_000
PODS_PATH = "/api/v1/namespaces/default/pods"
KUBE_SCHEDULER = 243  # pods a second on two cores, the same nodes and pods (scheduler 1.34, its own benchmark)
LONGEST_S = 180


def pod_body():
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME"},
            "spec": {"tolerations": [{"operator": "Exists"}],  # a new node is not ready until somebody says so
                     "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "3600"],
                                     "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}


def node_body():
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "NAME"}, "status": {"capacity": amounts, "allocatable": amounts}}


def is_any_unbound(api):
    return bool(json.loads(api.ask("GET", f"{PODS_PATH}?fieldSelector=spec.nodeName%3D&limit=1"))["items"])


def place(run, start_ours, stop, load):
    """From the first of the nodes to the last pod bound."""
    server = start_ours(run.folder("ours-schedule"), "--simulate", "nodes=1,cpu=100m,memory=1Gi")
    bodies = {}
    for name, made in (("pod", pod_body()), ("node", node_body())):
        bodies[name] = os.path.join(run.scratch, f"{name}.json")
        with open(bodies[name], "w", encoding="utf-8") as stream:
            json.dump(made, stream)
    pods = PODS // 10 if run.plan.many < 100_000 else PODS
    load(server, "create", connections=16, count=pods, body=bodies["pod"], path=PODS_PATH, prefix="p")
    api, before, began = Socket(server.folder), server.processor_seconds(), time.monotonic()
    load(server, "create", connections=16, count=NODES, body=bodies["node"], path="/api/v1/nodes", prefix="n")
    while is_any_unbound(api):
        if time.monotonic() - began > LONGEST_S:
            raise RuntimeError(f"not all of {pods} pods are bound after {LONGEST_S} s")
        time.sleep(0.05)
    seconds = time.monotonic() - began
    run.figures[("schedule", "ours")] = [{"per_second": pods / seconds, "seconds": seconds,
                                          "cpu": server.processor_seconds() - before}]
    stop(server)


def rows(made, Bar):
    title = f"{PODS:,} pods that wait, {NODES:,} nodes come"
    made.add(f"{title}: bound a second, kube-scheduler {KUBE_SCHEDULER}", "schedule", "per_second", unit="",
             bar=Bar(f"≥ 50 × {KUBE_SCHEDULER}", ours_at_least=50 * KUBE_SCHEDULER))
    made.add(f"{title}: all bound", "schedule", "seconds", unit="s")
    made.add(f"{title}: server CPU", "schedule", "cpu", unit="s")
