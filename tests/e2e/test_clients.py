"""The official clients, unmodified: Python's and JavaScript's packages, and client-go's informer over restarts.

The programs are in tests/clients; `tools/setup clients` fetches and builds what they need."""
import json
import os
import shutil
import subprocess

import pytest

from harness import ROOT, Stream, eventually

TOOLS = os.path.join(ROOT, "build/tools")
CLIENTS = os.path.join(ROOT, "tests/clients")
PYTHON = os.path.join(TOOLS, "kubeflow-sdk/bin/python")
NODE_PACKAGES = os.path.join(TOOLS, "node-client")
INFORMER = os.path.join(TOOLS, "informer")
RESTARTS = int(os.environ.get("YARD_INFORMER_RESTARTS", "20"))


def run_client(command, yard, namespace):
    if not yard.is_ours:
        pytest.skip("needs pods that run")
    done = subprocess.run([*command, yard.kubeconfig, namespace], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_python_client(yard, namespace):
    if not os.access(PYTHON, os.X_OK):
        pytest.skip("NOT TRIED: the Python client could not be had (tools/setup sdk)")
    seen = run_client([PYTHON, os.path.join(CLIENTS, "python_client.py")], yard, namespace)
    assert (seen["made"], seen["strategic"], seen["operations"]) == ({"a": "1"}, {"a": "1", "b": "2"}, {"b": "2"})
    assert seen["merged"] == {"x": "y"} and seen["twice"] == "AlreadyExists"
    assert seen["pages"] == [["one", "page-0"], ["page-1", "page-2"], ["page-3", "page-4"]]
    assert seen["watch"]["first"] == ["ADDED seen", "MODIFIED seen"]
    assert seen["watch"]["then"] == ["DELETED seen", "MODIFIED one"]
    assert seen["expired"] == {"told": 410, "after": ["MODIFIED one"]}
    assert seen["exec"] == {"out": "out\n", "err": "err\n", "code": 3, "log": "hello\n", "followed": "hello"}
    assert seen["deleted"] == 404 and seen["groups"] and seen["version"].startswith("v1.34")


def test_the_javascript_client(yard, namespace):
    if not shutil.which("node") or not os.path.isdir(os.path.join(NODE_PACKAGES, "node_modules/@kubernetes/client-node")):
        pytest.skip("NOT TRIED: node or @kubernetes/client-node could not be had (tools/setup clients)")
    seen = run_client(["node", os.path.join(CLIENTS, "node_client.mjs"), NODE_PACKAGES], yard, namespace)
    assert (seen["made"], seen["strategic"], seen["operations"]) == ({"a": "1"}, {"a": "1", "b": "2"}, {"b": "2"})
    assert seen["merged"] == {"c": "3"} and seen["refused"] == 400 and seen["generic"]
    assert seen["pages"] == [["generic", "one", "page-0"], ["page-1", "page-2", "page-3"], ["page-4"]]
    assert seen["watch"] == {"first": ["ADDED seen", "MODIFIED seen"], "then": ["DELETED seen"]}
    assert seen["informed"] == ["generic", "late", "one", *(f"page-{index}" for index in range(5))]
    assert (seen["exec"]["out"], seen["exec"]["err"], seen["exec"]["log"]) == ("out\n", "err\n", "hello\n")
    assert seen["exec"]["status"] == "Failure" and seen["exec"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
    assert seen["deleted"] == 404


def test_an_informer_misses_and_repeats_nothing_over_restarts(own_yard):
    if not os.access(INFORMER, os.X_OK):
        pytest.skip("NOT TRIED: the informer could not be built, for want of Go 1.24 (tools/setup clients)")
    yard = own_yard
    yard.up()
    namespace = yard.new_namespace()
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    created = yard.create(path, {"metadata": {"name": "lasting"}})
    expected = [("ADD", "lasting", created["metadata"]["resourceVersion"])]
    with Stream([INFORMER, yard.kubeconfig, namespace], os.environ) as informer:
        heard = [event(informer)]
        assert event(informer) == ("SYNCED",)
        for number in range(RESTARTS):
            told = writes(yard, path, f"{number}-before")
            if number % 2:
                yard.kill()
                yard.up()
            else:
                yard.command("restart")
                yard._api = None
            told += writes(yard, path, f"{number}-after")
            expected += told
            heard += [event(informer) for _ in told]
        last = yard.request("PATCH", f"{path}/lasting", {"data": {"v": "end"}}, content_type="application/merge-patch+json").json
        expected.append(("UPDATE", "lasting", last["metadata"]["resourceVersion"]))
        heard.append(event(informer))
    assert by_object(heard) == by_object(expected)


def by_object(events):
    """client-go queues events by object: only each object's own are in order."""
    found = {}
    for word, name, *revision in events:
        found.setdefault(name, []).append((word, *revision))
    return found


def event(informer):
    """The next it tells; its library's own log stands between."""
    while True:
        words = tuple(informer.line(30).split())
        if words and words[0] in ("SYNCED", "ADD", "UPDATE", "DELETE"):
            return words[:2] if words[0] == "DELETE" else words


def writes(yard, path, name):
    """A few writes, as an informer should tell them."""
    merge = {"content_type": "application/merge-patch+json"}

    def revision(answer):
        assert answer.status in (200, 201), answer.text
        return answer.json["metadata"]["resourceVersion"]
    eventually(lambda: yard.request("GET", "/readyz").status == 200)
    told = [("ADD", name, revision(yard.request("POST", path, {"metadata": {"name": name}})))]
    told.append(("UPDATE", "lasting", revision(yard.request("PATCH", f"{path}/lasting", {"data": {"v": name}}, **merge))))
    told.append(("UPDATE", name, revision(yard.request("PATCH", f"{path}/{name}", {"data": {"v": name}}, **merge))))
    assert yard.request("DELETE", f"{path}/{name}").status == 200
    return [*told, ("DELETE", name)]
