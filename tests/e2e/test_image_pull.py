"""Images from a registry on loopback: policies, Secrets, back-off, and what people are told."""
import base64
import json
import os
import signal
import subprocess

import pytest
import yaml

from harness import BINARY, eventually
from registries import DockerRegistry, busybox_image, busybox_layer, image_of

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def registry(tmp_path):
    made = []

    def start(**more):
        made.append(DockerRegistry(str(tmp_path), **more))
        return made[-1]
    yield start
    for each in made:
        each.close()


def up_with(yard, *registries, **images):
    os.makedirs(yard.state, mode=0o700, exist_ok=True)
    if yard.user:
        os.chown(yard.state, yard.user.pw_uid, yard.user.pw_gid)
    with open(os.path.join(yard.state, "config.yaml"), "w", encoding="utf-8") as stream:
        yaml.safe_dump({"images": {"registries": {each.name: each.config_entry() for each in registries}, **images}}, stream)
    yard.up()


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
    eventually(lambda: status(own_yard, "never")["phase"] == "Succeeded", deadline_s=30, about="never runs now")
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
    own_yard.create("/api/v1/namespaces/default/secrets", {
        "metadata": {"name": "login"}, "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(source.docker_config().encode()).decode()}})
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


KILLS = int(os.environ.get("YARD_IMAGE_KILLS", "3"))  # `make proofs` asks for 30


def test_killed_pulls_are_completed_by_the_next(own_yard, registry):
    source = registry()
    layers = [busybox_layer(), *({f"f{number}-{each}": os.urandom(100_000) for each in range(10)} for number in range(4))]
    name = source.push("me/big", "1", image_of(*layers, Env=["PATH=/bin"]))
    up_with(own_yard, source)
    for turn in range(KILLS):
        process = subprocess.Popen([BINARY, "image", "pull", name, "--state", own_yard.state], stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.02 + 0.03 * turn)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert own_yard.command("image", "ls", "-q").out in ("", name + "\n")
    assert said(own_yard, pod_of("big", name, command=("sh", "-c", "ls / | grep -c ^f || ls / | wc -l"))) != ""
    assert os.listdir(os.path.join(own_yard.state, "images/staging")) == []
