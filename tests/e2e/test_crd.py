"""Custom resources with kubectl: define, apply, explain, scale, patch, print, refuse, and take away again."""
import itertools

import pytest

from harness import eventually

NUMBERS = itertools.count(1)
PORTS = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["p"],
         "items": {"type": "object", "required": ["p"],
                   "properties": {"p": {"type": "integer"}, "q": {"type": "string", "default": "z"}}}}


def widget_definition(group):
    spec = {"type": "object", "required": ["name"], "description": "What a widget is to be.",
            "properties": {"name": {"type": "string", "maxLength": 5, "description": "How it is called."},
                           "replicas": {"type": "integer", "default": 1, "minimum": 0}, "ports": PORTS,
                           "mode": {"type": "string", "enum": ["a", "b"]},
                           "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    status = {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}
    version = {"name": "v1", "served": True, "storage": True,
               "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
               "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                                                        "statusReplicasPath": ".status.replicas",
                                                        "labelSelectorPath": ".status.selector"}},
               "additionalPrinterColumns": [
                   {"name": "Called", "type": "string", "jsonPath": ".spec.name"},
                   {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                   {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1},
                   {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{group}"},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wi"]}, "versions": [version]}}


def widget(group, called="w", **spec):
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": called}, "spec": {"name": "n", **spec}}


@pytest.fixture
def group(kubectl):
    """The group of a Widget that is defined, established and taken away again; no other test has it."""
    name = f"e{next(NUMBERS)}.ex.io"
    kubectl("apply", "-f", "-", stdin=[widget_definition(name)])
    kubectl("wait", "--for=condition=established", f"crd/widgets.{name}", "--timeout=60s")
    yield name
    kubectl("delete", "crd", f"widgets.{name}", "--ignore-not-found")


def resource(group):
    return f"widgets.{group}"


def test_established_with_its_names(kubectl, group):
    definition = kubectl.json("get", "crd", resource(group))
    conditions = {c["type"]: (c["status"], c["reason"], c["message"]) for c in definition["status"]["conditions"]}
    assert conditions["NamesAccepted"] == ("True", "NoConflicts", "no conflicts found")
    assert conditions["Established"] == ("True", "InitialNamesAccepted", "the initial names have been accepted")
    assert definition["status"]["acceptedNames"] == definition["spec"]["names"]
    assert definition["status"]["storedVersions"] == ["v1"]
    assert definition["spec"]["names"]["listKind"] == "WidgetList"


def test_applied_printed_and_changed(kubectl, group):
    kubectl("apply", "-f", "-", stdin=[widget(group, ports=[{"p": 1}])])
    got = kubectl.json("get", resource(group), "w")
    assert got["spec"] == {"name": "n", "replicas": 1, "ports": [{"p": 1, "q": "z"}]}
    rows = kubectl("get", resource(group)).out.splitlines()
    assert rows[0].split() == ["NAME", "CALLED", "REPLICAS", "AGE"]
    assert rows[1].split()[:3] == ["w", "n", "1"]
    assert "MODE" in kubectl("get", resource(group), "-o", "wide").out
    changed = widget(group, ports=[{"p": 1, "q": "z"}], mode="a")
    assert kubectl("apply", "-f", "-", stdin=[changed]).out.endswith("configured\n")
    assert kubectl("apply", "-f", "-", stdin=[changed]).out.endswith("unchanged\n")
    assert kubectl.json("get", resource(group), "w")["metadata"]["generation"] == 2


def test_server_side_apply(kubectl, group):
    kubectl("apply", "--server-side", "-f", "-", stdin=[widget(group, replicas=2)])
    managers = kubectl.json("get", resource(group), "w", "--show-managed-fields")["metadata"]["managedFields"] \
        if kubectl.minor >= 21 else kubectl.json("get", resource(group), "w")["metadata"]["managedFields"]
    assert [(m["manager"], m["operation"]) for m in managers] == [("kubectl", "Apply")]
    assert managers[0]["fieldsV1"] == {"f:spec": {"f:name": {}, "f:replicas": {}}}


def test_explain(kubectl, group):
    assert "How it is called." in kubectl("explain", "widgets.spec.name", f"--api-version={group}/v1").out


def test_scale(kubectl, group):
    kubectl("apply", "-f", "-", stdin=[widget(group)])
    assert kubectl("scale", f"{resource(group)}/w", "--replicas=3").out.endswith("scaled\n")
    assert kubectl.json("get", resource(group), "w")["spec"]["replicas"] == 3


def test_patch(kubectl, group):
    kubectl("apply", "-f", "-", stdin=[widget(group)])
    kubectl("patch", resource(group), "w", "--type=merge", "-p", '{"spec":{"replicas":5}}')
    kubectl("patch", resource(group), "w", "--type=json", "-p", '[{"op":"replace","path":"/spec/name","value":"m"}]')
    assert kubectl.json("get", resource(group), "w")["spec"] == {"name": "m", "replicas": 5}


@pytest.mark.parametrize("spec, message", [
    ({"name": "abcdef"}, 'spec.name: Too long: may not be more than 5 bytes'),
    ({"replicas": -1}, 'spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0'),
    ({"mode": "z"}, 'spec.mode: Unsupported value: "z": supported values: "a", "b"'),
    ({"replicas": "many"}, 'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"'),
    ({"ports": [{"p": 1}, {"p": 1}]}, 'spec.ports[1]: Duplicate value: {"p":1}'),
])
def test_what_the_schema_refuses(kubectl, group, spec, message):
    run = kubectl("create", "--validate=false", "-f", "-", stdin=[widget(group, **spec)], expect=1)
    assert f'The Widget "w" is invalid: {message}' in run.err.replace("* ", "").replace("\n", " ")


def test_unknown_fields_are_told_or_refused(kubectl, group, yard):
    path = f"/apis/{group}/v1/namespaces/{kubectl.namespace}/widgets"
    answer = yard.request("POST", path, widget(group, nope=1, free={"kept": 2}))
    assert answer.status == 201
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.nope\\""'
    assert answer.json["spec"] == {"name": "n", "replicas": 1, "free": {"kept": 2}}
    strict = yard.request("POST", path + "?fieldValidation=Strict", widget(group, "s", nope=1))
    assert strict.status == 400 and 'unknown field "spec.nope"' in strict.json["message"]


def test_kubectl_refuses_unknown_fields(kubectl, group):
    kubectl.needs(25)
    run = kubectl("apply", "-f", "-", stdin=[widget(group, nope=1)], expect=1)
    assert 'unknown field "spec.nope"' in run.err


def test_a_deleted_definition_takes_its_objects_along(kubectl, yard):
    group = f"e{next(NUMBERS)}.ex.io"
    kubectl("apply", "-f", "-", stdin=[widget_definition(group)])
    kubectl("wait", "--for=condition=established", f"crd/widgets.{group}", "--timeout=60s")
    held = widget(group, "held")
    held["metadata"]["finalizers"] = ["ex.io/hold"]
    kubectl("apply", "-f", "-", stdin=[widget(group), held])
    kubectl("delete", "crd", f"widgets.{group}", "--wait=false")
    objects = f"/apis/{group}/v1/namespaces/{kubectl.namespace}/widgets"
    eventually(lambda: yard.request("GET", f"{objects}/w").status == 404, about="an object without finalizers goes")
    refused = yard.request("POST", objects, widget(group, "late"))
    assert refused.status == 403
    assert refused.json["message"] == "create not allowed while custom resource definition is terminating"
    kubectl("patch", f"widgets.{group}", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    eventually(lambda: yard.request("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}").status == 404)
    assert yard.request("GET", objects).status == 404
