"""Our own command line: what it prints, and the exit codes scripts rely on."""
import json
import os
import socket
import stat

import pytest
import yaml

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
