"""What the server does about clients that ask too much: they are told so, and others are not harmed."""
import json
import os
import socket
import threading
import time

from harness import PATIENCE_S, Api, eventually
from objects import config_map

SOON_S = 10  # a client that waits for the others waits for a minute and more


def metric(yard, name):
    for line in yard.request("GET", "/metrics").text.splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


def quick_get(yard):
    """How long a fresh client waits for an answer."""
    began = time.monotonic()
    api = Api(yard.kubeconfig, yard.folder)
    try:
        assert api.request("GET", "/api/v1/namespaces/default").status == 200
    finally:
        api.close()
    return time.monotonic() - began


def test_a_body_that_is_too_large(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    answer = yard.request("POST", path, json.dumps(config_map("large", {"a": "x" * (3 << 20)})))
    assert answer.status == 413, answer.status
    assert answer.json["reason"] == "RequestEntityTooLarge"
    assert answer.json["message"] == "Request entity too large: limit is 3145728"
    yard.api.close()
    assert yard.request("GET", path).status == 200


def test_thousands_of_connections_that_say_nothing(yard):
    api = Api(yard.kubeconfig, yard.folder)
    yard.api.close()  # it idles too, and may be the first to make room
    silent = []
    try:
        for _ in range(4300):  # more than are kept: the longest silent ones make room
            silent.append(socket.create_connection((api.host, api.port)))
        assert quick_get(yard) < SOON_S
        assert metric(yard, "trainyard_connections") <= 4096
        assert metric(yard, "trainyard_connections_refused_total") > 0
    finally:
        for one in silent:
            one.close()
    assert quick_get(yard) < SOON_S


def test_clients_that_do_not_read_their_answers(yard, namespace):
    """Their answers wait in the kernel and in references; nobody else waits for them."""
    for i in range(20):
        yard.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map(f"m{i}", {"a": "x" * 500_000}))
    api = Api(yard.kubeconfig, yard.folder)
    stuck = []
    try:
        for _ in range(24):
            raw = api.context.wrap_socket(socket.create_connection((api.host, api.port)), server_hostname=api.host)
            raw.sendall(f"GET /api/v1/namespaces/{namespace}/configmaps HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            stuck.append(raw)
        assert quick_get(yard) < SOON_S
        path = f"/api/v1/namespaces/{namespace}/configmaps/m0"
        assert yard.request("PATCH", path, {"data": {"b": "1"}}, content_type="application/merge-patch+json").status == 200
    finally:
        for one in stuck:
            one.close()


def test_one_user_cannot_starve_another(yard, namespace):
    """Forty connections that list all the time; another client's answers still come soon, and none of the forty is turned
    away: what is bounded is far above."""
    for i in range(50):
        yard.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map(f"m{i}", {"a": "x" * 2000}))
    stop, codes = threading.Event(), set()

    def flood():
        api = Api(yard.kubeconfig, yard.folder)
        while not stop.is_set():
            codes.add(api.request("GET", f"/api/v1/namespaces/{namespace}/configmaps").status)
        api.close()

    threads = [threading.Thread(target=flood) for _ in range(40)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: 200 in codes)
        waits = sorted(quick_get(yard) for _ in range(5))
        assert waits[2] < 5, waits  # Python's own forty threads share the two cores with it
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == {200}, codes


def test_a_user_who_asks_too_fast_is_told_to_wait(own_yard):
    """Ten at once, five a second, of one who is no administrator; as much as they like of one who is."""
    own_yard.configure("requestsPerSecond: 5\n")
    own_yard.up()
    folder = os.path.join(own_yard.folder, "hasty")
    os.makedirs(folder)
    config = os.path.join(folder, "kubeconfig")
    with open(config, "w", encoding="utf-8") as stream:
        stream.write(own_yard.command("user", "add", "hasty").out)
    hasty = Api(config, folder)
    raw = hasty.context.wrap_socket(socket.create_connection((hasty.host, hasty.port)), server_hostname=hasty.host)
    # Pipelined, so that they come at once whatever else the machine does.
    raw.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
    raw.settimeout(PATIENCE_S)
    answers = b""
    while answers.count(b"HTTP/1.1 ") < 100:
        answers += raw.recv(1 << 20)
    raw.close()
    heads = [answer.split(b"\r\n\r\n")[0].decode() for answer in answers.split(b"HTTP/1.1 ")[1:-1]]
    assert {head.split()[0] for head in heads[:10]} == {"403"}, "the first ten are heard"
    refused = [head for head in heads if head.startswith("429")]
    assert len(refused) >= 50, heads
    assert all("Retry-After: 1" in head for head in refused), refused[0]
    assert {own_yard.request("GET", "/api/v1/pods").status for _ in range(100)} == {200}
    own_yard.down()
