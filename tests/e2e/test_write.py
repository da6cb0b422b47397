"""create, apply, edit, patch, replace, diff, label, annotate, dry run."""
import copy
import json
import os

import pytest
import yaml

from objects import config_map, container, job, pod


def test_create(kubectl):
    assert kubectl("create", "-f", "-", stdin=config_map("made")).out == "configmap/made created\n"
    assert kubectl.json("get", "cm", "made")["data"] == {"key": "value"}


def test_create_several(kubectl):
    out = kubectl("create", "-f", "-", stdin=[config_map("one"), job("two"), pod("three")]).out
    assert out.splitlines() == ["configmap/one created", "job.batch/two created", "pod/three created"]


def test_create_with_a_generated_name(kubectl):
    body = config_map("x")
    body["metadata"] = {"generateName": "made-"}
    name = kubectl("create", "-f", "-", "-o", "name", stdin=body).out.strip()
    assert name.startswith("configmap/made-") and len(name) == len("configmap/made-") + 5


def test_create_namespace(kubectl):
    name = kubectl.namespace + "-more"
    assert kubectl("create", "ns", name).out == f"namespace/{name} created\n"
    made = kubectl.json("get", "ns", name)
    assert made["metadata"]["labels"]["kubernetes.io/metadata.name"] == name
    assert made["spec"]["finalizers"] == ["kubernetes"] and made["status"]["phase"] == "Active"


def test_create_secret(kubectl):
    out = kubectl("create", "secret", "generic", "login", "--from-literal=user=ada", "--from-literal=word=x y").out
    assert out == "secret/login created\n"
    made = kubectl.json("get", "secret", "login")
    assert made["type"] == "Opaque" and made["data"] == {"user": "YWRh", "word": "eCB5"}


def test_create_configmap_from_a_file(kubectl, tmp_path):
    (tmp_path / "train.py").write_text("print('hello')\n")
    (tmp_path / "weights").write_bytes(b"\xff\x00\xfe")
    out = kubectl("create", "configmap", "code", f"--from-file={tmp_path}/train.py", f"--from-file={tmp_path}/weights").out
    assert out == "configmap/code created\n"
    made = kubectl.json("get", "cm", "code")
    assert made["data"] == {"train.py": "print('hello')\n"} and made["binaryData"] == {"weights": "/wD+"}


def test_create_job(kubectl):
    assert kubectl("create", "job", "quick", "--image=busybox", "--dry-run=server", "--", "date").out == \
        "job.batch/quick created (server dry run)\n"


def test_create_service_account_and_quota(kubectl):
    assert kubectl("create", "sa", "robot").out == "serviceaccount/robot created\n"
    assert kubectl("create", "quota", "few", "--hard=pods=5").out == "resourcequota/few created\n"


def test_job_defaults(kubectl):
    kubectl("create", "-f", "-", stdin=job("plain"))
    made = kubectl.json("get", "job", "plain")
    uid, spec = made["metadata"]["uid"], made["spec"]
    assert made["metadata"]["generation"] == 1
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
    assert spec["completionMode"] == "NonIndexed" and spec["podReplacementPolicy"] == "TerminatingOrFailed"
    assert spec["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    labels = spec["template"]["metadata"]["labels"]
    assert labels["job-name"] == "plain" and labels["controller-uid"] == uid
    only = spec["template"]["spec"]["containers"][0]
    assert only["imagePullPolicy"] == "Always" and only["terminationMessagePath"] == "/dev/termination-log"


def test_apply_new_unchanged_configured(kubectl):
    body = job("train", labels={"app": "one"})
    assert kubectl("apply", "-f", "-", stdin=body).out == "job.batch/train created\n"
    before = kubectl.json("get", "job", "train")
    assert kubectl("apply", "-f", "-", stdin=body).out == "job.batch/train unchanged\n"
    assert kubectl.json("get", "job", "train")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    body["metadata"]["labels"]["app"] = "two"
    body["spec"]["parallelism"] = 3
    assert kubectl("apply", "-f", "-", stdin=body).out == "job.batch/train configured\n"
    after = kubectl.json("get", "job", "train")
    assert after["metadata"]["labels"]["app"] == "two" and after["spec"]["parallelism"] == 3
    assert after["metadata"]["generation"] == 2 and after["metadata"]["uid"] == before["metadata"]["uid"]


def test_apply_prunes_a_field(kubectl):
    body = config_map("settings", {"keep": "1", "drop": "2"}, labels={"a": "1", "b": "2"})
    kubectl("apply", "-f", "-", stdin=body)
    kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"data":{"foreign":"3"}}')
    del body["data"]["drop"], body["metadata"]["labels"]["b"]
    assert kubectl("apply", "-f", "-", stdin=body).out == "configmap/settings configured\n"
    after = kubectl.json("get", "cm", "settings")
    assert after["data"] == {"keep": "1", "foreign": "3"} and after["metadata"]["labels"] == {"a": "1"}


def test_apply_merges_lists_by_name(kubectl):
    body = pod("lists", containers=[container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])])
    dry = ["apply", "-f", "-", "--dry-run=server", "-o", "json"]
    kubectl("apply", "-f", "-", stdin=body)
    body["spec"]["containers"][0]["image"] = "busybox:1.36"
    changed = json.loads(kubectl(*dry, stdin=body).out)
    assert changed["spec"]["containers"][0]["image"] == "busybox:1.36"
    assert changed["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


def test_apply_a_folder(kubectl, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(config_map(name)))
    assert kubectl("apply", "-f", str(tmp_path)).out == "configmap/one created\nconfigmap/two created\n"


def test_apply_refuses_what_may_not_change(kubectl):
    body = job("fixed", completions=2)
    kubectl("apply", "-f", "-", stdin=body)
    body["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    run = kubectl("apply", "-f", "-", stdin=body, expect=1)
    assert 'The Job "fixed" is invalid: spec.template: Invalid value:' in run.err and "field is immutable" in run.err


@pytest.fixture
def editor(tmp_path):
    """KUBE_EDITOR that runs a sed expression on the file."""
    def make(expression):
        script = tmp_path / "editor"
        script.write_text(f"#!/bin/sh\nexec sed -i -e '{expression}' \"$1\"\n")
        os.chmod(script, 0o755)
        return {"KUBE_EDITOR": str(script)}
    return make


def test_edit(kubectl, editor):
    kubectl("create", "-f", "-", stdin=config_map("settings"))
    assert kubectl("edit", "cm", "settings", env=editor("s/key: value/key: edited/")).out == "configmap/settings edited\n"
    assert kubectl.json("get", "cm", "settings")["data"] == {"key": "edited"}


def test_edit_of_a_job(kubectl, editor):
    kubectl("create", "-f", "-", stdin=job("train"))
    assert kubectl("edit", "job", "train", env=editor("s/parallelism: 1/parallelism: 4/")).out == "job.batch/train edited\n"
    assert kubectl.json("get", "job", "train")["spec"]["parallelism"] == 4


def test_edit_nothing(kubectl, editor):
    kubectl("create", "-f", "-", stdin=config_map("settings"))
    run = kubectl("edit", "cm", "settings", env=editor("s/nothing/nothing/"))
    assert "Edit cancelled, no changes made." in run.out + run.err


@pytest.mark.parametrize("kind,patch", [
    ("strategic", '{"metadata":{"labels":{"new":"1"}}}'),
    ("merge", '{"metadata":{"labels":{"new":"1"}}}'),
    ("json", '[{"op":"add","path":"/metadata/labels/new","value":"1"}]'),
])
def test_patch(kubectl, kind, patch):
    kubectl("create", "-f", "-", stdin=job("train", labels={"old": "1"}))
    assert kubectl("patch", "job", "train", f"--type={kind}", "-p", patch).out == "job.batch/train patched\n"
    assert kubectl.json("get", "job", "train")["metadata"]["labels"] == {"old": "1", "new": "1"}
    again = kubectl("patch", "job", "train", f"--type={kind}", "-p", patch).out
    assert again == "job.batch/train patched (no change)\n"


def test_strategic_patch_merges_containers_by_name(kubectl):
    kubectl("create", "-f", "-", stdin=pod("two", containers=[container("a"), container("b")]))
    kubectl("patch", "pod", "two", "-p", '{"spec":{"containers":[{"name":"b","image":"other"}]}}')
    images = {one["name"]: one["image"] for one in kubectl.json("get", "pod", "two")["spec"]["containers"]}
    assert images == {"a": "busybox", "b": "other"}


def test_merge_patch_replaces_a_list(kubectl):
    kubectl("create", "-f", "-", stdin=pod("one"))
    run = kubectl("patch", "pod", "one", "--type=merge", "-p", '{"spec":{"containers":[{"name":"b","image":"x"}]}}', expect=1)
    assert 'The Pod "one" is invalid' in run.err


def test_merge_patch_removes_with_null(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it", {"a": "1", "b": "2"}))
    kubectl("patch", "cm", "it", "--type=merge", "-p", '{"data":{"a":null}}')
    assert kubectl.json("get", "cm", "it")["data"] == {"b": "2"}


def test_json_patch_whose_test_fails(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    run = kubectl("patch", "cm", "it", "--type=json", "-p",
                  '[{"op":"test","path":"/data/key","value":"other"},{"op":"remove","path":"/data/key"}]', expect=1)
    assert "The request is invalid" in run.err
    assert kubectl.json("get", "cm", "it")["data"] == {"key": "value"}


def test_replace(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it", labels={"a": "1"}))
    assert kubectl("replace", "-f", "-", stdin=config_map("it", {"x": "y"})).out == "configmap/it replaced\n"
    after = kubectl.json("get", "cm", "it")
    assert after["data"] == {"x": "y"} and "labels" not in after["metadata"]


def test_diff(kubectl):
    body = config_map("it", {"key": "old"})
    kubectl("apply", "-f", "-", stdin=body)
    assert kubectl("diff", "-f", "-", stdin=body).out == ""
    changed = copy.deepcopy(body)
    changed["data"]["key"] = "new"
    out = kubectl("diff", "-f", "-", stdin=changed, expect=1).out
    assert "-  key: old" in out and "+  key: new" in out
    assert kubectl.json("get", "cm", "it")["data"] == {"key": "old"}


def test_diff_of_a_new_object(kubectl):
    out = kubectl("diff", "-f", "-", stdin=job("fresh"), expect=1).out
    assert "+kind: Job" in out
    assert "not found" in kubectl("get", "job", "fresh", expect=1).err


def test_label(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    assert kubectl("label", "cm", "it", "a=1", "b=2").out == "configmap/it labeled\n"
    assert "already has a value" in kubectl("label", "cm", "it", "a=2", expect=1).err
    kubectl("label", "cm", "it", "a=2", "b-", "--overwrite")
    assert kubectl.json("get", "cm", "it")["metadata"]["labels"] == {"a": "2"}


def test_label_all(kubectl):
    kubectl("create", "-f", "-", stdin=[pod("one"), pod("two")])
    assert kubectl("label", "pods", "--all", "x=y").out == "pod/one labeled\npod/two labeled\n"
    assert kubectl("get", "pods", "-l", "x=y", "-o", "name").out == "pod/one\npod/two\n"


def test_annotate(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    out = kubectl("annotate", "cm", "it", "note=a longer text, with commas").out
    assert out in ("configmap/it annotated\n", "configmap/it annotate\n")
    assert kubectl.json("get", "cm", "it")["metadata"]["annotations"]["note"] == "a longer text, with commas"


@pytest.mark.parametrize("command,said", [
    (["create", "-f", "-"], "configmap/ghost created (server dry run)\n"),
    (["apply", "-f", "-"], "configmap/ghost created (server dry run)\n"),
])
def test_dry_run_of_a_new_object(kubectl, command, said):
    assert kubectl(*command, "--dry-run=server", stdin=config_map("ghost")).out == said
    assert "not found" in kubectl("get", "cm", "ghost", expect=1).err


def test_dry_run_of_changes(kubectl):
    kubectl("create", "-f", "-", stdin=config_map("it"))
    before = kubectl.json("get", "cm", "it")
    assert kubectl("label", "cm", "it", "a=b", "--dry-run=server").out.startswith("configmap/it labeled")
    assert kubectl("patch", "cm", "it", "-p", '{"data":{"key":"x"}}', "--dry-run=server").out.startswith("configmap/it patched")
    assert kubectl("delete", "cm", "it", "--dry-run=server").out.startswith('configmap "it" deleted')
    assert kubectl.json("get", "cm", "it") == before


def test_unknown_fields_warn_when_asked_to(kubectl):
    kubectl.needs(25)
    body = config_map("it")
    body["surplus"] = 1
    run = kubectl("create", "-f", "-", "--validate=warn", stdin=body)
    assert 'Warning: unknown field "surplus"' in run.err and run.out == "configmap/it created\n"


def test_unknown_fields_are_dropped_when_ignored(kubectl):
    body = config_map("it")
    body["surplus"] = 1
    kubectl("create", "-f", "-", "--validate=false", stdin=body)
    assert "surplus" not in kubectl.json("get", "cm", "it")


def test_no_lost_digits_and_letters(kubectl):
    data = {"n": "9007199254740993", "u": "snow \u2603 and \U0001F600", "q": "\"\\\n\t\u0001", "e": ""}
    kubectl("create", "-f", "-", stdin=config_map("it", data))
    assert kubectl.json("get", "cm", "it")["data"] == data


def test_status_is_apart(kubectl, yard):
    kubectl("create", "-f", "-", stdin=pod("one"))
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/one"
    yard.request("PATCH", path, {"status": {"phase": "Running"}}, content_type="application/merge-patch+json")
    assert kubectl.json("get", "pod", "one")["status"]["phase"] == "Pending"
    yard.request("PATCH", path + "/status", {"status": {"phase": "Running"}, "spec": {"hostname": "x"}},
                 content_type="application/merge-patch+json")
    after = kubectl.json("get", "pod", "one")
    assert after["status"]["phase"] == "Running" and "hostname" not in after["spec"]
