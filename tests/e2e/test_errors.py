"""Every error of the API, as kubectl prints it."""
import json

import pytest
import yaml

from harness import Api
from objects import config_map, container, job, pod

SUBDOMAIN = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
             "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
             "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")


def collection(namespace, plural="configmaps"):
    return f"/api/v1/namespaces/{namespace}/{plural}"


# 404

@pytest.mark.parametrize("command,error", [
    (["get", "cm", "ghost"], 'configmaps "ghost" not found'),
    (["get", "jobs", "ghost"], 'jobs.batch "ghost" not found'),
    (["describe", "pod", "ghost"], 'pods "ghost" not found'),
    (["patch", "job", "ghost", "-p", "{}"], 'jobs.batch "ghost" not found'),
    (["label", "cm", "ghost", "a=b"], 'configmaps "ghost" not found'),
    (["delete", "secret", "ghost"], 'secrets "ghost" not found'),
    (["get", "ns", "ghost"], 'namespaces "ghost" not found'),
])
def test_not_found(kubectl, command, error):
    assert kubectl(*command, expect=1).err == f"Error from server (NotFound): {error}\n"


def test_replacing_what_is_not_there(kubectl):
    run = kubectl("replace", "-f", "-", stdin=config_map("ghost"), expect=1)
    assert run.err == 'Error from server (NotFound): error when replacing "STDIN": configmaps "ghost" not found\n'


def test_missing_namespace(kubectl):
    run = kubectl("create", "-f", "-", stdin=config_map("it"), namespace="nowhere", expect=1)
    assert run.err == 'Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found\n'
    run = kubectl("create", "configmap", "it", namespace="nowhere", expect=1)
    assert 'namespaces "nowhere" not found' in run.err


def test_unknown_kind(kubectl):
    run = kubectl("get", "trains", expect=1)
    assert run.err == 'error: the server doesn\'t have a resource type "trains"\n'
    run = kubectl("create", "-f", "-", stdin={"apiVersion": "x.io/v1", "kind": "Train", "metadata": {"name": "x"}}, expect=1)
    assert 'no matches for kind "Train" in version "x.io/v1"' in run.err


def test_unknown_path(kubectl):
    run = kubectl("get", "--raw", "/api/v1/trains", expect=1)
    assert run.err == "Error from server (NotFound): the server could not find the requested resource\n"
    assert "Error from server (NotFound)" in kubectl("get", "--raw", "/apis/nowhere/v1", expect=1).err


# 409

def test_already_exists(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    run = kubectl("create", "-f", "-", stdin=config_map("it"), expect=1)
    assert run.err == 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "it" already exists\n'
    run = kubectl("create", "configmap", "it", expect=1)
    assert 'configmaps "it" already exists' in run.err
    run = kubectl("create", "ns", "default", expect=1)
    assert 'namespaces "default" already exists' in run.err


def test_conflict(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    old = kubectl.json("get", "cm", "it")
    kubectl("label", "cm", "it", "a=b")
    run = kubectl("replace", "-f", "-", stdin=old, expect=1)
    assert run.err == (
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "it": '
        'the object has been modified; please apply your changes to the latest version and try again\n')


def test_patch_with_an_old_version(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    run = kubectl("patch", "cm", "it", "--type=merge", "-p", '{"metadata":{"resourceVersion":"1"},"data":{"a":"b"}}', expect=1)
    assert run.err == (
        'Error from server (Conflict): Operation cannot be fulfilled on configmaps "it": the object has been modified; '
        'please apply your changes to the latest version and try again\n')


# 403

@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_namespaces_that_stay(kubectl, name):
    run = kubectl("delete", "ns", name, expect=1)
    assert run.err.splitlines()[-1] == \
        f'Error from server (Forbidden): namespaces "{name}" is forbidden: this namespace may not be deleted'


# 400

def test_bad_label_selector(kubectl):
    run = kubectl("get", "pods", "-l", "a b", expect=1)
    assert run.err == (
        'Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "a b", field '
        'selector "": unable to parse requirement: found \'b\', expected: in, notin, =, ==, !=, gt, lt\n')


@pytest.mark.parametrize("kind,selector,error", [
    ("pods", "spec.name=x", "field label not supported: spec.name"),
    ("configmaps", "foo=x", '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"'),
])
def test_bad_field_selector(kubectl, kind, selector, error):
    run = kubectl("get", kind, "--field-selector", selector, expect=1)
    assert run.err == (
        f'Error from server (BadRequest): Unable to find "/v1, Resource={kind}" that match label selector "", field '
        f'selector "{selector}": {error}\n')


def test_strict_unknown_field(kubectl):
    kubectl.needs(25)
    body = config_map("it")
    body["surplus"] = 1
    run = kubectl("create", "-f", "-", stdin=body, expect=1)
    assert run.err == (
        'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a '
        'ConfigMap: strict decoding error: unknown field "surplus"\n')


def test_strict_nested_unknown_fields(kubectl):
    kubectl.needs(25)
    body = job("it", containers=[container(imagee="x")], paralellism=2)
    run = kubectl("apply", "-f", "-", stdin=body, expect=1)
    assert 'unknown field "spec.paralellism"' in run.err
    assert 'unknown field "spec.template.spec.containers[0].imagee"' in run.err


def test_wrong_type(kubectl):
    run = kubectl("create", "-f", "-", "--validate=false", stdin=config_map("it", {"a": 1}), expect=1)
    assert run.err.startswith('Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" '
                              'cannot be handled as a ConfigMap: ')


def test_namespace_in_body_and_path_differ(yard, namespace):
    answer = yard.request("POST", collection(namespace), config_map("it", namespace="other"))
    assert answer.status == 400 and answer.json["reason"] == "BadRequest"
    assert answer.json["message"] == "the namespace of the provided object does not match the namespace sent on the request"


def test_name_in_body_and_path_differ(yard, namespace):
    yard.create(collection(namespace), config_map("it"))
    answer = yard.request("PUT", collection(namespace) + "/it", config_map("other"))
    assert answer.status == 400
    assert answer.json["message"] == "the name of the object (other) does not match the name on the URL (it)"


def test_bad_continue(kubectl):
    run = kubectl("get", "--raw", collection(kubectl.namespace) + "?limit=1&continue=garbage", expect=1)
    assert run.err.startswith("Error from server (BadRequest): ")


def test_bad_limit(kubectl):
    run = kubectl("get", "--raw", collection(kubectl.namespace) + "?limit=abc", expect=1)
    assert 'strconv.ParseInt: parsing "abc": invalid syntax' in run.err


@pytest.mark.parametrize("body", ["{", "[]", "nonsense", "{\"data\": \"\xff\"}", "[" * 10_000 + "]" * 10_000])
def test_malformed_bodies(yard, namespace, body):
    answer = yard.request("POST", collection(namespace), body.encode("latin-1"))
    assert answer.status == 400, answer.text
    assert answer.json["kind"] == "Status" and answer.json["reason"] == "BadRequest"


def test_deep_nesting_in_a_known_place(yard, namespace):
    nested = '{"a":' * 10_000 + "1" + "}" * 10_000
    answer = yard.request("POST", collection(namespace), '{"metadata":{"name":"it","annotations":' + nested + "}}")
    assert answer.status == 400
    assert yard.request("GET", "/readyz").text == "ok"


# 401, 405, 406, 413, 415

def test_unauthorized(kubectl, yard, tmp_path):
    with open(yard.kubeconfig, encoding="utf-8") as stream:
        config = yaml.safe_load(stream)
    config["users"][0]["user"] = {"token": "wrong"}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    run = kubectl("get", "pods", kubeconfig=str(path), expect=1)
    assert run.err.splitlines()[-1] == "error: You must be logged in to the server (Unauthorized)"


def test_certificate_of_a_stranger(yard):
    api = Api(yard.kubeconfig, yard.folder, credentials=False)
    answer = api.request("GET", "/api/v1/pods", headers={"Authorization": "Bearer nonsense"})
    api.close()
    assert answer.status == 401 and answer.json["message"] == "Unauthorized"


def test_method_not_allowed(kubectl):
    run = kubectl("create", "--raw", collection(kubectl.namespace) + "/it", "-f", "-", stdin="{}", expect=1)
    assert run.err == \
        "Error from server (MethodNotAllowed): the server does not allow this method on the requested resource\n"


def test_not_acceptable(yard, namespace):
    answer = yard.request("GET", collection(namespace), accept="text/html")
    assert answer.status == 406 and answer.json["reason"] == "NotAcceptable"
    assert "application/json, application/yaml" in answer.json["message"]


def test_too_large(kubectl):
    body = json.dumps(config_map("it", {"a": "x" * 3_200_000}))
    run = kubectl("create", "-f", "-", stdin=body, expect=1)
    assert run.err == ('Error from server (RequestEntityTooLarge): error when creating "STDIN": Request entity too large: '
                       "limit is 3145728\n")


def test_unsupported_media_type(yard, namespace):
    answer = yard.request("POST", collection(namespace), "a=b", content_type="application/x-www-form-urlencoded")
    assert answer.status == 415 and answer.json["reason"] == "UnsupportedMediaType"
    assert answer.json["message"].startswith(
        "the body of the request was in an unknown format - accepted media types include: application/json")


def test_json_patch_that_is_no_list(yard, namespace):
    yard.create(collection(namespace), config_map("it"))
    answer = yard.request("PATCH", collection(namespace) + "/it", {"a": "b"}, content_type="application/json-patch+json")
    assert answer.status == 400


# 422

def test_one_cause(kubectl):
    run = kubectl("create", "-f", "-", stdin=config_map("Bad_Name"), expect=1)
    assert run.err == f'The ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": {SUBDOMAIN}\n'


def test_several_causes(kubectl):
    run = kubectl("create", "-f", "-", stdin=job("it", parallelism=-1, completions=-1), expect=1)
    lines = run.err.splitlines()
    assert lines[0].startswith('The Job "it" is invalid:')
    assert "* spec.parallelism: Invalid value: -1: must be greater than or equal to 0" in lines
    assert "* spec.completions: Invalid value: -1: must be greater than or equal to 0" in lines


@pytest.mark.parametrize("body,error", [
    (pod("it", restartPolicy="Sometimes"),
     'The Pod "it" is invalid: spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'),
    (pod("it", containers=[container(), container()]),
     'The Pod "it" is invalid: spec.containers[1].name: Duplicate value: "main"'),
    (pod("it", containers=[]), 'The Pod "it" is invalid: spec.containers: Required value'),
    (pod("it", containers=[{"name": "main"}]), 'The Pod "it" is invalid: spec.containers[0].image: Required value'),
    (config_map("it", labels={"a b": "c"}), 'The ConfigMap "it" is invalid: metadata.labels: Invalid value: "a b": name part must'),
    (config_map("it", {"bad key": "x"}), 'The ConfigMap "it" is invalid: data[bad key]: Invalid value: "bad key": a valid config key must'),
    (pod("it", volumes=[{"name": "v"}, {"name": "v"}]), 'The Pod "it" is invalid: spec.volumes[1].name: Duplicate value: "v"'),
    (pod("it", containers=[container(volumeMounts=[{"name": "no", "mountPath": "/x"}])]),
     'The Pod "it" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "no"'),
])
def test_validation(kubectl, body, error):
    assert kubectl("create", "-f", "-", "--validate=false", stdin=body, expect=1).err.startswith(error)


def test_job_restart_policy(kubectl):
    body = job("it")
    body["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    run = kubectl("create", "-f", "-", stdin=body, expect=1)
    assert run.err == ('The Job "it" is invalid: spec.template.spec.restartPolicy: Required value: valid values: '
                       '"OnFailure", "Never"\n')


def test_no_name(kubectl, yard):
    answer = yard.request("POST", collection(kubectl.namespace), {"metadata": {}})
    assert answer.status == 422
    assert answer.json["message"].endswith("metadata.name: Required value: name or generateName is required")


def test_bad_options(yard, namespace):
    answer = yard.request("POST", collection(namespace) + "?dryRun=Some", config_map("it"))
    assert answer.status == 422 and "dryRun: Unsupported value" in answer.json["message"]
    answer = yard.request("GET", collection(namespace) + "?resourceVersionMatch=Exact")
    assert answer.status == 422
    assert "resourceVersionMatch is forbidden unless resourceVersion is provided" in answer.json["message"]


def test_status_of_an_invalid_object(yard, namespace):
    status = yard.request("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs", job("it", parallelism=-1)).json
    assert (status["kind"], status["status"], status["reason"], status["code"]) == ("Status", "Failure", "Invalid", 422)
    assert status["details"]["group"] == "batch" and status["details"]["kind"] == "Job" and status["details"]["name"] == "it"
    assert status["details"]["causes"][0] == {
        "reason": "FieldValueInvalid", "message": "Invalid value: -1: must be greater than or equal to 0",
        "field": "spec.parallelism"}


def test_too_much_data(kubectl):
    body = json.dumps(config_map("big", {"a": "x" * 1_100_000}))
    run = kubectl("create", "-f", "-", stdin=body, expect=1)
    assert run.err.startswith('The ConfigMap "big" is invalid: []: Too long: ')


# 410, 500, 504, no server

def test_expired_watch(yard, namespace):
    answer = yard.request("GET", "/api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds=1")
    events = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.status == 200
    if events and events[0]["type"] == "ERROR":  # the history may also still reach back to 1
        assert events[0]["object"]["code"] == 410 and events[0]["object"]["reason"] == "Expired"


def test_create_with_a_version(yard, namespace):
    answer = yard.request("POST", collection(namespace), config_map("it", resourceVersion="5"))  # kubectl would drop it
    assert answer.status == 500
    assert answer.json["message"] == "resourceVersion should not be set on objects to be created"


def test_version_of_the_future(yard, namespace):
    answer = yard.request("GET", collection(namespace) + "?resourceVersion=99999999999")
    assert answer.status == 504 and answer.json["reason"] == "Timeout"
    assert answer.json["message"].startswith("Timeout: Too large resource version: 99999999999, current: ")
    assert answer.headers["Retry-After"] == "1"


def test_nobody_there(kubectl, yard, tmp_path):
    with open(yard.kubeconfig, encoding="utf-8") as stream:
        config = yaml.safe_load(stream)
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    run = kubectl("get", "pods", kubeconfig=str(path), expect=1)
    assert "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?" in run.err
