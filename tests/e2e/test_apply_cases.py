"""The golden cases of server-side apply (tests/cases/apply), asked of a real kube-apiserver and of a server of ours.

src/apiserver/apply_cases_test.cpp holds ours to them without a network; here it is shown that they are what the real one
answers. Where the peer is not built (bench/peers/build server), only ours is asked, and a warning says so."""
import json
import os
import urllib.parse
import warnings

import pytest
import yaml

from compare.peer import peer, peer_is_at_hand
from harness import ROOT, Api, eventually

CASES = os.path.join(ROOT, "tests/cases/apply")
NAMES = sorted(name for name in os.listdir(CASES) if name.endswith(".yaml"))
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VERBS = {"get": ("GET", None), "create": ("POST", "application/json"), "update": ("PUT", "application/json"),
         "merge": ("PATCH", "application/merge-patch+json"), "apply": ("PATCH", "application/apply-patch+yaml")}


@pytest.fixture(scope="module", params=["ours", "theirs"])
def api(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("apply")
    if request.param == "ours":
        yard = request.getfixturevalue("yard")
        yield Api(yard.kubeconfig, yard.folder)
        return
    if not peer_is_at_hand():
        warnings.warn("NO PEER: the cases of server-side apply were not asked of a kube-apiserver (bench/peers/build server)")
        pytest.skip("NO PEER: bench/peers/build server")
    with peer(str(folder / "peer")) as kubeconfig:
        yield Api(kubeconfig, str(folder))


def widget_definition():
    with open(os.path.join(ROOT, "tests/testing/widget.h"), encoding="utf-8") as stream:
        return yaml.safe_load(stream.read().split('R"(')[1].split(')"')[0])


def define(api, definition):
    plural, group = definition["spec"]["names"]["plural"], definition["spec"]["group"]
    made = api.request("POST", DEFINITIONS, definition)
    assert made.status in (201, 409), made.text
    eventually(lambda: api.request("GET", f"/apis/{group}/v1/namespaces/default/{plural}").status == 200, 20)


def member(tree, path):
    for step in path.split("."):
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def content(tree, show):
    if show:
        return {path: member(tree, path) for path in show if member(tree, path) is not None}
    labels = tree["metadata"].get("labels")
    return {**{key: value for key, value in tree.items() if key not in ("apiVersion", "kind", "metadata")},
            **({"labels": labels} if labels else {})}


def owners(tree):
    return {" ".join(filter(None, (entry["manager"], entry["operation"], entry.get("subresource")))):
            json.dumps(entry["fieldsV1"], separators=(",", ":")) for entry in tree["metadata"].get("managedFields", [])}


def ask(api, step):
    method, content_type = VERBS[step["verb"]]
    query = {"fieldManager": step["by"], **({"force": "true"} if step.get("force") else {})}
    return api.request(method, f"{step['at']}?{urllib.parse.urlencode(query)}", step["body"] if content_type else None,
                       content_type=content_type)


def without_inert(tree):
    """Kinds that nothing acts on here say so in their status."""
    conditions = [one for one in tree.get("status", {}).get("conditions", []) if one["type"] == "Inert"]
    return {key: value for key, value in tree.items() if not (key == "status" and conditions)}


def object_path(step):
    """Of the object itself, for cleaning up; a create has the collection."""
    path = step["at"]
    if step["verb"] == "create":
        return f"{path}/{step['body']['metadata']['name']}"
    return path.removesuffix("/status").removesuffix("/scale")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_what_the_server_answers(api, name):
    with open(os.path.join(CASES, name), encoding="utf-8") as stream:
        case = yaml.safe_load(stream)
    if "definition" in case:
        define(api, widget_definition() if case["definition"] == "widget" else case["definition"])
    revision = None
    try:
        for step, expected in zip(case["steps"], case["answers"], strict=True):
            answer = ask(api, step)
            # A configuration that does not fit is the client's mistake here: 400 where upstream says 500.
            code = 400 if answer.status == 500 and "typed patch object" in answer.text else answer.status
            assert code == expected["code"], f"{step}\n{answer.text}"
            if code >= 400:
                assert answer.json["message"] == expected["message"]
                continue
            tree = without_inert(answer.json)
            seen = {"code": code, "changed": tree["metadata"]["resourceVersion"] != revision,
                    "object": content(tree, case.get("show")), "owners": owners(tree)}
            revision = tree["metadata"]["resourceVersion"]
            if "generation" in tree["metadata"]:
                seen["generation"] = tree["metadata"]["generation"]
            assert seen == expected, step
    finally:
        for path in {object_path(step) for step in case["steps"]}:
            api.request("DELETE", path)
