"""The lives of objects that every client takes for granted, and watches of them, each asked as upstream's conformance
test of that name asks it (docs/compatibility.md lists them), or more strictly."""
import json
import urllib.parse

import pytest

from harness import eventually

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


@pytest.fixture
def config_maps(namespace):
    return f"/api/v1/namespaces/{namespace}/configmaps"


def found(yard, path):
    answer = yard.request("GET", path)
    assert answer.status == 200, answer.text
    return answer.json


def watched(yard, collection, version, selector=""):
    """What a watch from that version on tells within a second: (type, object)."""
    query = urllib.parse.urlencode({"watch": 1, "resourceVersion": version, "timeoutSeconds": 1,
                                    **({"labelSelector": selector} if selector else {})})
    answer = yard.request("GET", f"{collection}?{query}")
    assert answer.status == 200, answer.text
    events = [json.loads(line) for line in answer.text.splitlines()]
    return [(event["type"], event["object"]) for event in events if event["type"] != "BOOKMARK"]


def types(events):
    return [(kind, one["metadata"]["name"], one.get("data", {}).get("mutation")) for kind, one in events]


def set_data(yard, path, **data):
    answer = yard.request("PATCH", path, {"data": data}, content_type=MERGE)
    assert answer.status == 200, answer.text
    return answer.json["metadata"]["resourceVersion"]


def test_watches_begin_where_they_are_told_and_go_on_where_another_ended(yard, config_maps):
    made = yard.create(config_maps, {"metadata": {"name": "w", "labels": {"watch": "w"}}})
    first = set_data(yard, f"{config_maps}/w", mutation="1")
    second = set_data(yard, f"{config_maps}/w", mutation="2")
    yard.request("DELETE", f"{config_maps}/w")
    whole = watched(yard, config_maps, made["metadata"]["resourceVersion"], "watch=w")
    assert types(whole) == [("MODIFIED", "w", "1"), ("MODIFIED", "w", "2"), ("DELETED", "w", "2")]
    assert [one["metadata"]["resourceVersion"] for _, one in whole[:2]] == [first, second]
    # A watch that ended after the first event is taken up by another: nothing is missed, nothing comes twice.
    assert types(watched(yard, config_maps, first, "watch=w")) == types(whole)[1:]
    # Whoever looks on from any of them sees the same order.
    for number, (_, one) in enumerate(whole):
        assert watched(yard, config_maps, one["metadata"]["resourceVersion"], "watch=w") == whole[number + 1:]


def test_watches_by_labels_see_what_concerns_them(yard, config_maps):
    start = found(yard, config_maps)["metadata"]["resourceVersion"]
    for name in ("a", "b"):
        yard.create(config_maps, {"metadata": {"name": name, "labels": {"of": name}}})
    for mutation in ("1", "2"):
        set_data(yard, f"{config_maps}/a", mutation=mutation)
    for name in ("a", "b"):
        yard.request("DELETE", f"{config_maps}/{name}")
    own = [("ADDED", "a", None), ("MODIFIED", "a", "1"), ("MODIFIED", "a", "2"), ("DELETED", "a", "2")]
    other = [("ADDED", "b", None), ("DELETED", "b", None)]
    assert types(watched(yard, config_maps, start, "of=a")) == own
    assert types(watched(yard, config_maps, start, "of=b")) == other
    assert types(watched(yard, config_maps, start, "of in (a, b)")) == [own[0], other[0], *own[1:], other[1]]


def test_who_stops_meeting_a_selector_is_told_as_deleted(yard, config_maps):
    start = yard.create(config_maps, {"metadata": {"name": "w", "labels": {"on": "yes"}}})["metadata"]["resourceVersion"]
    set_data(yard, f"{config_maps}/w", mutation="1")
    for value, mutation in (("no", "2"), ("yes", "3")):
        yard.request("PATCH", f"{config_maps}/w", {"metadata": {"labels": {"on": value}}, "data": {"mutation": mutation}}, content_type=MERGE)
    yard.request("DELETE", f"{config_maps}/w")
    seen = types(watched(yard, config_maps, start, "on=yes"))
    assert [kind for kind, _, _ in seen] == ["MODIFIED", "DELETED", "ADDED", "DELETED"]
    assert (seen[0][2], seen[2][2]) == ("1", "3")


def test_every_group_has_the_version_it_prefers_and_resources(yard):
    groups = found(yard, "/apis")["groups"]
    assert len(groups) > 10
    for group in groups:
        versions = [version["groupVersion"] for version in group["versions"]]
        assert group["preferredVersion"]["groupVersion"] in versions
        assert found(yard, f"/apis/{group['name']}")["versions"] == group["versions"]
        for version in versions:
            resources = found(yard, f"/apis/{version}")
            assert resources["groupVersion"] == version and resources["resources"], version
            assert all(one["name"] and one["kind"] and one["verbs"] for one in resources["resources"])


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_discovery_in_one_document(yard, path):
    form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    whole = yard.request("GET", path, accept=f"{form},application/json").json
    assert (whole["kind"], whole["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    names = [item["metadata"].get("name", "") for item in whole["items"]]
    assert names == [""] if path == "/api" else {"batch", "apps", "kubeflow.org"} <= set(names)
    plain = yard.request("GET", path).json
    assert plain["kind"] == ("APIVersions" if path == "/api" else "APIGroupList"), "who does not ask gets the older form"


def test_unknown_fields_of_metadata_and_the_body(yard, config_maps):
    body = ('{"metadata": {"name": "odd", "unknownMeta": "x", "labels": {}}, "unknown": 1, '
            '"data": {"a": "1"}, "data": {"a": "2"}}')
    strict = yard.request("POST", f"{config_maps}?fieldValidation=Strict", body)
    assert strict.status == 400, strict.text
    for words in ('unknown field "unknown"', 'unknown field "metadata.unknownMeta"', 'duplicate field "data"'):
        assert words in strict.json["message"], strict.text
    warned = yard.request("POST", f"{config_maps}?fieldValidation=Warn", body)
    assert warned.status == 201 and warned.json["data"] == {"a": "2"}
    assert "unknown" not in warned.json and "unknownMeta" not in warned.json["metadata"]


def test_the_life_of_a_namespace(yard):
    name = yard.new_namespace()
    at = f"/api/v1/namespaces/{name}"
    patched = yard.request("PATCH", at, {"metadata": {"labels": {"testLabel": "testValue"}}}, content_type=STRATEGIC).json
    assert patched["metadata"]["labels"] == {"testLabel": "testValue", "kubernetes.io/metadata.name": name}
    patched["metadata"]["labels"]["updated"] = "yes"
    assert yard.request("PUT", at, patched).json["metadata"]["labels"]["updated"] == "yes"
    condition = {"type": "StatusPatch", "status": "True", "reason": "E2E", "message": "Patched by a test"}
    status = yard.request("PATCH", f"{at}/status", {"metadata": {"annotations": {"patched": "true"}}, "status": {"conditions": [condition]}},
                          content_type=MERGE).json
    assert [one["type"] for one in status["status"]["conditions"]] == ["StatusPatch"] and status["status"]["phase"] == "Active"
    again = found(yard, at)
    again["status"]["conditions"].append({**condition, "type": "StatusUpdate"})
    assert [one["type"] for one in yard.request("PUT", f"{at}/status", again).json["status"]["conditions"]] == ["StatusPatch", "StatusUpdate"]
    # One finalizer more holds the namespace, until it is taken away again.
    held = found(yard, at)
    held["spec"]["finalizers"].append("e2e.example.com/fake")
    assert yard.request("PUT", f"{at}/finalize", held).json["spec"]["finalizers"] == ["kubernetes", "e2e.example.com/fake"]
    yard.create(f"{at}/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    yard.request("DELETE", at)
    eventually(lambda: found(yard, at)["spec"]["finalizers"] == ["e2e.example.com/fake"], about="our own work is done")
    assert found(yard, at)["status"]["phase"] == "Terminating" and found(yard, f"{at}/services")["items"] == []
    free = found(yard, at)
    free["spec"]["finalizers"] = []
    assert yard.request("PUT", f"{at}/finalize", free).status == 200
    eventually(lambda: yard.request("GET", at).status == 404, about="it goes")


def event(name, namespace):
    return {"metadata": {"name": name, "labels": {"testevent": "e"}}, "reason": "Test", "message": "first", "type": "Normal",
            "involvedObject": {"namespace": namespace, "kind": "Pod", "name": "p"}, "count": 1}


def new_event(name, namespace):
    return {"metadata": {"name": name, "labels": {"testevent": "e"}}, "reason": "Test", "note": "first", "type": "Normal", "action": "Do",
            "reportingController": "test-controller", "reportingInstance": "test-node", "eventTime": "2026-11-15T12:00:00.000001Z",
            "regarding": {"namespace": namespace, "kind": "Pod", "name": "p"}}


@pytest.mark.parametrize("group, make, text", [("api/v1", event, "message"), ("apis/events.k8s.io/v1", new_event, "note")])
def test_the_life_of_an_event(yard, namespace, group, make, text):
    at, everywhere = f"/{group}/namespaces/{namespace}/events", f"/{group}/events?labelSelector=testevent%3De"
    yard.create(at, make("one", namespace))
    assert [one["metadata"]["namespace"] for one in found(yard, everywhere)["items"]] == [namespace]
    patched = yard.request("PATCH", f"{at}/one", {text: "second"} if text == "message" else {"series": {
        "count": 2, "lastObservedTime": "2026-11-15T12:00:01.000002Z"}}, content_type=STRATEGIC)
    assert patched.status == 200, patched.text
    now = found(yard, f"{at}/one")
    assert now[text] == "second" if text == "message" else now["series"]["count"] == 2
    if text == "note":
        now["series"]["count"] = 100
        assert yard.request("PUT", f"{at}/one", now).json["series"]["count"] == 100
        assert now["eventTime"] == "2026-11-15T12:00:00.000001Z", "to the microsecond"
    yard.request("DELETE", f"{at}/one")
    assert found(yard, everywhere)["items"] == []
    for number in range(3):
        yard.create(at, make(f"set-{number}", namespace))
    assert yard.request("DELETE", f"{at}?labelSelector=testevent%3De").status == 200
    assert found(yard, f"{at}?labelSelector=testevent%3De")["items"] == []


def test_the_life_of_a_service_account(yard, namespace):
    at = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    made = yard.create(at, {"metadata": {"name": "sa", "labels": {"static": "true"}}})
    start = made["metadata"]["resourceVersion"]
    assert yard.request("PATCH", f"{at}/sa", {"automountServiceAccountToken": False}, content_type=STRATEGIC).json["automountServiceAccountToken"] is False
    now = found(yard, f"{at}/sa")
    now["automountServiceAccountToken"] = True
    assert yard.request("PUT", f"{at}/sa", now).json["automountServiceAccountToken"] is True
    listed = found(yard, "/api/v1/serviceaccounts?labelSelector=static%3Dtrue")["items"]
    assert [one["metadata"]["namespace"] for one in listed] == [namespace]
    assert yard.request("DELETE", f"{at}?labelSelector=static%3Dtrue").status == 200
    assert [kind for kind, _ in watched(yard, at, start, "static=true")] == ["MODIFIED", "MODIFIED", "DELETED"]


def test_the_authority_is_in_every_namespace_and_comes_back(yard, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt"
    authority = eventually(lambda: yard.request("GET", path).status == 200 and found(yard, path)["data"]["ca.crt"])
    assert "BEGIN CERTIFICATE" in authority
    yard.request("DELETE", path)
    eventually(lambda: yard.request("GET", path).status == 200, about="it is made again")
    yard.request("PATCH", path, {"data": {"ca.crt": ""}}, content_type=MERGE)
    eventually(lambda: found(yard, path)["data"]["ca.crt"] == authority, about="what somebody changed is put right")


def test_the_life_of_a_cron_job(yard, namespace):
    at = f"/apis/batch/v1/namespaces/{namespace}/cronjobs"
    template = {"spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "busybox"}]}}}}
    body = {"metadata": {"generateName": "e2e-", "labels": {"special": "yes"}}, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": template}}
    made = yard.create(at, body)
    name, start = made["metadata"]["name"], made["metadata"]["resourceVersion"]
    assert (made["spec"]["concurrencyPolicy"], made["spec"]["suspend"]) == ("Allow", False)
    for _ in range(2):
        yard.create(at, body)
    assert len(found(yard, f"{at}?labelSelector=special%3Dyes")["items"]) == 3
    assert name in [one["metadata"]["name"] for one in found(yard, "/apis/batch/v1/cronjobs")["items"]]
    patched = yard.request("PATCH", f"{at}/{name}", {"metadata": {"annotations": {"patched": "true"}}}, content_type=MERGE).json
    patched["metadata"]["annotations"]["updated"] = "true"
    updated = yard.request("PUT", f"{at}/{name}", patched).json
    assert updated["metadata"]["annotations"] == {"patched": "true", "updated": "true"}
    when = "2026-11-15T12:00:00Z"
    assert yard.request("PATCH", f"{at}/{name}/status", {"status": {"lastScheduleTime": when}}, content_type=MERGE).json["status"]["lastScheduleTime"] == when
    updated = found(yard, f"{at}/{name}/status")
    updated["spec"]["suspend"] = True
    assert yard.request("PUT", f"{at}/{name}/status", updated).json["spec"]["suspend"] is False, "the spec is not the status"
    assert yard.request("DELETE", f"{at}/{name}").status == 200
    assert yard.request("GET", f"{at}/{name}").status == 404
    seen = [kind for kind, one in watched(yard, at, start, "special=yes") if one["metadata"]["name"] == name]
    assert seen[0] == "MODIFIED" and seen[-1] == "DELETED"
    assert yard.request("DELETE", f"{at}?labelSelector=special%3Dyes").status == 200
    assert found(yard, f"{at}?labelSelector=special%3Dyes")["items"] == []
