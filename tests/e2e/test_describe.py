"""What `kubectl describe pod`, `get pods -o wide` and `get jobs` print, whole, for each state a pod or a Job can be in.

All of them are made once, side by side; each row of the tables here is what one of them must look like. Dates, ages,
addresses and generated names are masked."""
import json
import os
import re

import pytest

from harness import Kubectl, available_kubectls, eventually, newest_kubectl
from pods import shell

FOREVER = "while true; do sleep 0.1; done"
STUBBORN = "trap '' TERM; " + FOREVER
IMAGE = 'Container image "busybox" is not unpacked: the host\'s own programs run in its place'
NOT_THERE = ("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: "
             "1 Preemption is not helpful for scheduling. (`kubectl label node NODE disk=none` adds what is asked for)")
TOO_FAT = 'Usage of EmptyDir volume "v" exceeds the limit "1Mi".'

PODS = [
    shell("pending", "true", nodeSelector={"disk": "none"}),
    shell("init", "true", initContainers=[{"name": "i", "image": "busybox", "command": ["sleep", "1000"]}]),
    shell("running", FOREVER),
    shell("crash-loop", "exit 1", restartPolicy="Always"),
    shell("oom", "exec python3 -c 'x = bytearray(10**9)'", container={"resources": {"limits": {"memory": "64Mi"}}}),
    shell("completed", "true"),
    shell("failed", "printf why > /dev/termination-log; exit 3"),
    shell("evicted", "head -c 3000000 /dev/zero > /v/x; " + FOREVER, volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}],
          container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
    shell("terminating", STUBBORN, terminationGracePeriodSeconds=600),
]


def job(name, script, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"backoffLimit": 0, **spec, "template": {
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [
            {"name": "c", "image": "busybox", "command": ["sh", "-c", script]}]}}}}


JOBS = [
    job("active", FOREVER), job("complete", "true"), job("failed", "exit 1"), job("suspended", "true", suspend=True),
    job("indexed", "true", completions=3, parallelism=2, completionMode="Indexed"),
    {**job("going", FOREVER), "metadata": {"name": "going", "finalizers": ["example.com/hold"]}},
    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work-queue"}, "spec": {**job("", FOREVER)["spec"], "parallelism": 2}},
]

# Everything of READY, STATUS, RESTARTS; whether there are an address and a node.
POD_ROWS = {
    "pending": ("0/1", "Pending", "0", "<none>", "<none>"), "init": ("0/1", "Init:0/1", "0", "IP", "NODE"),
    "running": ("1/1", "Running", "0", "IP", "NODE"), "crash-loop": ("0/1", "CrashLoopBackOff", "N (AGE ago)", "IP", "NODE"),
    "oom": ("0/1", "OOMKilled", "0", "IP", "NODE"), "completed": ("0/1", "Completed", "0", "IP", "NODE"),
    "failed": ("0/1", "Error", "0", "IP", "NODE"), "terminating": ("1/1", "Terminating", "0", "IP", "NODE"),
    "evicted": ("0/1", "Error", "0", "IP", "NODE"),  # the container's own reason comes before the pod's
}

JOB_ROWS = {
    "active": ["Running", "0/1", "AGE", "AGE"], "complete": ["Complete", "1/1", "AGE", "AGE"], "failed": ["Failed", "0/1", "AGE", "AGE"],
    "suspended": ["Suspended", "0/1", "AGE"],  # no start, no duration
    "indexed": ["Complete", "3/3", "AGE", "AGE"], "going": ["Terminating", "0/1", "AGE", "AGE"],
    "work-queue": ["Running", "0/1 of 2", "AGE", "AGE"],
}

READY = {"PodReadyToStartContainers": "True", "Initialized": "True", "Ready": "True", "ContainersReady": "True", "PodScheduled": "True"}
WAITING = {**READY, "Ready": "False", "ContainersReady": "False"}
ENDED = {**WAITING, "PodReadyToStartContainers": "False"}
STARTED = [("Normal", "Scheduled", "default-scheduler", "Successfully assigned NAMESPACE/POD to NODE"),
           ("Normal", "Pulled", "kubelet", IMAGE), ("Normal", "Created", "kubelet", "Created container: c"),
           ("Normal", "Started", "kubelet", "Started container c")]
RUNS = ["State: Running", "Started: DATE", "Ready: True", "Restart Count: 0"]


def ended(reason, code, *message):
    return ["State: Terminated", f"Reason: {reason}", *message, f"Exit Code: {code}", "Started: DATE", "Finished: DATE",
            "Ready: False", "Restart Count: 0"]


# The lines of the status, of the container, the conditions, and the events.
DESCRIBED = {
    "pending": (["Status: Pending"], [], {"PodScheduled": "False"}, [("Warning", "FailedScheduling", "default-scheduler", NOT_THERE)]),
    "init": (["Status: Pending"], ["State: Waiting", "Reason: PodInitializing", "Ready: False", "Restart Count: 0"],
             {**WAITING, "Initialized": "False"},
             [*STARTED[:2], ("Normal", "Created", "kubelet", "Created container: i"), ("Normal", "Started", "kubelet", "Started container i")]),
    "running": (["Status: Running"], RUNS, READY, STARTED),
    "crash-loop": (["Status: Running"],
                   ["State: Waiting", "Reason: CrashLoopBackOff", "Last State: Terminated", "Reason: Error", "Exit Code: 1",
                    "Started: DATE", "Finished: DATE", "Ready: False", "Restart Count: N"], WAITING,
                   [*STARTED, ("Warning", "BackOff", "kubelet", "Back-off restarting failed container c in pod POD_NAMESPACE(UID)")]),
    "oom": (["Status: Failed"], ended("OOMKilled", 137), ENDED, STARTED),
    "completed": (["Status: Succeeded"], ended("Completed", 0), ENDED, STARTED),
    "failed": (["Status: Failed"], ended("Error", 3, "Message: why"), ENDED, STARTED),
    "evicted": (["Status: Failed", "Reason: Evicted", f"Message: {TOO_FAT}"], ended("Error", 137), ENDED,
                [*STARTED, ("Warning", "Evicted", "kubelet", TOO_FAT), ("Normal", "Killing", "kubelet", "Stopping container c")]),
    "terminating": (["Status: Terminating (lasts AGE)", "Termination Grace Period: 600s"], RUNS, READY,
                    [*STARTED, ("Normal", "Killing", "kubelet", "Stopping container c")]),
}
AGE = r"<invalid>|(\d+[dhms])+"


def raw_rows(text):
    """Cells parted by two spaces or more, so that `1 (3s ago)` and `0/1 of 2` stay whole."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def pod_states(kubectl):
    return {cells[0]: cells[2] for cells in raw_rows(kubectl("get", "pods").out)[1:]}


@pytest.fixture(scope="module")
def shown(yard):
    """A namespace where every pod and Job has reached its state."""
    if not yard.is_ours:
        pytest.skip("the image and its events are ours")
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, yard, yard.new_namespace())
    kubectl("create", "-f", "-", stdin=PODS + JOBS)
    eventually(lambda: pod_states(kubectl).get("terminating") == "Running")
    kubectl("delete", "pod", "terminating", "--wait=false")
    wanted = {name: cells[1] for name, cells in POD_ROWS.items()}
    try:
        eventually(lambda: {n: s for n, s in pod_states(kubectl).items() if n in wanted} == wanted, 25)
        kubectl("wait", "--for=condition=complete", "job/complete", "job/indexed", "--timeout=60s")
        kubectl("wait", "--for=condition=failed", "job/failed", "--timeout=60s")
        kubectl("delete", "job", "going", "--wait=false")
        yield kubectl
    finally:
        kubectl("patch", "job", "going", "--type=merge", "-p", json.dumps({"metadata": {"finalizers": None}}), expect=None)
        kubectl("delete", "pod", "terminating", "--grace-period=0", "--force", expect=None)


@pytest.fixture(params=list(available_kubectls()))
def kubectl(request, shown):
    path, minor = available_kubectls()[request.param]
    return Kubectl(path, minor, shown.yard, shown.namespace)


@pytest.fixture
def masks(kubectl):
    node = kubectl.json("get", "nodes")["items"][0]["metadata"]["name"]

    def mask(text, pod):
        uid = kubectl.json("get", "pod", pod)["metadata"]["uid"]
        text = text.replace(uid, "UID").replace(f"{pod}_{kubectl.namespace}", "POD_NAMESPACE")
        text = text.replace(f"{kubectl.namespace}/{pod} to", "NAMESPACE/POD to")
        text = re.sub(rf"(to|label node) {re.escape(node)}\b", r"\1 NODE", text)
        text = re.sub(r"\w{3}, \d\d \w{3} \d{4} [\d:]+ [+-]\d{4}", "DATE", text)
        text = re.sub(r"(Restart Count: +)[1-9]\d*", r"\1N", text)
        return re.sub(rf"\(lasts ({AGE})\)", "(lasts AGE)", text)
    return node, mask


def test_the_wide_table_of_pods(kubectl, masks):
    eventually(lambda: is_the_wide_table(kubectl, masks[0]))


def is_the_wide_table(kubectl, node):
    header, *rows = raw_rows(kubectl("get", "pods", "-o", "wide").out)
    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    found = {}
    for name, ready, state, restarts, age, address, where, nominated, gates in rows:
        assert re.fullmatch(AGE, age) and (nominated, gates) == ("<none>", "<none>")
        found[name] = (ready, state, re.sub(rf"\d+ \(({AGE}) ago\)", "N (AGE ago)", restarts),
                       re.sub(r"[\d.]{7,}", "IP", address), "NODE" if where == node else where)
    assert {name: cells for name, cells in found.items() if name in POD_ROWS} == POD_ROWS
    return True


@pytest.mark.parametrize("name", list(DESCRIBED))
def test_describe_pod(kubectl, masks, name):
    """Every line beside tests/e2e/described/STATE.txt; of an old kubectl, which words the rest differently, the parts that
    tell the state."""
    node, mask = masks
    # Asked again: the one that crashes runs for a moment now and then.
    if kubectl.minor < 27:
        eventually(lambda: is_described(kubectl, mask, name))
        return
    with open(os.path.join(os.path.dirname(__file__), "described", name + ".txt"), encoding="utf-8") as stream:
        expected = stream.read()

    def is_the_same():
        assert plain(kubectl("describe", "pod", name).out, kubectl, mask, name, node) == expected
        return True
    eventually(is_the_same)


def is_described(kubectl, mask, name):
    text = mask(kubectl("describe", "pod", name).out, name)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    status, container, conditions, events = DESCRIBED[name]

    first = next(i for i, line in enumerate(lines) if line.startswith("Status:"))
    ip = next(i for i, line in enumerate(lines) if line.startswith("IP:"))
    assert [line for line in lines[first:ip] if not line.startswith("SeccompProfile")] == status

    own = lines[lines.index("Containers:"):lines.index("Conditions:")]
    starts = [i for i, line in enumerate(own) if line.startswith("State:")]
    ends = [i for i, line in enumerate(own) if line.startswith("Restart Count:")]
    assert (own[starts[0]:ends[0] + 1] if starts else []) == container

    between = lines[lines.index("Conditions:") + 2:lines.index("Volumes:")]
    assert dict(line.split() for line in between) == conditions

    rows = [re.split(r" {2,}", line.strip(), maxsplit=4) for line in text[text.index("\nEvents:"):].splitlines()[4:]]
    assert [(kind, reason, source, message.strip()) for kind, reason, _, source, message in rows] == events
    return True


def plain(text, kubectl, mask, name, node):
    """The text with what differs from run to run masked, one space between words; the indentation stays."""
    text = mask(text, name).replace(kubectl.namespace, "NAMESPACE").replace("NAMESPACE/POD", f"NAMESPACE/{name}")
    text = re.sub(rf"^(Node: +){re.escape(node)}/", r"\1NODE/", text, flags=re.M)
    text = re.sub(r"kube-api-access-\w{5}", "kube-api-access-RANDOM", text)
    text = re.sub(r"\b10\.244\.\d+\.\d+|\b127\.6\d\.\d+\.\d+", "IP", text)
    text = re.sub(r"(trainyard://UID/c/)[1-9]\d*", r"\1N", text)
    text = re.sub(rf"(?<=  )({AGE})( \(x\d+ over ({AGE})\))?(?=  )", "AGE", text)
    # kubectl before 1.33 names it so, and shows what was not set as <nil>
    text = re.sub(r"ConfigMapOptional: +<nil>", "Optional: false", text)
    text = re.sub(r"^( +)-+( +-+)+$\n", "", text, flags=re.M)
    return "\n".join(re.match(" *", line)[0] + " ".join(line.split()) for line in text.splitlines()) + "\n"


def test_the_table_of_jobs(kubectl):
    header, *rows = raw_rows(kubectl("get", "jobs").out)
    assert header == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    masked = {name: [re.sub(rf"^({AGE})$", "AGE", cell) for cell in cells] for name, *cells in rows}
    assert masked == JOB_ROWS
    header, *rows = raw_rows(kubectl("get", "jobs", "-o", "wide").out)
    assert header[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in kubectl.json("get", "jobs")["items"]}
    assert {cells[0]: cells[-3:] for cells in rows} == \
        {name: ["c", "busybox", f"batch.kubernetes.io/controller-uid={uid}"] for name, uid in uids.items()}
