"""Images that lie unpacked on this machine: load, import, and pods that run from them."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from harness import BINARY, eventually, unmount
from registries import BUSYBOX, TOOLS, busybox_image, busybox_layer, image_of, need

PODS = "/api/v1/namespaces/default/pods"


def write_layout(folder, image, name):
    """An OCI layout on the disk, as skopeo writes it."""
    blobs = os.path.join(folder, "blobs", "sha256")
    os.makedirs(blobs)
    for digest, content in {**image.blobs, image.digest: image.manifest}.items():
        with open(os.path.join(blobs, digest[7:]), "wb") as stream:
            stream.write(content)
    index = {"schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": image.digest, "size": len(image.manifest),
        "annotations": {"org.opencontainers.image.ref.name": name}}]}
    for file, content in (("index.json", index), ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    return folder


@pytest.fixture
def layout(tmp_path, own_yard):
    """layout(image, name): its folder, readable by whoever runs the binary."""
    numbers = iter(range(100))

    def make(image, name):
        need(BUSYBOX)
        folder = os.path.join(own_yard.folder, f"layout-{next(numbers)}")
        write_layout(folder, image, name)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        return folder
    return make


def status(yard, name):
    return yard.request("GET", f"{PODS}/{name}").json["status"]


def ended(yard, name):
    return eventually(lambda: (lambda s: s if s["phase"] in ("Succeeded", "Failed") else None)(status(yard, name)),
                      about=f"{name} ended")


def logs(yard, name, container="c"):
    return yard.request("GET", f"{PODS}/{name}/log?container={container}").text


def pod_of(name, *containers, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [{"imagePullPolicy": "IfNotPresent", **each} for each in containers],
                     **spec}}


def mounts_of(yard):
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        return [line for line in stream if yard.state in line]


def test_a_job_whose_code_lies_only_in_an_imported_image(own_yard, tmp_path):
    need(BUSYBOX)
    root = os.path.join(own_yard.folder, "root")
    os.makedirs(os.path.join(root, "bin"))
    os.makedirs(os.path.join(root, "app"))
    shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
    for tool in TOOLS:
        os.symlink("busybox", os.path.join(root, "bin", tool))
    with open(os.path.join(root, "app/train.sh"), "w", encoding="utf-8") as stream:
        stream.write("echo trained with $RATE; touch /app/model; ls /app; test ! -e /usr/bin/python3\n")
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)
    said = own_yard.command("image", "import", root, "--name", "me/train:1", "--entrypoint", "/bin/sh", "--cmd", "/app/train.sh",
                            "--env", "RATE=0.1", "--env", "PATH=/bin", "--workdir", "/app").out
    assert said.startswith("loaded me/train:1 (1 layers")
    own_yard.up()
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
           "spec": {"completions": 2, "parallelism": 2,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "docker.io/me/train:1"}]}}}}
    own_yard.create("/apis/batch/v1/namespaces/default/jobs", job)
    eventually(lambda: own_yard.request("GET", "/apis/batch/v1/namespaces/default/jobs/train").json["status"].get("succeeded") == 2,
               about="the job is done")
    pods = own_yard.request("GET", PODS).json["items"]
    for each in pods:
        assert logs(own_yard, each["metadata"]["name"]) == "trained with 0.1\nmodel\ntrain.sh\n"
        assert each["status"]["containerStatuses"][0]["imageID"].startswith("sha256:")
    node = own_yard.request("GET", "/api/v1/nodes").json["items"][0]
    assert any("me/train:1" in each["names"] for each in node["status"]["images"])
    words = 'Container image "docker.io/me/train:1" already present on machine'
    eventually(lambda: words in {each["message"] for each in own_yard.request("GET", "/api/v1/namespaces/default/events").json["items"]},
               about="the event Pulled")
    # What the containers wrote is theirs alone.
    assert own_yard.command("image", "ls", "-q").out == "me/train:1\n"
    own_yard.create(PODS, pod_of("holds", {"name": "c", "image": "me/train:1", "command": ["sleep", "600"]},
                                 terminationGracePeriodSeconds=0))
    eventually(lambda: status(own_yard, "holds")["phase"] == "Running", about="a pod holds the image")
    assert "is used by pod default/holds" in own_yard.command("image", "rm", "me/train:1", expect=1).err
    assert own_yard.command("image", "prune", "--all").out == ""
    own_yard.down()
    assert mounts_of(own_yard) == []


def test_command_args_and_what_the_image_says(own_yard, layout):
    image = busybox_image(
        {"work": {"folder": 0o755}, "home": {"folder": 0o755}},
        Entrypoint=["/bin/echo", "entry"], Cmd=["cmd"], WorkingDir="/work", Env=["PATH=/bin", "A=image", "B=image"])
    own_yard.command("image", "load", layout(image, "rules:1"))
    own_yard.up()
    containers = {
        "neither": ({}, "entry cmd"),
        "args": ({"args": ["mine"]}, "entry mine"),
        "command": ({"command": ["/bin/echo", "only"]}, "only"),
        "both": ({"command": ["/bin/echo", "first"], "args": ["then"]}, "first then"),
        "expanded": ({"args": ["$(X)"], "env": [{"name": "X", "value": "x"}]}, "entry x"),
        "environment": ({"command": ["sh", "-c", "echo $A $B $(pwd) $HOME"], "env": [{"name": "B", "value": "yaml"}]},
                        "image yaml /work /root"),
        "folder": ({"command": ["pwd"], "workingDir": "/made/here"}, "/made/here"),
    }
    own_yard.create(PODS, pod_of("rules", *({"name": name, "image": "rules:1", **more} for name, (more, _) in containers.items())))
    ended(own_yard, "rules")
    assert {name: logs(own_yard, "rules", name).strip() for name in containers} == {
        name: words for name, (_, words) in containers.items()}


def test_the_user_of_an_image_and_of_the_yaml(own_yard, layout):
    folders = {"home": {"folder": 0o755}}
    own_yard.command("image", "load", layout(busybox_image(folders, User="worker"), "named:1"))
    own_yard.command("image", "load", layout(busybox_image(folders, User="77:88"), "numbers:1"))
    own_yard.command("image", "load", layout(busybox_image(folders, User="ghost"), "ghost:1"))
    own_yard.up()
    who = ["sh", "-c", "echo $(id -u):$(id -g) $HOME"]
    rows = {
        "a-name": ("named:1", {}, "1234:2345 /home"),
        "numbers": ("numbers:1", {}, "77:88 /"),
        "yaml": ("named:1", {"runAsUser": 5}, "5:0 /"),
        "yaml-known": ("numbers:1", {"runAsUser": 1234}, "1234:2345 /home"),
        "group": ("named:1", {"runAsGroup": 9}, "1234:9 /home"),
        "non-root": ("numbers:1", {"runAsNonRoot": True}, "77:88 /"),
    }
    own_yard.create(PODS, pod_of("who", *({"name": name, "image": image, "command": who, "securityContext": context}
                                          for name, (image, context, _) in rows.items())))
    refused = {
        "ghost": ("ghost:1", {}, "unable to find user ghost: no matching entries in passwd file"),
        "name-non-root": ("named:1", {"runAsNonRoot": True},
                          "container has runAsNonRoot and image has non-numeric user (worker), cannot verify user is non-root"),
    }
    for name, (image, context, _) in refused.items():
        own_yard.create(PODS, pod_of(name, {"name": "c", "image": image, "command": who, "securityContext": context}))
    ended(own_yard, "who")
    assert {name: logs(own_yard, "who", name).strip() for name in rows} == {name: words for name, (_, _, words) in rows.items()}
    for name, (_, _, words) in refused.items():
        eventually(lambda name=name, words=words: words in status(own_yard, name)["containerStatuses"][0]["state"]["waiting"].get(
            "message", ""), about=f"{name} is refused")


def test_stop_signal_volumes_and_a_root_that_cannot_be_written(own_yard, layout):
    own_yard.command("image", "load", layout(busybox_image(StopSignal="SIGUSR1", Volumes={"/data": {}, "/made/deep": {}}), "more:1"))
    own_yard.up()
    waits = "trap 'echo told by USR1; exit 0' USR1; while true; do sleep 0.05; done"
    own_yard.create(PODS, pod_of("told", {"name": "c", "image": "more:1", "command": ["sh", "-c", waits]}, activeDeadlineSeconds=1))
    writes = "touch /data/x /made/deep/x && ls /data /made/deep; touch /no 2> /dev/null || echo refused"
    own_yard.create(PODS, pod_of("volumes", {"name": "c", "image": "more:1", "command": ["sh", "-c", writes],
                                             "securityContext": {"readOnlyRootFilesystem": True}}))
    ended(own_yard, "volumes")
    assert logs(own_yard, "volumes").split() == ["/data:", "x", "/made/deep:", "x", "refused"]
    ended(own_yard, "told")
    eventually(lambda: logs(own_yard, "told") == "told by USR1\n", about="the image's own signal ended it")


def test_sparse_files_links_and_attributes_come_as_they_were(own_yard, layout, tmp_path):
    root = tmp_path / "files"
    root.mkdir()
    with open(root / "sparse", "wb") as stream:
        stream.seek(40_000_000)
        stream.write(b"end")
    (root / "one").write_text("same")
    os.link(root / "one", root / "two")
    has_attributes = True
    try:
        os.setxattr(root / "one", "user.color", b"red")
    except OSError:
        has_attributes = False
        print("NOT TRIED: no attributes on this disk")
    tar = subprocess.run(["tar", "--sparse", "--xattrs", "--format=pax", "-c", "-C", str(root), "sparse", "one", "two"], check=True,
                         capture_output=True).stdout
    assert len(tar) < 1_000_000
    own_yard.command("image", "load", layout(image_of(busybox_layer(), tar, Env=["PATH=/bin"]), "sparse:1"))
    folder = os.path.join(own_yard.state, "images/layers")
    unpacked = next(os.path.join(folder, each, "r") for each in os.listdir(folder) if os.path.exists(f"{folder}/{each}/r/sparse"))
    facts = os.stat(f"{unpacked}/sparse")
    assert facts.st_size == 40_000_003 and facts.st_blocks * 512 < 1_000_000, "its hole is one again"
    assert os.stat(f"{unpacked}/one").st_ino == os.stat(f"{unpacked}/two").st_ino
    if has_attributes:
        assert os.getxattr(f"{unpacked}/one", "user.color") == b"red"
    own_yard.up()
    own_yard.create(PODS, pod_of("sparse", {"name": "c", "image": "sparse:1", "command": ["sh", "-c", "cat /one /two; ls -s /sparse"]}))
    ended(own_yard, "sparse")
    assert logs(own_yard, "sparse").startswith("samesame")


def test_layers_cover_each_other(own_yard, layout):
    image = image_of(
        {**busybox_layer(), "d": {"folder": 0o755}, "d/old": "1", "d/gone": "1",
         "o": {"folder": 0o755}, "o/hidden": "1", "f": "lower"},
        {"d": {"folder": 0o755}, "d/.wh.gone": "", "d/new": "2", "o": {"folder": 0o755}, "o/.wh..wh..opq": "", "o/seen": "2",
         "f": "upper"},
        Env=["PATH=/bin"])
    own_yard.command("image", "load", layout(image, "layers:1"))
    own_yard.up()
    own_yard.create(PODS, pod_of("layers", {"name": "c", "image": "layers:1", "command": ["sh", "-c", "echo $(ls /d) $(ls /o) $(cat /f)"]}))
    ended(own_yard, "layers")
    assert logs(own_yard, "layers") == "new old seen upper\n"


def test_what_other_tools_write_loads(own_yard, layout):
    need("skopeo")
    source = "oci:" + layout(busybox_image({"word": "hello"}), "x") + ":x"

    def loads(path):
        subprocess.run(["chmod", "-R", "a+rX", path], check=True)
        assert own_yard.command("image", "load", path).out.startswith("loaded a/b:2 (2 layers"), path
        own_yard.command("image", "rm", "a/b:2")
    for form, more in (("docker-archive", []), ("oci-archive", []), ("oci", []), ("oci", ["--dest-compress-format", "zstd"])):
        target = os.path.join(own_yard.folder, f"copy-{form}-{len(more)}")
        subprocess.run(["skopeo", "copy", "-q", *more, source, f"{form}:{target}:a/b:2"], check=True)
        loads(target)
        if os.path.isfile(target):
            subprocess.run(["gzip", target], check=True)
            loads(target + ".gz")


def test_ours_load_in_other_tools(own_yard, layout, tmp_path):
    need("skopeo", "umoci")
    own_yard.command("image", "load", layout(busybox_image({"word": "hello"}, User="worker"), "x:1"))
    saved = os.path.join(own_yard.folder, "saved.tar")
    own_yard.command("image", "save", "x:1", "-o", saved)
    copy = tmp_path / "copy"
    subprocess.run(["skopeo", "copy", "-q", f"oci-archive:{saved}", f"oci:{copy}:x"], check=True)
    subprocess.run(["umoci", "raw", "unpack", "--rootless", "--image", f"{copy}:x", str(tmp_path / "root")], check=True,
                   capture_output=True)
    assert (tmp_path / "root/word").read_text() == "hello"
    own_yard.command("image", "rm", "x:1")
    assert own_yard.command("image", "load", saved).out.startswith("loaded x:1 (2 layers")


BAD = {
    "a digest that is not the bytes'": (lambda image: image.blobs.update({list(image.blobs)[1]: b"x" * len(list(image.blobs.values())[1])}),
                                        "damaged|digest"),
    "a layer that is cut off": (lambda image: image.blobs.update({list(image.blobs)[1]: list(image.blobs.values())[1][:50]}), "cut off"),
    "no layer at all": (lambda image: image.blobs.pop(list(image.blobs)[1]), "cannot open"),
}


@pytest.mark.parametrize("row", BAD)
def test_what_is_broken_leaves_nothing(own_yard, layout, row):
    image = busybox_image({"word": "hello"})
    change, words = BAD[row]
    change(image)
    loaded = own_yard.command("image", "load", layout(image, "bad:1"), expect=None)
    err = loaded.err
    assert loaded.code != 0 and any(word in err for word in words.split("|")), err
    assert own_yard.command("image", "ls", "-q").out == ""
    assert os.listdir(os.path.join(own_yard.state, "images/staging")) == []


def test_a_hostile_layer_stays_inside(own_yard, layout, tmp_path):
    hostile = {"out": {"link": "/tmp"}, "proc": {"link": "/"}, "dev": {"link": "/etc"}}
    own_yard.command("image", "load", layout(image_of({**busybox_layer(), **hostile}, Env=["PATH=/bin"]), "evil:1"))
    own_yard.up()
    own_yard.create(PODS, pod_of("evil", {"name": "c", "image": "evil:1", "command": ["true"]}))
    eventually(lambda: "the image has something else than a folder at /proc" in json.dumps(status(own_yard, "evil")), about="refused")
    escape = layout(image_of({"../../escaped": "x"}), "escape:1")
    assert "leads out of the image" in own_yard.command("image", "load", escape, expect=1).err


# YARD_IMAGE_KILLS=30 is the proof; a few show here that the steps are right.
KILLS = int(os.environ.get("YARD_IMAGE_KILLS", "4"))


def test_killed_loads_leave_no_half_image(own_yard, layout):
    big = {f"f{number}": os.urandom(200_000) for number in range(30)}
    folder = layout(image_of(busybox_layer(), big, Env=["PATH=/bin"]), "big:1")
    load = [*own_yard.as_user, BINARY, "image", "load", folder]
    began = time.monotonic()
    subprocess.run(load, env=own_yard.environment(), check=True, stdout=subprocess.DEVNULL, timeout=30)
    whole_s, kills = time.monotonic() - began, 0
    own_yard.command("image", "rm", "big:1")
    for turn in range(KILLS * 4):
        process = subprocess.Popen(load, env=own_yard.environment(), stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=whole_s * (turn % KILLS + 0.5) / KILLS)  # at another place each time
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        listed = own_yard.command("image", "ls", "-q").out
        assert listed in ("", "big:1\n")
        if listed:
            own_yard.command("image", "rm", "big:1")
        if kills == KILLS:
            break
    assert kills == KILLS, f"only {kills} loads were killed before they were done"
    assert own_yard.command("image", "load", folder).out.startswith("loaded big:1")
    assert os.listdir(os.path.join(own_yard.state, "images/staging")) == []
    own_yard.up()
    own_yard.create(PODS, pod_of("big", {"name": "c", "image": "big:1", "command": ["sh", "-c", "cat /f* | wc -c || cat /f29 > /dev/null"]}))
    assert ended(own_yard, "big")["phase"] == "Succeeded"


def test_where_the_disk_takes_no_upper_layer_what_is_written_stays_in_memory(own_yard, layout):
    if os.geteuid() != 0:
        pytest.skip("NOT TRIED: an overlay is mounted, for which the test must be root")
    folder = layout(busybox_image({"word": "lower"}), "memory:1")
    disk = os.path.join(own_yard.folder, "disk")
    lower, upper, work = (os.path.join(disk, name) for name in ("lower", "upper", "work"))
    for each in (own_yard.state, disk, lower, upper, work):
        os.makedirs(each)
    own_yard.give(disk)
    own_yard.give(own_yard.state)
    # An overlay cannot be the upper layer of another one. A tmpfs can, so none is below it.
    subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "overlay", own_yard.state],
                   check=True)
    try:
        own_yard.command("image", "load", folder)
        own_yard.up()
        own_yard.create(PODS, pod_of("writes", {"name": "c", "image": "memory:1", "command": [
            "sh", "-c", "cat /word; echo upper > /word; echo more > /more; cat /word /more; cat /proc/mounts"]}))
        assert ended(own_yard, "writes")["phase"] == "Succeeded"
        said = logs(own_yard, "writes")
        assert said.startswith("lowerupper\nmore\n") and ".memory/upper" in said.split(" / overlay ")[1].split("\n")[0], said
        own_yard.down()
    finally:
        own_yard.end()
        unmount(own_yard.state)
    assert mounts_of(own_yard) == []


def test_a_pod_with_a_gpu_has_the_drivers_libraries_beside_its_image(own_yard, layout, tmp_path):
    """The files of a driver that is not there, found where the server's own loader would look; the GPU is pretended."""
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    for name in ("libcuda.so.999.1", "libnvidia-ml.so.999.1", "libnvidia-glcore.so.999.1", "libcudart.so.12"):
        (drivers / name).write_text(name + "\n")
    for library in ("libcuda", "libnvidia-ml"):
        (drivers / f"{library}.so.1").symlink_to(f"{library}.so.999.1")
    subprocess.run(["chmod", "-R", "a+rX", str(tmp_path)], check=True)
    own_yard.command("image", "load", layout(busybox_image(Env=["PATH=/bin", "LD_LIBRARY_PATH=/opt/cuda"]), "cuda:1"))
    own_yard.command("up", "--fake-gpus", "1", env={"LD_LIBRARY_PATH": str(drivers)})
    look = ["sh", "-c", "cat /usr/local/nvidia/lib64/libcuda.so.1; ls /usr/local/nvidia/lib64; echo $LD_LIBRARY_PATH"]
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    own_yard.create(PODS, pod_of("gpu", {"name": "c", "image": "cuda:1", "command": look, **gpu}))
    own_yard.create(PODS, pod_of("none", {"name": "c", "image": "cuda:1", "command": ["sh", "-c", "ls /usr/local 2> /dev/null || echo $LD_LIBRARY_PATH"]}))
    assert ended(own_yard, "gpu")["phase"] == "Succeeded", logs(own_yard, "gpu")
    seen = logs(own_yard, "gpu").split()
    # A real driver of this machine adds others; nothing for screens and nothing an image brings itself.
    assert seen[0] == "libcuda.so.999.1" and {"libcuda.so.1", "libcuda.so.999.1", "libnvidia-ml.so.1"} <= set(seen[1:-1])
    assert seen[-1] == "/opt/cuda:/usr/local/nvidia/lib64" and not {"libcudart.so.12", "libnvidia-glcore.so.999.1"} & set(seen)
    ended(own_yard, "none")
    assert logs(own_yard, "none").split()[-1] == "/opt/cuda"


def test_a_second_container_costs_no_copy(own_yard, layout):
    own_yard.command("image", "load", layout(busybox_image({"data": os.urandom(8_000_000)}), "large:1"))
    own_yard.up()

    def used(name):
        own_yard.create(PODS, pod_of(name, {"name": "c", "image": "large:1", "command": ["sleep", "600"]},
                                     terminationGracePeriodSeconds=0))
        eventually(lambda: status(own_yard, name)["phase"] == "Running", about=f"{name} runs")
        return int(subprocess.run(["du", "-sk", own_yard.state], check=True, capture_output=True, text=True).stdout.split()[0])
    first, second = used("first"), used("second")
    assert second - first < 1000, f"{second - first} kB more for the second container"


def test_the_least_recently_used_go_first(own_yard, layout):
    for number in range(3):
        own_yard.command("image", "load", layout(image_of({f"f{number}": os.urandom(300_000)}), f"i{number}:1"))
        os.utime(_name_file(own_yard, f"i{number}:1"), (1000 + number, 1000 + number))
    os.utime(_name_file(own_yard, "i0:1"), (5000, 5000))
    assert own_yard.command("image", "prune", "--max-size", "700k").out.splitlines()[0] == "removed i1:1"
    assert own_yard.command("image", "ls", "-q").out == "i0:1\ni2:1\n"
    own_yard.command("image", "prune", "--all")
    assert os.listdir(os.path.join(own_yard.state, "images/layers")) == []


def _name_file(yard, name):
    folder = os.path.join(yard.state, "images/names")
    for file in os.listdir(folder):
        with open(os.path.join(folder, file), encoding="utf-8") as stream:
            if json.load(stream)["name"] == name:
                return os.path.join(folder, file)
    raise AssertionError(f"no image {name}")
