"""kill -9 of the server under mixed load: pods and Jobs are made, run, are asked and go, logs are followed, objects written.
What runs is not touched by it, what was acknowledged is there, no line is lost.

Every run of a container leaves a line in a file of the host, so that a second start, or none, is seen whatever the API says.
`make crash` does it 200 times."""
import collections
import contextlib
import http.client
import os
import random
import threading

from harness import PATIENCE_S, Api, Kubectl, eventually, newest_kubectl, until_cut_off
from pods import run_folders
from test_crash import Writer, stored

KILLS = int(os.environ.get("YARD_CRASH_KILLS", "40"))
WRITERS = 2
LONGEST_LIFE_S = 0.15  # of a server after it is ready and has acknowledged
MOST_ACKNOWLEDGED = 12  # so many writes, or fewer
COUNTERS = 3
PODS, JOBS = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"
COUNT = ("import os, time\n"
         "n = 0\n"
         "while not os.path.exists('/h/stop'):\n"
         "    print(n, flush=True); n += 1; time.sleep(0.01)\n"  # of the pod
         "print('end', n)\n")
# Notes its start, speaks, takes a moment, ends as told.
SHORT = "echo $ME >> /h/starts; for i in 1 2 3 4 5; do echo line $i; done; sleep 0.$((RANDOM % 10)); echo last; exit $CODE"


def template(folder, command, **env):
    name = {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
            "volumes": [{"name": "h", "hostPath": {"path": str(folder)}}],
            "containers": [{"name": "c", "image": "busybox", "command": command,
                            "env": [name, *({"name": key, "value": value} for key, value in env.items())],
                            "volumeMounts": [{"name": "h", "mountPath": "/h"}]}]}


class Client:
    """Does a few things, until the server is cut off; keeps what it meant to make."""

    def __init__(self, seed, folder):
        self.random = random.Random(seed)
        self.folder = folder
        self.serial = 0
        self.codes = {}        # pod -> exit code it must end with
        self.jobs = {}         # job -> indexes that fail
        self.deleted = set()   # names whose deletion was asked for
        self.problem = None

    def act_until_cut_off(self, api, deeds):
        with until_cut_off(self, api):
            for _ in range(deeds):
                self.act(api)

    def act(self, api):
        self.serial += 1
        choice = self.random.random()
        if choice < 0.35:
            self.make_pod(api)
        elif choice < 0.6:
            self.make_job(api)
        elif choice < 0.8 and self.codes:
            self.delete(api, PODS, self.random.choice(sorted(self.codes)))
        else:
            answer = api.request("GET", f"{PODS}/counter-0/log?tailLines=3")
            assert answer.status in (200, 400), answer.text

    def make_pod(self, api):
        name, code = f"short-{self.serial}", self.random.choice([0, 0, 1, 3, 77, 200])
        self.codes[name] = code
        self.send(api, "POST", PODS, {"metadata": {"name": name}, "spec": template(
            self.folder, ["bash", "-c", SHORT], CODE=str(code))})

    def make_job(self, api):
        name, fails = f"job-{self.serial}", self.random.random() < 0.5
        self.jobs[name] = fails
        script = SHORT.replace("$CODE", "$((JOB_COMPLETION_INDEX == 1 ? CODE : 0))")
        self.send(api, "POST", JOBS, {"metadata": {"name": name}, "spec": {
            "completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0,
            "template": {"spec": template(self.folder, ["bash", "-c", script], CODE="9" if fails else "0")}}})

    def delete(self, api, collection, name):
        self.deleted.add(name)
        self.send(api, "DELETE", f"{collection}/{name}", None)

    @staticmethod
    def send(api, verb, path, body):
        answer = api.request(verb, path, body)
        assert answer.status in (200, 201, 404), answer.text


class Follower:
    """Reads a counter's log as it grows, until cut off."""

    def __init__(self, name):
        self.name, self.lines, self.rounds = name, 0, 0
        self.problem = None

    def follow_until_cut_off(self, api):
        text = ""
        with until_cut_off(self, api):
            api.connection = http.client.HTTPSConnection(api.host, api.port, context=api.context, timeout=PATIENCE_S)
            api.connection.request("GET", f"{PODS}/{self.name}/log?follow=true&tailLines=50")
            answer = api.connection.getresponse()
            assert answer.status == 200, answer.read()
            while chunk := answer.read1(65536):
                text += chunk.decode()
        numbers = [int(line) for line in text.split("\n")[:-1]]  # the last one may be cut
        if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            self.problem = f"{self.name}: lines {numbers} are not one after the other"
        self.lines += len(numbers)
        self.rounds += bool(numbers)


def listed(yard, collection):
    answer = yard.request("GET", collection)
    assert answer.status == 200, answer.text
    return {item["metadata"]["name"]: item for item in answer.json["items"]}


def ended(yard):
    """Pods by name, once all of them but the counters have ended, and all Jobs have."""
    jobs = listed(yard, JOBS)  # first: a Job that has ended has let its pods go before
    pods = listed(yard, PODS)
    short = {name: one for name, one in pods.items() if not name.startswith("counter-")}
    waiting = [name for name, one in short.items() if one["status"]["phase"] not in ("Succeeded", "Failed")]
    waiting += [name for name, one in jobs.items()
                if not any(c["type"] in ("Complete", "Failed") for c in one["status"].get("conditions", []))]
    assert waiting == [], waiting
    return short, jobs


def check_pods(yard, client, pods, starts):
    for name, code in client.codes.items():
        if name not in pods:  # the create was never answered, or a deletion was
            assert starts[name] <= 1, f"{name} ran {starts[name]} times"
            continue
        end = pods[name]["status"]["containerStatuses"][0]["state"]["terminated"]
        if name in client.deleted and end["exitCode"] in (137, 143):
            continue  # ended by its deletion
        assert end["exitCode"] == code, f"{name}: {end}, expected {code}"
        assert pods[name]["status"]["containerStatuses"][0]["restartCount"] == 0
        assert starts[name] == 1, f"{name} ran {starts[name]} times"
        log = yard.request("GET", f"{PODS}/{name}/log").text
        assert log == "".join(f"line {i}\n" for i in range(1, 6)) + "last\n", f"{name}: {log!r}"


def check_jobs(client, pods, jobs, starts):
    for name, fails in client.jobs.items():
        if name not in jobs:
            continue  # the create was never answered
        status = jobs[name]["status"]
        counts = (status.get("succeeded", 0), status.get("failed", 0), status.get("active", 0))
        assert counts == ((2, 1, 0) if fails else (3, 0, 0)), f"{name}: {status}"
        assert status["completedIndexes"] == ("0,2" if fails else "0-2")
        assert not status.get("uncountedTerminatedPods"), status
        own = [one for one in pods.values() if one["metadata"].get("labels", {}).get("job-name") == name]
        assert len(own) == 3, [one["metadata"]["name"] for one in own]
        for one in own:
            assert starts[one["metadata"]["name"]] == 1, one["metadata"]["name"]
            assert not one["metadata"].get("finalizers"), "counted and let go"


def identities(yard):
    """What tells one run of a container from another."""
    found = {}
    for name, one in listed(yard, PODS).items():
        if name.startswith("counter-"):
            for container in one["status"].get("containerStatuses", []):
                found[name] = (container.get("containerID"), container["restartCount"], container["state"].get("running"))
    return found


def execution(kubectl):
    """A command in a pod that nobody waits for: it may be cut off anywhere, its pod may not."""
    return kubectl.stream("exec", "counter-0", "--", "sh", "-c", "echo x >> /h/executions; sleep 0.05")


def live_and_die(yard, client, writers, follower, chance):
    """One server's life: everybody does what they do, and anywhere in the middle of it it is killed."""
    acknowledged = threading.Semaphore(0)
    work = [(client.act_until_cut_off, chance.randint(1, 2)), (follower.follow_until_cut_off,),
            *((writer.write_until_cut_off, acknowledged) for writer in writers)]
    threads = [threading.Thread(target=act, args=(Api(yard.kubeconfig, yard.folder), *more)) for act, *more in work]
    for thread in threads:
        thread.start()
    for _ in range(chance.randint(0, MOST_ACKNOWLEDGED)):
        assert acknowledged.acquire(timeout=PATIENCE_S), [writer.problem for writer in writers]
    threading.Event().wait(chance.uniform(0, LONGEST_LIFE_S))
    yard.kill()
    for thread in threads:
        thread.join(PATIENCE_S)
    problems = [one.problem for one in (client, follower, *writers) if one.problem is not None]
    assert problems == [], problems


def check_writes(yard, writers):
    """As in test_crash.py: what was acknowledged is there, no revision is used twice."""
    found, revision = stored(yard.api)
    for writer in writers:
        writer.compare(found)
    revisions = [number for writer in writers for number in writer.revisions]
    assert len(revisions) == len(set(revisions)), "a revision was used twice"
    assert revision >= max(revisions, default=0), "the store went back in time"


def test_kills_under_mixed_load_and_nothing_is_lost_or_done_twice(own_yard, tmp_path):
    seed = os.environ.get("YARD_CRASH_SEED") or str(random.SystemRandom().randrange(10**6))
    print(f"seed {seed}: YARD_CRASH_SEED={seed} replays the choices")
    chance = random.Random(seed)
    tmp_path.chmod(0o777)
    client, follower = Client(seed, tmp_path), Follower("counter-1")
    writers = [Writer(number, seed) for number in range(WRITERS)]
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, "default")
    own_yard.up()
    for number in range(COUNTERS):
        own_yard.create(PODS, {"metadata": {"name": f"counter-{number}"},
                               "spec": template(tmp_path, ["python3", "-c", COUNT])})
    eventually(lambda: [run is not None for _, _, run in identities(own_yard).values()] == [True] * COUNTERS)
    before = identities(own_yard)
    for kill in range(KILLS):
        with execution(kubectl) if chance.random() < 0.2 else contextlib.nullcontext():
            live_and_die(own_yard, client, writers, follower, chance)
        own_yard.up()
        check_writes(own_yard, writers)
        if kill % 10 == 9:
            assert identities(own_yard) == before, f"after {kill + 1} kills"
    pods, jobs = eventually(lambda: ended(own_yard), about="everything ends")
    starts = collections.Counter((tmp_path / "starts").read_text().split())
    check_pods(own_yard, client, pods, starts)
    check_jobs(client, pods, jobs, starts)
    assert len(pods) > KILLS / 2 and len(jobs) > KILLS / 10, "there was something to lose"
    assert follower.rounds > 0 and sum(writer.serial for writer in writers) > KILLS, "and somebody to see it"
    print(f"{KILLS} kills: {sum(len(writer.revisions) for writer in writers)} writes acknowledged, {len(pods)} pods, {len(jobs)} Jobs, "
          f"{follower.lines} lines followed in {follower.rounds} lives")

    assert identities(own_yard) == before
    (tmp_path / "stop").touch()
    for name in before:
        end = eventually(lambda name=name: own_yard.request("GET", f"{PODS}/{name}").json["status"]["containerStatuses"][0]["state"]
                         .get("terminated"))
        assert end["exitCode"] == 0
        lines = own_yard.request("GET", f"{PODS}/{name}/log").text.split("\n")
        assert lines[:-2] == [str(n) for n in range(len(lines) - 2)] and lines[-2] == f"end {len(lines) - 2}"
    kubectl("delete", "jobs,pods", "--all")
    eventually(lambda: run_folders(own_yard) == [])
    own_yard.down()
    assert own_yard.leftovers() == []
