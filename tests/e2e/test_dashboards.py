"""What dashboards ask of a server: k9s by Tables, metadata and reviews, Headlamp by JSON and reviews; both by discovery.

Neither can be had here: the requests are those their libraries send. All of it holds on a kube-apiserver as well
(YARD_E2E_KUBECONFIG)."""
import json

import pytest

from harness import websocket_messages

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
AGGREGATED = ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
              "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json")
INITIAL_END = "k8s.io/initial-events-end"


@pytest.fixture
def maps(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for index in range(3):
        yard.create(path, {"metadata": {"name": f"m{index}", "labels": {"app": "d"}}, "data": {"k": "v"}})
    return path


def events(yard, path, accept="application/json"):
    """All events of a watch of one second."""
    answer = yard.request("GET", f"{path}{'&' if '?' in path else '?'}watch=true&timeoutSeconds=1", accept=accept)
    assert answer.status == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def revision(yard, maps):
    return yard.request("GET", maps).json["metadata"]["resourceVersion"]


@pytest.mark.parametrize("root, group", [("/api", ""), ("/apis", "batch")])
def test_aggregated_discovery(yard, root, group):
    answer = yard.request("GET", root, accept=AGGREGATED)
    assert answer.headers["Content-Type"] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert answer.json["kind"] == "APIGroupDiscoveryList" and answer.json["apiVersion"] == "apidiscovery.k8s.io/v2"
    found = next(item for item in answer.json["items"] if item["metadata"].get("name", "") == group)
    version = found["versions"][0]
    assert version["version"] == "v1" and version["freshness"] == "Current"
    for resource in version["resources"]:
        assert {"resource", "responseKind", "scope", "singularResource", "verbs"} <= set(resource), resource
        assert {"group", "version", "kind"} == set(resource["responseKind"])
    assert answer.headers["ETag"] and answer.headers["Vary"] == "Accept"
    again = yard.request("GET", root, accept=AGGREGATED, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304


def test_tables(yard, maps, namespace):
    table = yard.request("GET", maps + "?limit=2", accept=TABLE).json
    assert table["kind"] == "Table" and [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert {"name", "type", "format", "description", "priority"} == set(table["columnDefinitions"][0])
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata" and table["metadata"]["continue"]
    whole = yard.request("GET", f"/api/v1/configmaps?includeObject=Object&fieldSelector=metadata.namespace%3D{namespace}", accept=TABLE)
    assert {row["object"]["kind"] for row in whole.json["rows"]} == {"ConfigMap"}
    bare = yard.request("GET", maps + "?includeObject=None", accept=TABLE).json
    assert all(row.get("object") is None for row in bare["rows"])


def test_a_table_is_watched(yard, maps):
    since = revision(yard, maps)
    yard.request("PATCH", maps + "/m0", {"data": {"k": "w"}}, content_type="application/merge-patch+json")
    yard.request("DELETE", maps + "/m1")
    first, second = events(yard, f"{maps}?resourceVersion={since}", TABLE)
    assert (first["type"], second["type"]) == ("MODIFIED", "DELETED")
    assert first["object"]["kind"] == second["object"]["kind"] == "Table"
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["object"]["columnDefinitions"] is None or second["object"]["columnDefinitions"] == [], "told once"
    assert first["object"]["rows"][0]["cells"][:2] == ["m0", 1]


def test_metadata_alone_is_listed_and_watched(yard, maps):
    listed = yard.request("GET", maps + "?labelSelector=app%3Dd&limit=500", accept=PARTIAL_LIST).json
    assert listed["kind"] == "PartialObjectMetadataList" and listed["apiVersion"] == "meta.k8s.io/v1"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["m0", "m1", "m2"]
    assert all(set(item) <= {"kind", "apiVersion", "metadata"} for item in listed["items"])
    one = yard.request("GET", maps + "/m0", accept=PARTIAL).json
    assert one["kind"] == "PartialObjectMetadata" and "data" not in one
    yard.request("PATCH", maps + "/m2", {"data": {"k": "w"}}, content_type="application/merge-patch+json")
    (event,) = events(yard, f"{maps}?resourceVersion={listed['metadata']['resourceVersion']}", PARTIAL)
    assert event["type"] == "MODIFIED" and event["object"]["kind"] == "PartialObjectMetadata" and "data" not in event["object"]


def test_a_browser_watches_by_websocket(yard, maps):
    since = revision(yard, maps)
    yard.request("PATCH", maps + "/m0", {"data": {"k": "w"}}, content_type="application/merge-patch+json")
    path = f"{maps}?watch=1&resourceVersion={since}&timeoutSeconds=1"
    (message,) = websocket_messages(yard, path, "base64.binary.k8s.io", opcode_of_all=1)
    event = json.loads(message)
    assert (event["type"], event["object"]["metadata"]["name"], event["object"]["data"]) == ("MODIFIED", "m0", {"k": "w"})


@pytest.mark.parametrize("accept", ["application/json", TABLE, PARTIAL])
def test_a_list_comes_as_a_stream(yard, maps, accept):
    query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&labelSelector=app%3Dd"
    told = events(yard, f"{maps}?{query}", accept)
    assert [event["type"] for event in told[:4]] == ["ADDED", "ADDED", "ADDED", "BOOKMARK"]
    mark = told[3]["object"]
    if mark["kind"] == "Table":
        mark = mark["rows"][0]["object"]
    assert mark["metadata"]["annotations"] == {INITIAL_END: "true"} and int(mark["metadata"]["resourceVersion"]) > 0


def test_reviews(yard, namespace):
    for verb, resource in (("list", "pods"), ("get", "pods/log"), ("delete", "jobs"), ("watch", "nodes")):
        resource, _, sub = resource.partition("/")
        review = yard.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
                "namespace": namespace, "verb": verb, "resource": resource, "subresource": sub}}})
        assert review.status == 201 and review.json["status"]["allowed"] is True
    rules = yard.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": namespace}})
    assert rules.status == 201 and {"resourceRules", "nonResourceRules", "incomplete"} <= set(rules.json["status"])


def test_what_is_not_there_says_so(yard):
    """What is optional for all of them is so when its absence is a plain 404."""
    for path in ("/apis/custom.metrics.k8s.io/v1beta1", "/apis/monitoring.coreos.com/v1"):
        answer = yard.request("GET", path)
        assert answer.status == 404, path


def test_every_listed_kind_can_be_listed(yard):
    """A dashboard walks discovery and lists what it finds, as a Table and as metadata."""
    refused = []
    for root in ("/api", "/apis"):
        for group in yard.request("GET", root, accept=AGGREGATED).json["items"]:
            if group["metadata"].get("name") == "metrics.k8s.io":
                continue  # measured when asked, not stored: plain objects only
            for version in group["versions"]:
                base = f"{root}/{version['version']}" if root == "/api" else f"{root}/{group['metadata']['name']}/{version['version']}"
                for resource in version["resources"]:
                    if "list" not in resource["verbs"]:
                        continue
                    path = f"{base}/{resource['resource']}?limit=5"
                    for accept, kind in ((TABLE, "Table"), (PARTIAL_LIST, "PartialObjectMetadataList")):
                        answer = yard.request("GET", path, accept=accept)
                        if answer.status != 200 or answer.json["kind"] != kind:
                            refused.append((path, kind, answer.status))
    assert refused == []
