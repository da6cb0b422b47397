"""Pods that really run, and what is asked of them."""
import os

from harness import eventually


def pod(name, *command, container=None, **spec):
    one = {"name": "c", "image": "busybox", "command": list(command), **(container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [one], **spec}}


def shell(name, script, **more):
    return pod(name, "sh", "-c", script, **more)


def status(kubectl, name):
    return kubectl.json("get", "pod", name)["status"]


def finished(kubectl, name):
    return eventually(lambda: (lambda s: s if s["phase"] in ("Succeeded", "Failed") else None)(status(kubectl, name)),
                      about=f"pod {name} finished")


def running(kubectl, name):
    return eventually(lambda: (lambda s: s if s["phase"] == "Running" else None)(status(kubectl, name)), about=f"{name} Running")


def end_state(kubectl, name):
    return finished(kubectl, name)["containerStatuses"][0]["state"]["terminated"]


def output(kubectl, one):
    """What a pod that is made now says until it has ended well."""
    name = one["metadata"]["name"]
    kubectl("apply", "-f", "-", stdin=one)
    end = end_state(kubectl, name)
    text = kubectl("logs", name).out
    assert end["exitCode"] == 0, f"{end} {text}"
    return text


def run_folders(yard):
    return os.listdir(os.path.join(yard.state, "run")) if os.path.isdir(os.path.join(yard.state, "run")) else []
