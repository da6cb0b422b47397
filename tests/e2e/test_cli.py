"""Our own command line: what it prints, and the exit codes scripts rely on."""
import json
import os
import shutil
import socket
import stat
import subprocess

import pytest
import yaml

from harness import BINARY, PATIENCE_S, Stream
from objects import config_map, job

OK, ERROR, USAGE, NOT_FOUND, UNREACHABLE = 0, 1, 2, 5, 6


@pytest.fixture
def yard_command(yard):
    if not yard.is_ours:
        pytest.skip("needs a process of ours")
    return yard.command


@pytest.mark.parametrize("arguments,code", [
    (["version"], OK), (["--help"], OK), (["get", "--help"], OK), (["status"], OK), (["info"], OK),
    (["completion", "bash"], OK), (["nonsense"], USAGE), (["get"], USAGE), (["get", "--nonsense", "pods"], USAGE),
    (["get", "configmap", "ghost"], NOT_FOUND), (["delete", "configmap", "ghost"], NOT_FOUND),
    (["describe", "configmap", "ghost"], NOT_FOUND), (["get", "trains"], ERROR), (["apply", "-f", "/nowhere"], ERROR),
])
def test_exit_codes(yard_command, arguments, code):
    run = yard_command(*arguments, expect=code)
    assert (run.out if code == OK else run.err).strip()


def test_unreachable(own_yard):
    run = own_yard.command("get", "pods", expect=UNREACHABLE)
    assert "trainyard up" in run.err, "the fix is named"


def test_kubeconfig(yard, yard_command):
    printed = yaml.safe_load(yard_command("kubeconfig").out)
    assert printed["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")
    assert stat.S_IMODE(os.stat(yard.kubeconfig).st_mode) == 0o600


def test_kubeconfig_merge_keeps_what_is_there(yard, yard_command, tmp_path):
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "work",
                                    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
                                    "clusters": [{"name": "work", "cluster": {"server": "https://example.com"}}],
                                    "users": [{"name": "me", "user": {"token": "x"}}]}))
    yard_command("kubeconfig", "--merge", env={"KUBECONFIG": str(path)})
    merged = yaml.safe_load(path.read_text())
    assert len(merged["contexts"]) == 2 and {"name": "me", "user": {"token": "x"}} in merged["users"]


def test_apply_get_describe_delete(yard_command, namespace):
    body = yaml.safe_dump_all([config_map("it"), job("train")])
    yard_command("apply", "-n", namespace, "-f", "-", stdin=body)
    assert yard_command("get", "jobs", "-n", namespace).rows[1][0] == "train"
    assert json.loads(yard_command("get", "job", "train", "-n", namespace, "-o", "json").out)["spec"]["suspend"] is True
    assert yaml.safe_load(yard_command("get", "cm", "it", "-n", namespace, "-o", "yaml").out)["data"] == {"key": "value"}
    assert yard_command("get", "cm", "it", "-n", namespace, "-o", "name").out == "configmap/it\n"
    assert "SELECTOR" in yard_command("get", "jobs", "-n", namespace, "-o", "wide").out
    assert "train" in yard_command("describe", "job", "train", "-n", namespace).out
    yard_command("delete", "job", "train", "-n", namespace)
    yard_command("get", "job", "train", "-n", namespace, expect=NOT_FOUND)


def test_yaml_errors_point_at_the_place(yard_command):
    run = yard_command("apply", "-f", "-", stdin="kind: ConfigMap\nmetadata: {name: a, name: b}\n", expect=ERROR)
    assert "line 2" in run.err and "^" in run.err


def test_every_document_is_tried(yard_command, namespace):
    body = ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\nkind: [\n---\n"
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad}\n---\n"
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n")
    run = yard_command("apply", "-n", namespace, "-f", "-", stdin=body, expect=ERROR)
    assert run.out == "configmap/first created\nconfigmap/last created\n"
    assert "document 2: line 6, column 1" in run.err and "document 3, line 7: Error from server (Invalid)" in run.err


def test_apply_says_what_it_did(yard_command, namespace, tmp_path):
    folder = tmp_path / "manifests"
    (folder / "more").mkdir(parents=True)
    (folder / "a.yaml").write_text(yaml.safe_dump(config_map("a")))
    (folder / "more" / "b.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [config_map("b")]}))
    apply = ["apply", "-n", namespace, "-f", str(folder)]
    assert yard_command(*apply, "--dry-run").out == "configmap/a created (dry run)\n"
    assert yard_command(*apply).out == "configmap/a created\n"
    assert yard_command(*apply, "-R").out == "configmap/a unchanged\nconfigmap/b created\n"
    (folder / "a.yaml").write_text(yaml.safe_dump(config_map("a", data={"key": "other"})))
    assert yard_command(*apply, "--dry-run").out == "configmap/a configured (dry run)\n"
    assert yard_command(*apply).out == "configmap/a configured\n"


def test_apply_conflicts(yard, yard_command, namespace):
    yard.create(f"/api/v1/namespaces/{namespace}/configmaps?fieldManager=someone", config_map("shared"))
    body = yaml.safe_dump(config_map("shared", data={"key": "mine"}))
    run = yard_command("apply", "-n", namespace, "-f", "-", stdin=body, expect=ERROR)
    assert "someone" in run.err and "--force-conflicts" in run.err
    run = yard_command("apply", "-n", namespace, "-f", "-", "--force-conflicts", stdin=body)
    assert run.out == "configmap/shared configured\n"


@pytest.mark.parametrize("words", [["cm"], ["configmaps"], ["ConfigMap"], ["cm", "one"], ["configmap/one"], ["cm,jobs"]])
def test_words_for_types(yard_command, namespace, words):
    yard_command("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump(config_map("one")))
    assert "one" in yard_command("get", *words, "-n", namespace).out


def test_get_selects(yard_command, namespace):
    labelled = config_map("with")
    labelled["metadata"]["labels"] = {"tier": "gold"}
    yard_command("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump_all([labelled, config_map("without")]))
    for flags in (["-l", "tier=gold"], ["--field-selector", "metadata.name=with"]):
        assert yard_command("get", "cm", "-n", namespace, *flags, "-o", "name").out == "configmap/with\n"
    run = yard_command("get", "jobs", "-n", namespace)
    assert run.out == "" and run.err == f"No resources found in {namespace} namespace.\n"
    assert namespace in yard_command("get", "cm", "-A", "-l", "tier=gold").rows[1][0]


def test_get_watches(yard, yard_command, namespace):
    environment = {**os.environ, "TRAINYARD_STATE": yard.state}
    with Stream([BINARY, "get", "cm", "-n", namespace, "-w"], environment) as stream:
        assert stream.line().split() == ["NAME", "DATA", "AGE"]
        while stream.line().split()[0] != "kube-root-ca.crt":
            pass
        yard_command("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump(config_map("later")))
        assert stream.line().split()[0] == "later"


def test_describe_shows_events(yard, yard_command, namespace):
    made = yard.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map("it"))
    yard.create(f"/api/v1/namespaces/{namespace}/events", {
        "metadata": {"name": "it.1"}, "type": "Warning", "reason": "Odd", "message": "something was odd",
        "involvedObject": {"kind": "ConfigMap", "name": "it", "namespace": namespace, "uid": made["metadata"]["uid"]},
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1})
    out = yard_command("describe", "cm/it", "-n", namespace).out
    assert out.startswith("Name:         it\n") and "Data:\n  key: value\n" in out
    assert "something was odd" in out.split("Events:")[1]


def test_delete_waits_for_finalizers(yard, yard_command, namespace):
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    yard.create(path, held)
    assert yard_command("delete", "cm", "held", "-n", namespace, "--no-wait").out == 'configmap "held" deleted\n'
    environment = {**os.environ, "TRAINYARD_STATE": yard.state}
    with Stream([BINARY, "delete", "cm", "held", "-n", namespace], environment) as stream:
        assert stream.line() == 'configmap "held" deleted'
        assert "example.com/hold" in stream.line(), "what it waits for is said"
        assert stream.process.poll() is None, "it waits"
        answer = yard.request("PATCH", f"{path}/held", {"metadata": {"finalizers": None}},
                              content_type="application/merge-patch+json")
        assert answer.status == 200, answer.text
        assert stream.process.wait(timeout=PATIENCE_S) == OK


def test_delete_by_file(yard_command, namespace, tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text(yaml.safe_dump(config_map("it")))
    yard_command("apply", "-n", namespace, "-f", str(path))
    yard_command("delete", "-n", namespace, "-f", str(path))
    yard_command("delete", "-n", namespace, "-f", str(path), expect=NOT_FOUND)
    yard_command("delete", "-n", namespace, "-f", str(path), "--ignore-not-found")
    yard_command("delete", expect=USAGE)


@pytest.mark.parametrize("cascade,finalizer", [("foreground", "foregroundDeletion"), ("orphan", "orphan")])
def test_delete_cascades(yard, yard_command, namespace, cascade, finalizer):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    yard.create(path, config_map("it"))
    yard_command("delete", "cm", "it", "-n", namespace, f"--cascade={cascade}", "--no-wait")
    left = yard.request("GET", f"{path}/it")
    assert left.status == 404 or left.json["metadata"]["finalizers"] == [finalizer]


def test_info(yard, yard_command):
    run = yard_command("info")
    facts = dict(line.split(None, 1) for line in run.out.splitlines() if line[0] != " ")
    assert f"(pid {yard.pid})" in facts["server"] and int(facts["objects"]) > 0 and int(facts["revision"]) > 0


def test_info_of_what_is_down(own_yard):
    assert "trainyard up" in own_yard.command("info", expect=UNREACHABLE).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_parses_and_knows_the_commands(yard_command, shell):
    script = yard_command("completion", shell).out
    assert all(word in script for word in ("describe", "kubeconfig", "namespace"))
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_merge_twice_keeps_one_backup(yard_command, tmp_path):
    path = tmp_path / "config"
    path.write_text("current-context: work\n")
    first = yard_command("kubeconfig", "--merge", env={"KUBECONFIG": f"{path}:/nowhere"})
    assert "use-context work" in first.out and (tmp_path / "config.bak").read_text() == "current-context: work\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert "already" in yard_command("kubeconfig", "--merge", env={"KUBECONFIG": str(path)}).out


def test_merge_leaves_a_broken_file_alone(yard_command, tmp_path):
    path = tmp_path / "config"
    path.write_text("a: [\n")
    run = yard_command("kubeconfig", "--merge", env={"KUBECONFIG": str(path)}, expect=ERROR)
    assert str(path) in run.err and "^" in run.err and path.read_text() == "a: [\n"


def test_config_file(own_yard):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.makedirs(own_yard.state)
    path = os.path.join(own_yard.state, "config.yaml")
    for content, complaint in (("prot: 1\n", "prot is no setting"), ("port: many\n", "port must be"), ("a: [\n", "^"),
                               ("logLevel: loud\n", "logLevel must be"), ("requestsPerSecond: 0\n", "requestsPerSecond must be")):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(content)
        run = own_yard.command("up", expect=ERROR)
        assert complaint in run.err and path in run.err
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(f"port: {port}\nlogLevel: warning\n")
    own_yard.up()
    assert own_yard.api.port == port
    own_yard.down()


def test_two_servers_on_one_folder(own_yard):
    own_yard.up()
    run = own_yard.command("serve", expect=ERROR)
    assert f"pid {own_yard.pid}" in run.err and "trainyard down" in run.err
    own_yard.down()


def test_a_folder_that_cannot_be_written(own_yard):
    # /proc refuses even root.
    run = own_yard.command("up", "--state", "/proc/trainyard", expect=ERROR)
    assert "/proc/trainyard" in run.err and "--state DIR" in run.err


def test_up_twice_is_harmless(own_yard):
    own_yard.up()
    pid = own_yard.pid
    own_yard.up()
    assert own_yard.pid == pid
    own_yard.down()


def test_down_twice_is_harmless(own_yard):
    own_yard.up()
    own_yard.down()
    own_yard.command("down")


def test_restart_keeps_objects_and_port(own_yard):
    own_yard.up()
    port = own_yard.api.port
    own_yard.create("/api/v1/namespaces/default/configmaps", config_map("kept"))
    own_yard.command("restart")
    own_yard.api.close()
    assert own_yard.request("GET", "/api/v1/namespaces/default/configmaps/kept").status == 200
    assert own_yard.api.port == port
    own_yard.down()


def test_a_port_in_use(own_yard):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run = own_yard.command("up", "--port", port, expect=ERROR)
        assert port in run.err


def test_a_state_folder_that_cannot_be(own_yard, tmp_path):
    (tmp_path / "file").write_text("in the way")
    run = own_yard.command("up", "--state", str(tmp_path / "file" / "state"), expect=ERROR)
    assert str(tmp_path / "file") in run.err


def test_a_foreign_store_is_refused(own_yard):
    own_yard.up()
    own_yard.down()
    stores = [name for name in os.listdir(own_yard.state) if name.endswith((".db", ".sqlite", ".sqlite3"))]
    assert len(stores) == 1, os.listdir(own_yard.state)
    path = os.path.join(own_yard.state, stores[0])
    foreign = b"not a database" * 1000
    with open(path, "wb") as stream:
        stream.write(foreign)
    assert own_yard.command("up", expect=ERROR).err.strip()
    with open(path, "rb") as stream:
        assert stream.read() == foreign, "never overwritten"


def test_hostile_bytes_on_the_wire(yard):
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\x00" * 100, b"\xff" * 1000, b""):
        with socket.create_connection((yard.api.host, yard.api.port), timeout=10) as raw:
            try:
                raw.sendall(garbage)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(4096):
                    pass
            except OSError:
                pass  # to hang up is a fine answer
    assert yard.request("GET", "/readyz").text == "ok"


def test_half_a_request_holds_up_nobody(yard):
    raw = yard.api.context.wrap_socket(socket.create_connection((yard.api.host, yard.api.port)), server_hostname=yard.api.host)
    with raw:
        raw.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert yard.request("GET", "/readyz").text == "ok"
