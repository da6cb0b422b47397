"""What stands in for an image: the map of the config, or the host."""
import os
import shutil
import subprocess

import pytest
import yaml

from harness import eventually


def pod(name, image, **container):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": image, **container}]}}


def with_config(yard, config):
    os.makedirs(yard.state, mode=0o700, exist_ok=True)
    with open(os.path.join(yard.state, "config.yaml"), "w", encoding="utf-8") as stream:
        stream.write(config if isinstance(config, str) else yaml.safe_dump(config))
    yard.give(yard.state)
    return yard


@pytest.mark.parametrize("config,words", [
    ("images:\n  fallbak: host\n", "line 2, column 3: images.fallbak is no setting"),
    ("port: 0\nimages:\n  map:\n    a/b:*: {colour: red}\n", "line 4, column 13: images.map.a/b:*.colour is no part"),
    ("ports: 1\n", "line 1, column 1: ports is no setting; known are"),
    ("images: {fallback: maybe}\n", "images.fallback must be host or refuse"),
    ("images:\n  registries:\n    r.lab: {mirror: []}\n",
     "line 3, column 13: images.registries.r.lab.mirror is no setting of a registry"),
])
def test_a_mistake_in_the_config_is_named_with_its_place(own_yard, config, words):
    assert words in with_config(own_yard, config).command("up", expect=1).err


@pytest.fixture
def image_root(tmp_path):
    """A root folder with a few programs and the libraries they need, and nothing else."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    for program in ("/bin/dash", "/bin/cat", "/bin/ls"):
        shutil.copy(program, root / "bin")
        for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
            for word in line.split():
                if word.startswith("/") and os.path.exists(word):
                    target = root / word[1:]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(word, target)
    (root / "bin/dash").rename(root / "bin/sh")
    (root / "word").write_text("from the root folder")
    return root


def phase(yard, name):
    return yard.request("GET", f"/api/v1/namespaces/default/pods/{name}").json["status"]


def waiting(yard, name, reason):
    def state():
        statuses = phase(yard, name).get("containerStatuses", [{}])
        found = statuses[0].get("state", {}).get("waiting", {})
        return found if found.get("reason") == reason else None
    return eventually(state, about=f"{name} waits for {reason}")


def events(yard, name):
    listed = yard.request("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}").json
    return {(event["reason"], event["message"]) for event in listed["items"]}


def test_args_of_an_entry_stand_in_for_those_the_yaml_lacks(own_yard):
    with_config(own_yard, {"images": {"map": {"me/tool:*": {"entrypoint": ["/bin/echo"], "args": ["of", "the", "entry"]}}}})
    own_yard.up()

    def said(name, **container):
        run = own_yard.command("run", "-", stdin=yaml.safe_dump(pod(name, "me/tool:1", **container)), expect=0)
        return run.out.splitlines()[0].split("] ", 1)[1]
    assert said("neither") == "of the entry"
    assert said("args", args=["mine"]) == "mine"
    assert said("command", command=["/bin/echo", "whole"]) == "whole"


def test_a_root_folder_is_the_root_and_stays_as_it_is(own_yard, image_root):
    own_yard.give(image_root)
    with_config(own_yard, {"images": {"fallback": "refuse", "map": {"me/tool:*": {
        "root": str(image_root), "entrypoint": ["/bin/sh", "-c"], "env": {"A": "from the entry", "B": "lost"},
        "workingDir": "/work"}}}})
    own_yard.up()
    run = own_yard.command("run", "-", stdin=yaml.safe_dump(pod(
        "mapped", "me/tool:1", args=["cat /word; echo; pwd; echo $A $B; echo new > /word; cat /word; ls /etc/passwd 2>&1 || true"],
        env=[{"name": "B", "value": "from the pod"}])), expect=0)
    lines = [line.split("] ", 1)[1] for line in run.out.splitlines()]
    assert lines[:4] == ["from the root folder", "/work", "from the entry from the pod", "new"]
    assert "No such file" in lines[4], "nothing of the host is there"
    assert (image_root / "word").read_text() == "from the root folder"
    status = phase(own_yard, "mapped")["containerStatuses"][0]
    assert status["image"] == "me/tool:1" and status["imageID"] == f"map://{image_root}"
    eventually(lambda: any(reason == "Pulled" and "is mapped to the root folder" in text
                           for reason, text in events(own_yard, "mapped")))
    made = own_yard.request("POST", "/api/v1/namespaces/default/pods", pod("strange", "strange:1"))
    assert "images.fallback is refuse" in made.headers["Warning"]
    waiting(own_yard, "strange", "ErrImagePull")
    backed_off = waiting(own_yard, "strange", "ImagePullBackOff")
    assert backed_off["message"].startswith('Back-off pulling image "strange:1": ErrImagePull: ')
    eventually(lambda: ("BackOff", 'Back-off pulling image "strange:1"') in events(own_yard, "strange"))
    assert ("Failed", "Error: ErrImagePull") in events(own_yard, "strange")
    assert "trainyard restart" in own_yard.command("why", "strange").out
    shown = own_yard.command("info").out
    assert "me/tool:*" in shown and "refuse" in shown
    own_yard.command("down")


def test_a_python_environment_is_the_pods_python(own_yard, tmp_path):
    folder = tmp_path / "env"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(folder)], check=True)
    with_config(own_yard, {"images": {"map": {"torch:*": {"python": str(folder)}, "gone:*": {"python": str(tmp_path / "no")}}}})
    own_yard.up()
    run = own_yard.command("run", "-", "--no-local", stdin=yaml.safe_dump(pod(
        "env", "torch:2", args=["sh", "-c", f"python -c 'import sys; print(sys.prefix)'; which python3; touch {folder}/x; true"])))
    assert [line.split("] ", 1)[1] for line in run.out.splitlines()][:2] == [str(folder), f"{folder}/bin/python3"]
    assert not (folder / "x").exists(), "the environment is read-only"
    own_yard.create("/api/v1/namespaces/default/pods", pod("gone", "gone:1", command=["true"]))
    assert "python3 -m venv" in waiting(own_yard, "gone", "CreateContainerError")["message"]
    own_yard.command("down")


def test_the_host_stands_in_and_says_so(yard):
    if not yard.is_ours:
        pytest.skip("needs a process of ours")
    made = yard.request("POST", "/api/v1/namespaces/default/pods", pod("plain", "busybox:1", args=["echo", "it", "runs"]))
    assert made.headers["Warning"].startswith("299 - ") and 'busybox:1' in made.headers["Warning"]
    eventually(lambda: phase(yard, "plain")["phase"] == "Succeeded")
    assert phase(yard, "plain")["containerStatuses"][0]["imageID"] == "host://busybox:1"
    yard.create("/api/v1/namespaces/default/pods", pod("silent", "busybox:1"))
    assert 'images: {map: {"busybox:1": {entrypoint:' in waiting(yard, "silent", "CreateContainerError")["message"]
    yard.create("/api/v1/namespaces/default/pods", pod("never", "busybox:1", imagePullPolicy="Never"))
    waiting(yard, "never", "ErrImageNeverPull")
    eventually(lambda: ("Failed", "Error: ErrImageNeverPull") in events(yard, "never"))
    yard.create("/api/v1/namespaces/default/pods", pod("misnamed", "Busybox"))
    waiting(yard, "misnamed", "InvalidImageName")
