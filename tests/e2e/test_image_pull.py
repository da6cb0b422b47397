"""Images from a registry on loopback: policies, Secrets, back-off, and what people are told."""
import json
import os
import pty
import re
import signal
import subprocess
import threading
import time

from harness import BINARY, Stream, eventually
from registries import PlayedRegistry, busybox_image, busybox_layer, configure, image_of, secret_of, up_with

PODS = "/api/v1/namespaces/default/pods"


def pod_of(name, image, policy="IfNotPresent", command=("cat", "/word"), **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", **spec,
                     "containers": [{"name": "c", "image": image, "imagePullPolicy": policy, "command": list(command)}]}}


def status(yard, name):
    return yard.request("GET", f"{PODS}/{name}").json["status"]


def said(yard, one):
    name = one["metadata"]["name"]
    yard.create(PODS, one)
    eventually(lambda: status(yard, name)["phase"] == "Succeeded", about=f"{name} ended")
    return yard.request("GET", f"{PODS}/{name}/log").text


def events(yard, name):
    listed = yard.request("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}").json
    return [(event["reason"], event["message"]) for event in listed["items"]]


def waiting(yard, name, reason):
    def state():
        statuses = status(yard, name).get("containerStatuses", [{}])
        found = statuses[0].get("state", {}).get("waiting", {})
        return found if found.get("reason") == reason else None
    return eventually(state, about=f"{name} waits for {reason}")


def test_each_pull_policy(own_yard, registry):
    source = registry()
    name = source.push("me/app", "1", busybox_image({"word": "first"}))
    up_with(own_yard, source)
    own_yard.create(PODS, pod_of("never", name, "Never"))
    assert waiting(own_yard, "never", "ErrImageNeverPull")["message"] == f'Container image "{name}" is not present with pull policy of Never'
    assert said(own_yard, pod_of("absent", name)) == "first"
    eventually(lambda: "Started" in dict(events(own_yard, "absent")), about="its events")
    told = dict(events(own_yard, "absent"))
    assert told["Pulling"] == f'Pulling image "{name}"'
    assert told["Pulled"].startswith(f'Successfully pulled image "{name}" in ') and "Image size: " in told["Pulled"]
    shown = status(own_yard, "absent")["containerStatuses"][0]
    assert shown["imageID"] == f"{name.rsplit(':', 1)[0]}@{busybox_image({'word': 'first'}).digest}"
    # The waiting one finds it on its next look, without a pull.
    eventually(lambda: status(own_yard, "never")["phase"] == "Succeeded", about="never runs now")
    source.push("me/app", "1", busybox_image({"word": "second"}))
    assert said(own_yard, pod_of("present", name)) == "first"
    eventually(lambda: ("Pulled", f'Container image "{name}" already present on machine') in events(own_yard, "present"),
               about="the event Pulled")
    assert said(own_yard, pod_of("always", name, "Always")) == "second"
    assert said(own_yard, pod_of("again", name, "Always")) == "second"
    source.stop()
    assert said(own_yard, pod_of("offline", name)) == "second"
    node = own_yard.request("GET", "/api/v1/nodes").json["items"][0]
    assert any(name in each["names"] for each in node["status"]["images"])


def test_a_private_registry_and_its_secret(own_yard, registry):
    source = registry(users={"me": "hunter2-private"})
    name = source.push("me/app", "1", busybox_image({"word": "private"}))
    up_with(own_yard, source)
    own_yard.create(PODS, pod_of("without", name))
    backed_off = waiting(own_yard, "without", "ImagePullBackOff")["message"]
    assert backed_off.startswith(f'Back-off pulling image "{name}": ErrImagePull: ')
    for told in (("Failed", "Error: ErrImagePull"), ("BackOff", f'Back-off pulling image "{name}"')):
        eventually(lambda told=told: told in events(own_yard, "without"), about=f"the event {told}")
    own_yard.create("/api/v1/namespaces/default/secrets", secret_of(source, "login"))
    assert said(own_yard, pod_of("with", name, imagePullSecrets=[{"name": "login"}])) == "private"
    everything = json.dumps([own_yard.request("GET", "/api/v1/namespaces/default/events").json, status(own_yard, "without")])
    with open(os.path.join(own_yard.state, "server.log"), encoding="utf-8") as stream:
        assert "hunter2-private" not in everything + stream.read()


def test_what_is_not_there_is_said(own_yard, registry):
    source = registry()
    up_with(own_yard, source)
    own_yard.create(PODS, pod_of("missing", f"{source.name}/no/such:1"))
    assert "no/such" in waiting(own_yard, "missing", "ErrImagePull")["message"]
    own_yard.create(PODS, pod_of("unnamed", "Not/An/Image:1"))
    waiting(own_yard, "unnamed", "InvalidImageName")


def test_without_a_registry_the_host_stands_in(own_yard):
    own_yard.up()
    assert said(own_yard, pod_of("host", "nobody/has:this", command=("echo", "host"))) == "host\n"


def test_two_pulls_of_one_image_are_one(own_yard, registry):
    source = registry()
    name = source.push("me/app", "1", busybox_image({"word": "one"}))
    up_with(own_yard, source)
    for number in range(4):
        own_yard.create(PODS, pod_of(f"p{number}", name))
    for number in range(4):
        eventually(lambda number=number: status(own_yard, f"p{number}")["phase"] == "Succeeded", about=f"p{number}")
    assert own_yard.command("image", "ls", "-q").out == name + "\n"


# YARD_IMAGE_KILLS=30 is the proof; a few show here that the steps are right.
KILLS = int(os.environ.get("YARD_IMAGE_KILLS", "3"))


def big_image(source):
    layers = [busybox_layer(), *({f"f{number}-{each}": os.urandom(100_000) for each in range(10)} for number in range(4))]
    return source.push("me/big", "1", image_of(*layers, Env=["PATH=/bin"]))


def whole(yard, name):
    """A pod sees every file of it."""
    return said(yard, pod_of(name.rsplit("/", 1)[1].replace(":", "-"), name,
                             command=("sh", "-c", "n=0; for f in /f*; do n=$((n+1)); done; echo $n"))) == "40\n"


def nothing_is_staged(yard):
    staging = os.path.join(yard.state, "images/staging")
    eventually(lambda: os.listdir(staging) == [], about="nothing is left on its way")


def test_killed_pulls_are_completed_by_the_next(own_yard, registry):
    source = registry()
    name = big_image(source)
    configure(own_yard, source)
    pull = [*own_yard.as_user, BINARY, "image", "pull", "-q", name, "--state", own_yard.state]

    def take_away():
        own_yard.command("image", "rm", name, expect=None)
        assert os.listdir(os.path.join(own_yard.state, "images/layers")) == []
    began = time.monotonic()
    subprocess.run(pull, check=True, stdout=subprocess.DEVNULL, timeout=30)
    whole_s = time.monotonic() - began
    take_away()
    kills = 0
    for turn in range(KILLS * 4):
        process = subprocess.Popen(pull, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=whole_s * (turn % KILLS + 0.5) / KILLS)  # at another place each time
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        listed = own_yard.command("image", "ls", "-q").out
        assert listed in ("", name + "\n")
        if listed:
            take_away()
        if kills == KILLS:
            break
    assert kills == KILLS, f"only {kills} pulls were killed before they were done"
    own_yard.up()
    assert whole(own_yard, name)
    nothing_is_staged(own_yard)


def test_a_server_killed_while_it_pulls_completes_it_when_it_starts_again(own_yard, registry):
    source = registry()
    name = big_image(source)
    configure(own_yard, source)
    for turn in range(max(1, KILLS // 3)):
        own_yard.up()
        one = pod_of(f"p{turn}", name, command=("sh", "-c", "ls / > /dev/null && echo whole"))
        own_yard.create(PODS, one)
        eventually(lambda turn=turn: ("Pulling", f'Pulling image "{name}"') in events(own_yard, f"p{turn}"), about="it pulls")
        own_yard.kill()
        assert own_yard.command("image", "ls", "-q").out in ("", name + "\n")
        own_yard.up()
        eventually(lambda turn=turn: status(own_yard, f"p{turn}")["phase"] == "Succeeded", about="the pod ended")
        nothing_is_staged(own_yard)
        own_yard.request("DELETE", f"{PODS}/p{turn}?gracePeriodSeconds=0")
        eventually(lambda: own_yard.command("image", "rm", name, expect=None).code == 0, about="the image is free")
        own_yard.down()


def test_the_size_limit_spares_what_is_in_use_and_what_was_used_last(own_yard, registry):
    source = registry()
    names = [source.push(f"me/app{number}", "1", busybox_image({"data": os.urandom(3_000_000), "word": str(number)}))
             for number in range(4)]
    up_with(own_yard, source, sizeLimit="11Mi")

    def listed():
        return own_yard.command("image", "ls", "-q").out.split()

    def used(name, second):
        folder = os.path.join(own_yard.state, "images/names")
        for file in os.listdir(folder):
            with open(os.path.join(folder, file), encoding="utf-8") as stream:
                if json.load(stream)["name"] == name:
                    os.utime(os.path.join(folder, file), (second, second))
    own_yard.create(PODS, pod_of("holds", names[0], command=("sleep", "600"), terminationGracePeriodSeconds=0))
    eventually(lambda: status(own_yard, "holds")["phase"] == "Running", about="a pod stands on the first")
    for number in (1, 2):
        assert said(own_yard, pod_of(f"p{number}", names[number])) == str(number)
    assert sorted(listed()) == names[:3], "what was used in the last minute stays, above the limit too"
    for number, name in enumerate(names[:3]):
        used(name, 1000 + number)  # the held one was used longest ago
    assert said(own_yard, pod_of("p3", names[3])) == "3"
    assert sorted(listed()) == [names[0], names[2], names[3]], "the least recently used that no pod stands on went"
    assert os.listdir(os.path.join(own_yard.state, "images/staging")) == []


def test_how_far_a_pull_has_come_is_told(own_yard, tmp_path):
    """In the status of the pod, by `run`, by `why`; and by `image pull` on a terminal."""
    image = busybox_image({"data": os.urandom(3_000_000)})
    source = PlayedRegistry({"slow": image})
    opened = threading.Event()
    source.held[json.loads(image.manifest)["layers"][1]["digest"]] = (2_000_000, opened)
    try:
        up_with(own_yard, source)
        name = f"{source.name}/slow:1"
        job = tmp_path / "job.json"
        job.write_text(json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "slow"}, "spec": {
            "template": {"spec": pod_of("x", name, command=("echo", "it ran"))["spec"]}}}))
        with Stream([*own_yard.as_user, BINARY, "run", str(job)], own_yard.environment()) as run:
            seen = []
            while "pulling its image" not in (seen or [""])[-1]:
                seen.append(run.line())
            assert re.search(r"pod slow-\S+ is pulling its image: 1 of 2 layers, \d\.\d MiB of \d\.\d MiB, [\d.]+ .iB/s", seen[-1]), seen
            why = own_yard.command("why", "job/slow", expect=None).out
            assert "is pulling its image: 1 of 2 layers, " in why, why
            opened.set()
            while not seen[-1].endswith("it ran"):
                seen.append(run.line())
        own_yard.command("delete", "job", "slow")
        eventually(lambda: own_yard.command("image", "rm", name, expect=None).code == 0, about="the image is free")
        shown = on_a_terminal([*own_yard.as_user, BINARY, "image", "pull", name], own_yard.environment())
        # Without a rate where it was too quick for one.
        assert re.search(r"\r\x1b\[K2 of 2 layers, (\S+ MiB) of \1[,\r]", shown), shown
    finally:
        opened.set()
        source.close()


def on_a_terminal(command, environment):
    """What the command shows there, until it ends."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:
            pass  # so a terminal says that nobody writes to it any more
        os.close(ours)
        assert process.wait(timeout=30) == 0, shown
    return shown.decode()
