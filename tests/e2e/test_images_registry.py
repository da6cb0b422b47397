"""Images from registries: Debian's docker-registry on loopback, open and closed, plain and TLS."""
import json
import os
import shutil
import socket
import stat
import subprocess
import threading

import pytest

from registries import INDEX, MANIFEST, Image, busybox_image, configure, digest_of, image_of, need


def log_in(yard, content):
    """As docker's own login leaves it in the home of whoever runs the server."""
    folder = os.path.join(yard.folder, ".docker")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as stream:
        stream.write(content)


def pull(yard, name, **more):
    return yard.command("image", "pull", name, **{"expect": None, **more})


def pulled(yard, name, **more):
    return yard.command("image", "pull", "-q", name, **more).out.strip()


def free_closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("how", [{}, {"tls": True}], ids=["plain", "tls"])
def test_an_open_registry_is_trusted_as_the_config_says(own_yard, registry, how):
    source, image = registry(**how), busybox_image({"code": "1"})
    name = source.push("team/app", "1", image)
    refused = pull(own_yard, name).err
    assert f"images.registries.{source.name}.ca" in refused and "plainHttp" in refused
    configure(own_yard, source)
    assert pulled(own_yard, name) == f"{source.name}/team/app@{image.digest}"
    said = pull(own_yard, name, expect=0).err
    assert "is still the one of" in said, "nothing moved"
    moved = busybox_image({"code": "2"})
    source.push("team/app", "1", moved)
    assert pulled(own_yard, name).endswith(moved.digest)
    by_digest = pulled(own_yard, f"{source.name}/team/app@{image.digest}")
    assert by_digest.endswith(image.digest)
    missing = pull(own_yard, f"{source.name}/team/none:9", expect=5).err
    assert "manifest unknown" in missing and "images.map" in missing


@pytest.mark.parametrize("how", [{}, {"tokens": True}], ids=["basic", "tokens"])
def test_a_closed_registry_wants_a_login(own_yard, registry, tmp_path, how):
    source, image = registry(users={"me": "hush-hush"}, **how), busybox_image()
    name = source.push("team/app", "1", image)
    configure(own_yard, source)
    refused = pull(own_yard, name).err
    assert "401" in refused and f"podman login {source.name}" in refused
    log_in(own_yard, source.docker_config("me", "hush-wrong"))
    refused = pull(own_yard, name).err
    assert "is not accepted" in refused and "hush" not in refused
    log_in(own_yard, source.docker_config())
    assert pulled(own_yard, name).endswith(image.digest)
    helper = tmp_path / "bin" / "docker-credential-tests"
    helper.parent.mkdir()
    helper.write_text('#!/bin/sh\nread server; [ "$1" = get ] || exit 1\n'
                      'echo "{\\"ServerURL\\":\\"$server\\",\\"Username\\":\\"me\\",\\"Secret\\":\\"hush-hush\\"}"\n')
    helper.chmod(helper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    log_in(own_yard, json.dumps({"credHelpers": {source.name: "tests"}}))
    other = source.push("team/other", "1", busybox_image({"other": "1"}))
    assert pulled(own_yard, other, env={"PATH": f"{helper.parent}:{os.environ['PATH']}"})


def test_a_mirror_serves_what_its_registry_cannot_and_a_loaded_image_needs_neither(own_yard, registry):
    mirror, image = registry(), busybox_image({"code": "mirrored"})
    mirror.push("hub/team/app", "1", image)
    gone = f"127.0.0.1:{free_closed_port()}"
    configure(own_yard, mirror, entries={gone: {"plainHttp": True, "mirrors": [f"{mirror.name}/hub"]}})
    said = pull(own_yard, f"{gone}/team/app:1", expect=0)
    assert f"came from {mirror.name}" in said.err
    mirror.stop()
    said = pull(own_yard, f"{gone}/team/app:2").err
    assert "Connection refused" in said and f"mirror {mirror.name}" not in said.split("(mirror")[0]
    assert "trainyard image load" in said, "what to do without a network"
    assert f"{gone}/team/app:1" in own_yard.command("image", "ls", expect=0).out


def test_an_index_leads_to_this_machines_image(own_yard, registry):
    source, image = registry(), busybox_image({"arch": "this"})
    source.push("app", "mine", image)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
        {"mediaType": MANIFEST, "digest": image.digest, "size": len(image.manifest),
         "platform": {"os": "linux", "architecture": machine}}]}).encode()
    source.put_manifest("app", "all", index, INDEX)
    configure(own_yard, source)
    # As kubelet tells it: what the tag leads to, which is the index; by either digest it is that image.
    assert pulled(own_yard, f"{source.name}/app:all") == f"{source.name}/app@{digest_of(index)}"
    listed = json.loads(own_yard.command("image", "ls", "--json").out)
    assert [each["digest"] for each in listed] == [image.digest]
    assert "is still the one of" in pull(own_yard, f"{source.name}/app:all", expect=0).err
    foreign = json.loads(index)
    foreign["manifests"][0]["platform"]["architecture"] = "s390x"
    source.put_manifest("app", "foreign", json.dumps(foreign).encode(), INDEX)
    assert "s390x" in pull(own_yard, f"{source.name}/app:foreign").err


def test_what_a_registry_holds_wrongly_is_refused_and_nothing_half_kept(own_yard, registry):
    source = registry()
    configure(own_yard, source)
    broken = busybox_image({"code": "x"})
    source.push("app", "1", broken)
    layer = json.loads(broken.manifest)["layers"][1]["digest"].split(":")[1]
    data = os.path.join(source.folder, "data/docker/registry/v2/blobs/sha256", layer[:2], layer, "data")
    with open(data, "r+b") as stream:
        stream.seek(20)
        byte = stream.read(1)
        stream.seek(20)
        stream.write(bytes([byte[0] ^ 0xff]))
    said = pull(own_yard, f"{source.name}/app:1")
    assert said.code != 0 and "layer" in said.err, said.err
    assert own_yard.command("image", "ls", "-q", expect=0).out == ""
    wrong_config = image_of({"a": "1"})
    manifest = json.loads(wrong_config.manifest)
    manifest["layers"] = manifest["layers"] * 2
    source.push("app", "2", Image(json.dumps(manifest).encode(), wrong_config.blobs))
    assert "2 layers" in pull(own_yard, f"{source.name}/app:2").err


def test_two_pulls_of_one_image_at_once_both_have_it(own_yard, registry):
    source = registry()
    configure(own_yard, source)
    name = source.push("app", "1", busybox_image({"data": os.urandom(3_000_000)}))
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(pulled(own_yard, name))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 1 and len(answers) == 3


def test_what_skopeo_pushed_is_pulled(own_yard, registry, tmp_path):
    need("skopeo")
    source = registry()
    configure(own_yard, source)
    source.push("app", "1", busybox_image({"code": "x"}))
    copied = f"docker://{source.name}/copied:1"
    for arguments in (["--format", "v2s2"], ["--format", "oci"]):
        subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", *arguments, "--src-tls-verify=false",
                        "--dest-tls-verify=false", f"docker://{source.name}/app:1", copied], check=True)
        assert pulled(own_yard, f"{source.name}/copied:1")
    shutil.rmtree(os.path.join(own_yard.state, "images"))
    assert pulled(own_yard, f"{source.name}/copied:1"), "an emptied store is filled again"
