"""What registries and layers can get wrong: a clear reason in the pod's status, and nothing half-kept."""
import gzip
import json
import os
import subprocess
import tarfile

import pytest

from harness import eventually, unmount
from registries import (GZIP_LAYER, Image, PlayedRegistry, assembled, busybox_image, busybox_layer, digest_of, image_of,
                        tar_of, up_with)

PODS = "/api/v1/namespaces/default/pods"
ENTRIES = 1_000_001  # one more than a layer may have


def with_manifest(image, **members):
    return Image(json.dumps({**json.loads(image.manifest), **members}).encode(), image.blobs)


def with_last_layer(image, content=None, **members):
    """Its uppermost layer's bytes, or what the manifest says of it, are others."""
    manifest = json.loads(image.manifest)
    layer = manifest["layers"][-1]
    blobs = {**image.blobs, layer["digest"]: image.blobs[layer["digest"]] if content is None else content}
    layer.update(members)
    return Image(json.dumps(manifest).encode(), blobs)


def last_layer(image):
    return image.blobs[json.loads(image.manifest)["layers"][-1]["digest"]]


def many_entries():
    """Over a million entries of a sort that is passed over: equal headers, packed in equal pieces."""
    headers = 10_000
    piece = gzip.compress(tarfile.TarInfo("app/.wh..wh.plnk").tobuf(tarfile.USTAR_FORMAT) * headers, compresslevel=1)
    packed = piece * (ENTRIES // headers + 1)
    image = assembled([{"mediaType": GZIP_LAYER, "digest": digest_of(packed), "size": len(packed)}], [digest_of(b"never reached")])
    image.blobs[digest_of(packed)] = packed
    return image


def bomb():
    """A file of 300 GiB, as its header says."""
    entry = tarfile.TarInfo("app/bomb")
    entry.size = 300 << 30
    return entry.tobuf(tarfile.GNU_FORMAT) + bytes(4096)


def refusal(status, code="", words="", **headers):
    return status, headers, json.dumps({"errors": [{"code": code, "message": words}]}).encode()


GOOD = busybox_image({"word": "hello"}) if os.path.exists("/bin/busybox") else None

# What is sent -> words of the pod's status, all of them.
ROWS = {
    "e401": (refusal(401, "UNAUTHORIZED", "authentication required", **{"WWW-Authenticate": 'Basic realm="r"'}),
             ["401", "authentication required", "podman login"]),
    "e403": (refusal(403, "DENIED", "not for you"), ["403", "not for you", "use a login that may read it"]),
    "e404": (refusal(404, "MANIFEST_UNKNOWN", "manifest unknown"), ["404", "manifest unknown", "check the name and the tag"]),
    "e429": (refusal(429, "TOOMANYREQUESTS", "pull rate limit", **{"Retry-After": "60"}), ["429", "pull rate limit", "wait, "]),
    "digest": (lambda: with_last_layer(GOOD, bytes(len(last_layer(GOOD)))), ["digest|layer", "push the image"]),
    "longer": (lambda: with_last_layer(GOOD, size=len(last_layer(GOOD)) - 9), ["more than its|longer than"]),
    "schema1": (lambda: with_manifest(GOOD, mediaType="application/vnd.docker.distribution.manifest.v1+prettyjws"),
                ["something else than an image", "v1+prettyjws"]),
    "text": ((200, {"Content-Type": "text/html"}, b"<html>sign in</html>"), ["something else than an image", "text/html"]),
    "mediatype": (lambda: with_last_layer(GOOD, mediaType="application/vnd.oci.image.layer.v1.tar+lz4"), ["tar+lz4"]),
    "dotdot": (lambda: image_of(busybox_layer(), {"../../escaped": "x"}), ["leads out of the image"]),
    "hardlink": (lambda: image_of(busybox_layer(), {"shadow": {"hard": "/etc/shadow"}}), ["hard link", "which is not in it"]),
    "entries": (many_entries, ["more than 1000000 entries"]),
    "bomb": (lambda: image_of(bomb()), ["unpacks to more than 262144 MiB"]),
    "zeros": (lambda: image_of(tar_of({"word": "x"}) + bytes(20 << 20)), ["it goes on after its end"]),
    # These are tried several times; both at once.
    "e500": (refusal(500, "UNKNOWN", "the disk is on fire"), ["500", "the disk is on fire", "mirror"]),
    "cut": (lambda: with_last_layer(GOOD, last_layer(GOOD)[:60]), ["is cut off after 60 of "]),
}


@pytest.fixture
def played():
    made = []

    def begin(answers):
        made.append(PlayedRegistry(answers))
        return made[-1]
    yield begin
    for each in made:
        each.close()


def pod_of(name, image, *command):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": image, "imagePullPolicy": "IfNotPresent", "command": list(command) or ["true"]}]}}


def status(yard, name):
    return yard.request("GET", f"{PODS}/{name}").json["status"]


def problem(yard, name):
    """The message of ErrImagePull, or of the back-off that follows it."""
    waiting = status(yard, name).get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
    return waiting["message"] if waiting.get("reason") in ("ErrImagePull", "ImagePullBackOff") else None


def nothing_half_kept(yard):
    images = os.path.join(yard.state, "images")
    eventually(lambda: os.listdir(os.path.join(images, "staging")) == [], about="staging is empty")
    assert os.listdir(os.path.join(images, "names")) == []
    for layer in os.listdir(os.path.join(images, "layers")):  # whole ones, for the next try
        with open(os.path.join(images, "layers", layer, "layer.json"), encoding="utf-8") as stream:
            assert json.load(stream)["diffId"].startswith("sha256:" + layer)


def test_every_fault_is_said_and_nothing_is_half_kept(own_yard, played):
    if GOOD is None:
        pytest.skip("MISSING busybox-static: run `tools/setup test`")
    source = played({name: sent() if callable(sent) else sent for name, (sent, _) in ROWS.items()})
    up_with(own_yard, source)
    for name in ROWS:
        own_yard.create(PODS, pod_of(name, f"{source.name}/{name}:1"))
    for name, (_, words) in ROWS.items():
        said = eventually(lambda name=name: problem(own_yard, name), about=f"{name} is refused")
        for word in words:
            assert any(each in said for each in word.split("|")), f"{name}: {word!r} is not in {said!r}"
        assert "to mend it, " in said, f"{name}: {said!r} names no mend"
    nothing_half_kept(own_yard)
    why = own_yard.command("why", "pod/e401", expect=None).out
    assert "authentication required" in why and "podman login" in why
    assert own_yard.command("image", "ls", "-q").out == ""


def test_devices_are_left_out_and_absolute_links_lead_into_the_image(own_yard, played):
    files = {"dev": {"folder": 0o755}, "dev/disk": {"device": (8, 0)}, "disk": {"device": (8, 0)},
             "outside": {"link": "/etc/hostname-of-the-image"}, "etc/hostname-of-the-image": "inside"}
    source = played({"odd": busybox_image(files)})
    up_with(own_yard, source)
    own_yard.create(PODS, pod_of("odd", f"{source.name}/odd:1", "sh", "-c", "cat /outside; test ! -e /disk && test ! -e /dev/disk"))
    eventually(lambda: status(own_yard, "odd")["phase"] in ("Succeeded", "Failed"), about="odd ended")
    assert own_yard.request("GET", f"{PODS}/odd/log").text == "inside"
    assert status(own_yard, "odd")["phase"] == "Succeeded", "no device of the layer is there"
    said = own_yard.command("image", "ls", "--json").out
    assert json.loads(said)[0]["name"] == f"{source.name}/odd:1"


def test_a_full_disk_is_said_and_nothing_is_half_kept(own_yard, played):
    if os.geteuid() != 0:
        pytest.skip("NOT TRIED: a small disk is mounted, for which the test must be root")
    source = played({"big": image_of({"a": os.urandom(2_000_000)}, {"b": os.urandom(9_000_000)})})
    images = os.path.join(own_yard.state, "images")
    os.makedirs(images)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", images], check=True)
    try:
        own_yard.give(own_yard.state)
        up_with(own_yard, source)
        own_yard.create(PODS, pod_of("big", f"{source.name}/big:1"))
        said = eventually(lambda: problem(own_yard, "big"), about="big is refused")
        assert "no space left on the disk of the images" in said and "trainyard image prune" in said
        assert "image prune" in own_yard.command("why", "pod/big", expect=None).out
        nothing_half_kept(own_yard)
        subprocess.run(["mount", "-o", "remount,size=40m", images], check=True)
        own_yard.command("image", "pull", f"{source.name}/big:1")
        own_yard.down()
    finally:
        own_yard.end()
        unmount(images)


def test_two_pods_of_one_image_ask_the_registry_once(own_yard, played):
    image = busybox_image({"word": "one"})
    source = played({"app": image})
    up_with(own_yard, source)
    for number in range(3):
        own_yard.create(PODS, pod_of(f"p{number}", f"{source.name}/app:1", "cat", "/word"))
    for number in range(3):
        eventually(lambda number=number: status(own_yard, f"p{number}")["phase"] == "Succeeded", about=f"p{number}")
    for digest in image.blobs:
        assert source.asked.count(f"GET /v2/app/blobs/{digest}") == 1, source.asked
    assert digest_of(image.manifest) in status(own_yard, "p0")["containerStatuses"][0]["imageID"]
    # Another image on the same lowest layer brings only its own.
    lowest = json.loads(image.manifest)["layers"][0]["digest"]
    source.answers["other"] = busybox_image({"word": "other"})
    own_yard.command("image", "pull", f"{source.name}/other:1")
    assert not any(lowest in each for each in source.asked if "/other/" in each), "layers are shared"
    # Always looks at the tag alone while it stays where it was.
    before = len(source.asked)
    again = pod_of("again", f"{source.name}/app:1", "cat", "/word")
    again["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    own_yard.create(PODS, again)
    eventually(lambda: status(own_yard, "again")["phase"] == "Succeeded", about="again")
    asked = [each for each in source.asked[before:] if "manifests" in each]
    assert asked[0] == "HEAD /v2/app/manifests/1" and not any("blobs" in each for each in source.asked[before:])
