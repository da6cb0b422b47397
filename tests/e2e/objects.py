"""The objects the end-to-end tests talk about. None of them ever runs: Jobs are suspended, pods fit no node."""


def config_map(name, data=None, labels=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data if data is not None else {"key": "value"},
            "metadata": {"name": name, **({"labels": labels} if labels else {}), **metadata}}


def container(name="main", **more):
    return {"name": name, "image": "busybox", "command": ["true"], **more}


def pod(name, labels=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **({"labels": labels} if labels else {})},
            "spec": {"nodeSelector": {"trainyard.dev/nowhere": "true"}, "restartPolicy": "Never",
                     "containers": [container()], **spec}}


def job(name, labels=None, containers=None, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, **({"labels": labels} if labels else {})},
            "spec": {"suspend": True,
                     "template": {"spec": {"restartPolicy": "Never", "containers": containers or [container()]}}, **spec}}


def owned(child, owner, block=True):
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference.update(name=owner["metadata"]["name"], uid=owner["metadata"]["uid"], blockOwnerDeletion=block)
    child["metadata"]["ownerReferences"] = [reference]
    return child
