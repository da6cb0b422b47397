"""The official Python client against KUBECONFIG in NAMESPACE; prints what it saw as JSON (tests/e2e/test_clients.py)."""
import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import stream

KUBECONFIG, NAMESPACE = sys.argv[1:3]
config.load_kube_config(KUBECONFIG)
core, custom, batch = client.CoreV1Api(), client.CustomObjectsApi(), client.BatchV1Api()
JOBS = ("kubeflow.org", "v1", NAMESPACE, "pytorchjobs")
OURS = "app=python"


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "python"}), data=data)


def pod(name, script):
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(
        restart_policy="Never", termination_grace_period_seconds=1,
        containers=[client.V1Container(name="c", image="busybox", command=["sh", "-c", script])]))


def created_and_patched():
    made = core.create_namespaced_config_map(NAMESPACE, config_map("one", a="1"))
    strategic = core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"b": "2"}})
    by_operations = core.patch_namespaced_config_map("one", NAMESPACE, [{"op": "remove", "path": "/data/a"}])
    suspended = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "job"}, "spec": {
        "runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "pytorch", "image": "busybox", "command": ["true"]}]}}}}}}
    custom.create_namespaced_custom_object(*JOBS, suspended)
    merged = custom.patch_namespaced_custom_object(*JOBS, "job", {"metadata": {"labels": {"x": "y"}}})
    try:
        core.create_namespaced_config_map(NAMESPACE, config_map("one"))
        twice = "made twice"
    except ApiException as problem:
        twice = json.loads(problem.body)["reason"]
    return {"made": made.data, "strategic": strategic.data, "operations": by_operations.data,
            "merged": merged["metadata"]["labels"], "twice": twice}


def listed_in_pages():
    for index in range(5):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{index}"))
    pages, token = [], None
    while token != "":
        page = core.list_namespaced_config_map(NAMESPACE, label_selector=OURS, limit=2, _continue=token)
        pages.append([item.metadata.name for item in page.items])
        token = page.metadata._continue or ""
    return pages


def watched(since, count):
    """The next `count` events after a revision, and the revision to go on from."""
    watcher, events = watch.Watch(), []
    for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, label_selector=OURS,
                                resource_version=since, timeout_seconds=20):
        events.append(f"{event['type']} {event['object'].metadata.name}")
        if len(events) == count:
            watcher.stop()
    return events, watcher.resource_version


def watched_with_resume():
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, config_map("seen", a="1"))
    core.patch_namespaced_config_map("seen", NAMESPACE, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("seen", NAMESPACE)
    core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"b": "3"}})
    first, revision = watched(start, 2)
    then, _ = watched(revision, 2)
    return {"first": first, "then": then, "start": start}


def expired_then_listed(start):
    """History is bounded in bytes: what lies before it is 410, upon which a client lists again."""
    for number in range(24):
        core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"big": f"{number} " * 300_000}})
    try:
        watched(start, 1)
        told = "no end"
    except ApiException as problem:
        told = problem.status
    again = core.list_namespaced_config_map(NAMESPACE, label_selector=OURS)
    core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"big": None}})
    events, _ = watched(again.metadata.resource_version, 1)
    return {"told": told, "after": events}


def executed_and_logged():
    core.create_namespaced_pod(NAMESPACE, pod("talker", "echo hello; sleep 60"))
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_pod, NAMESPACE, field_selector="metadata.name=talker", timeout_seconds=20):
        if event["object"].status.phase == "Running":
            watcher.stop()
    said = stream(core.connect_get_namespaced_pod_exec, "talker", NAMESPACE, command=["sh", "-c", "echo out; echo err >&2; exit 3"],
                  stderr=True, stdin=False, stdout=True, tty=False, _preload_content=False)
    said.run_forever(timeout=20)
    followed = ""
    for line in watch.Watch().stream(core.read_namespaced_pod_log, "talker", NAMESPACE):
        followed = line
        break
    log = core.read_namespaced_pod_log("talker", NAMESPACE)
    core.delete_namespaced_pod("talker", NAMESPACE, grace_period_seconds=0)
    return {"out": said.read_stdout(), "err": said.read_stderr(), "code": said.returncode, "log": log, "followed": followed}


def deleted():
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector=OURS)
    custom.delete_namespaced_custom_object(*JOBS, "job")
    try:
        core.read_namespaced_config_map("one", NAMESPACE)
        return "there"
    except ApiException as problem:
        return problem.status


seen = {**created_and_patched(), "pages": listed_in_pages(), "watch": watched_with_resume()}
seen["expired"] = expired_then_listed(seen["watch"]["start"])
seen["exec"] = executed_and_logged()
seen["deleted"] = deleted()
seen["version"] = client.VersionApi().get_code().git_version
seen["groups"] = "batch" in [group.name for group in client.ApisApi().get_api_versions().groups]
print(json.dumps(seen))
