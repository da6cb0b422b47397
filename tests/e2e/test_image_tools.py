"""Images of other tools: what podman and buildah have in their own store, and archives, there and back."""
import json
import os
import shutil
import subprocess
import tempfile

import pytest

from harness import eventually
from registries import BUSYBOX, configure, need, tar_of, busybox_layer, up_with

PODS = "/api/v1/namespaces/default/pods"


class Podman:
    """podman, buildah and skopeo on a store of their own."""

    def __init__(self, folder, driver):
        need("podman", "buildah", "skopeo", BUSYBOX)
        self.folder, self.store = str(folder), os.path.join(folder, "storage")
        self.runs = tempfile.mkdtemp(prefix="yard-run-")  # podman takes no path of over 50 characters
        self.options = ["--root", self.store, "--runroot", self.runs, "--storage-driver", driver]

    def end(self):
        subprocess.run(["podman", *self.options, "system", "reset", "--force"], capture_output=True, timeout=60)
        shutil.rmtree(self.runs, ignore_errors=True)

    def run(self, tool, *arguments, stdin=None):
        done = subprocess.run([tool, *self.options, *arguments], input=stdin, capture_output=True, timeout=60)
        if done.returncode != 0 and b"overlay" in done.stderr and b"not supported" in done.stderr:
            pytest.skip(f"NOT TRIED: podman cannot keep images here: {done.stderr.decode()[-200:]}")
        assert done.returncode == 0, f"{tool} {' '.join(arguments)}: {done.stderr.decode()}"
        return done.stdout.decode().strip()

    def make(self, name, word):
        """A base by `podman import`, and what buildah adds to it: two layers, an entrypoint, a removed file."""
        self.run("podman", "import", "--change", "ENV=PATH=/bin", "-", "localhost/base:1",
                 stdin=tar_of({**busybox_layer(), "gone": "x", "linked": "same", "again": {"hard": "linked"}}))
        recipe = os.path.join(self.folder, "Containerfile")
        with open(recipe, "w", encoding="utf-8") as stream:
            stream.write(f'FROM localhost/base:1\nRUN ["/bin/sh", "-c", "echo {word} > /word; /bin/busybox rm /gone"]\n'
                         'WORKDIR /etc\nENTRYPOINT ["/bin/cat", "/word"]\n')
        self.run("buildah", "bud", "--isolation", "chroot", "-t", name, "-f", recipe, self.folder)
        return self.run("podman", "inspect", "--format", "{{.Id}}", f"localhost/{name}")

    def open_to(self, yard):
        """As a store that this user may read."""
        if yard.user:
            subprocess.run(["chown", "-R", f"{yard.user.pw_uid}:{yard.user.pw_gid}", self.store], check=True)


@pytest.fixture
def podman(tmp_path, request):
    made = Podman(tmp_path, getattr(request, "param", "overlay"))
    yield made
    made.end()


def pod_of(name, image, policy="IfNotPresent", **container):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": image, "imagePullPolicy": policy, **container}]}}


def status(yard, name):
    return yard.request("GET", f"{PODS}/{name}").json["status"]


def said(yard, one):
    name = one["metadata"]["name"]
    yard.create(PODS, one)
    eventually(lambda: status(yard, name)["phase"] in ("Succeeded", "Failed"), about=f"{name} ended")
    return yard.request("GET", f"{PODS}/{name}/log").text


def events(yard, name):
    listed = yard.request("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}").json
    return [(event["reason"], event["message"]) for event in listed["items"]]


def test_what_podman_has_runs_and_is_never_changed(own_yard, podman):
    first = podman.make("me/app:1", "first")
    podman.open_to(own_yard)
    up_with(own_yard, stores=[podman.store])
    assert own_yard.create(PODS, pod_of("one", "me/app:1"))["metadata"]["name"] == "one"
    eventually(lambda: status(own_yard, "one")["phase"] == "Succeeded", about="one ended")
    assert own_yard.request("GET", f"{PODS}/one/log").text == "first\n"
    assert status(own_yard, "one")["containerStatuses"][0]["imageID"] == f"sha256:{first}"
    words = ("Pulled", 'Container image "me/app:1" already present on machine')
    eventually(lambda: words in events(own_yard, "one"), about="the event Pulled")
    assert "Pulling" not in dict(events(own_yard, "one"))
    looks = {"command": ["sh", "-c", "echo $(pwd) $(cat /again); test ! -e /gone"]}
    assert said(own_yard, pod_of("looks", "localhost/me/app:1", "Never", **looks)) == "/etc same\n"
    assert status(own_yard, "looks")["phase"] == "Succeeded"
    # Built again it is another image, and the next pod has that one.
    second = podman.make("me/app:1", "second")
    podman.open_to(own_yard)
    assert first != second and said(own_yard, pod_of("two", "me/app:1")) == "second\n"
    assert podman.run("podman", "images", "--format", "{{.Id}}", "--no-trunc", "localhost/me/app:1") == second
    # What cannot be read is as if it were not there: the host stands in, and the log says why.
    third = podman.make("me/app:1", "third")
    with open(os.path.join(podman.store, "overlay-layers/layers.json"), encoding="utf-8") as stream:
        newest = json.load(stream)[-1]["id"]
    os.unlink(os.path.join(podman.store, f"overlay-layers/{newest}.tar-split.gz"))
    podman.open_to(own_yard)
    own_yard.command("image", "rm", "me/app:1")
    assert third != second and said(own_yard, pod_of("three", "me/app:1", command=["echo", "host"])) == "host\n"
    with open(os.path.join(own_yard.state, "server.log"), encoding="utf-8") as stream:
        assert "is not taken from this machine's other tools" in stream.read()


@pytest.mark.parametrize("podman", ["vfs"], indirect=True)
def test_a_store_without_overlayfs_is_read_too(own_yard, podman):
    """As podman makes it where its kernel or its disk refuses: each layer a whole copy."""
    podman.make("me/app:1", "vfs")
    podman.open_to(own_yard)
    up_with(own_yard, stores=[podman.store])
    assert said(own_yard, pod_of("one", "me/app:1")) == "vfs\n"


@pytest.fixture
def docker(tmp_path):
    """docker(*arguments, stdin=): a daemon's client; the daemon has namespaces and a folder of its own, without a network."""
    if not shutil.which("dockerd") or os.geteuid() != 0:
        pytest.skip("NOT TRIED: needs root and a dockerd with overlay2 on the path (Debian's docker.io; nothing of it need run)")
    folder = tempfile.mkdtemp(prefix="yard-docker-", dir="/tmp")  # sockets want a short path
    address = f"unix://{folder}/socket"
    with open(os.path.join(folder, "log"), "wb") as log:
        daemon = subprocess.Popen(["unshare", "--mount", "--net", "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
                                   "--pidfile", f"{folder}/pid", "-H", address, "--iptables=false", "--ip6tables=false", "--bridge=none",
                                   "--storage-driver=overlay2"], stdout=log, stderr=log)

    def run(*arguments, stdin=None):
        done = subprocess.run(["docker", "-H", address, *arguments], input=stdin, capture_output=True, timeout=60,
                              env={**os.environ, "DOCKER_BUILDKIT": "0", "HOME": folder})
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()
    run.store = os.path.join(folder, "data")
    try:
        eventually(lambda: run("version"), about="dockerd answers")
        yield run
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def test_what_docker_has_runs(own_yard, docker):
    docker("import", "--change", "ENV PATH=/bin", "-", "base:1",
           stdin=tar_of({**busybox_layer(), "gone": "x", "linked": "same", "again": {"hard": "linked"}}))
    recipe = ('FROM base:1\nRUN ["/bin/busybox", "rm", "/gone"]\nRUN ["/bin/sh", "-c", "echo docker > /word"]\nWORKDIR /etc\n'
              'ENTRYPOINT ["/bin/cat", "/word"]\n')
    docker("build", "--network", "none", "-t", "me/app:1", "-", stdin=recipe.encode())
    made = docker("inspect", "--format", "{{.Id}}", "me/app:1").strip()
    if own_yard.user:
        subprocess.run(["chown", "-R", f"{own_yard.user.pw_uid}:{own_yard.user.pw_gid}", os.path.dirname(docker.store)], check=True)
    up_with(own_yard, stores=[docker.store])
    assert said(own_yard, pod_of("one", "docker.io/me/app:1")) == "docker\n"
    assert status(own_yard, "one")["containerStatuses"][0]["imageID"] == made
    looks = {"command": ["sh", "-c", "echo $(pwd) $(cat /again); test ! -e /gone"]}
    assert said(own_yard, pod_of("looks", "me/app:1", **looks)) == "/etc same\n"
    assert status(own_yard, "looks")["phase"] == "Succeeded"


def test_a_registry_is_asked_only_when_podman_has_not_got_it(own_yard, podman, registry):
    """And `Always` asks it all the same."""
    source = registry()
    podman.make("me/app:1", "podman")
    podman.run("podman", "tag", "localhost/me/app:1", f"{source.name}/me/app:1")
    podman.open_to(own_yard)
    up_with(own_yard, source, stores=[podman.store])
    name = f"{source.name}/me/app:1"
    assert said(own_yard, pod_of("here", name)) == "podman\n"
    own_yard.command("image", "rm", name)
    own_yard.create(PODS, pod_of("there", name, "Always"))
    eventually(lambda: "manifest unknown" in json.dumps(status(own_yard, "there")), about="the registry has none")


@pytest.mark.parametrize("tool", ["podman-docker", "podman-oci", "podman-dir", "buildah", "skopeo"])
def test_what_other_tools_save_loads(own_yard, podman, tool):
    podman.make("me/app:1", "saved")
    target = os.path.join(own_yard.folder, "saved")
    name = "localhost/me/app:1"
    if tool == "buildah":
        podman.run("buildah", "push", "-q", name, f"oci-archive:{target}:me/app:1")
    elif tool == "skopeo":
        from_store = f"containers-storage:[overlay@{podman.store}+{podman.options[3]}]{name}"
        subprocess.run(["skopeo", "copy", "-q", from_store, f"docker-archive:{target}:me/app:1"], check=True, timeout=60)
    else:
        form = {"docker": "docker-archive", "oci": "oci-archive", "dir": "oci-dir"}[tool.split("-")[1]]
        podman.run("podman", "save", "-q", "--format", form, "-o", target, name)
    subprocess.run(["chmod", "-R", "a+rX", target], check=True)
    assert own_yard.command("image", "load", target, "--name", "me/app:1").out.startswith("loaded me/app:1 (2 layers")
    own_yard.up()
    assert said(own_yard, pod_of("loaded", "me/app:1")) == "saved\n"


def test_ours_load_in_podman_and_run_there_unchanged(own_yard, podman):
    podman.make("me/app:1", "through us")
    podman.open_to(own_yard)
    configure(own_yard, stores=[podman.store])
    assert "loaded me/app:1 (2 layers" in own_yard.command("image", "load", "containers-storage:me/app:1").out
    saved = os.path.join(own_yard.folder, "ours.tar")
    own_yard.command("image", "save", "me/app:1", "-o", saved)
    podman.run("podman", "rmi", "--force", "localhost/me/app:1")
    assert "me/app:1" in podman.run("podman", "load", "-q", "-i", saved)
    tag = podman.run("podman", "images", "--format", "{{.Repository}}:{{.Tag}}").splitlines()
    name = next(each for each in tag if each.endswith("me/app:1"))
    assert podman.run("podman", "inspect", "--format", "{{.Config.Entrypoint}}", name) in ("[/bin/cat /word]", "/bin/cat /word")
    container = podman.run("buildah", "from", "--pull-never", name)
    assert podman.run("buildah", "run", "--isolation", "chroot", container, "/bin/cat", "/word") == "through us"
    assert podman.run("buildah", "run", "--isolation", "chroot", container, "/bin/sh", "-c", "test ! -e /gone && echo gone") == "gone"
    podman.run("buildah", "rm", container)
    assert "neither podman nor docker" in own_yard.command("image", "load", "containers-storage:no/such:1", expect=5).err
