"""A pod is made ready while its binding is on its way to the disk (node/agent_binding.cpp). Here that way is long: each sync of
the store takes a quarter of a second more."""
import base64
import json
import os

from harness import eventually, processes_naming
from pods import run_folders, shell

PODS = "/api/v1/namespaces/default/pods"
SLOW = {"TRAINYARD_SYNC_DELAY_MS": "250"}
ATTEMPTS = 20  # on a busy machine the moment may pass before it is seen


def up_slowly(yard):
    yard.command("up", env=SLOW)
    yard._api = None
    eventually(lambda: yard.request("GET", "/readyz").status == 200, about="/readyz")
    eventually(lambda: yard.request("GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200, about="its account")


def noted_starts(folder):
    path = folder / "starts"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def readied_pod(yard, folder):
    """The name and uid of a pod whose shim is there before it is bound."""
    for number in range(ATTEMPTS):
        name = f"p{number}"
        made = yard.create(PODS, shell(name, f"echo {name} >> /h/starts", container={"volumeMounts": [{"name": "h", "mountPath": "/h"}]},
                                       volumes=[{"name": "h", "hostPath": {"path": str(folder)}}]))
        uid = made["metadata"]["uid"]
        eventually(lambda: os.path.exists(os.path.join(yard.state, "run", uid, "journal")), about="its shim")
        if "nodeName" not in yard.request("GET", f"{PODS}/{name}").json["spec"]:
            return name, uid
    raise AssertionError(f"none of {ATTEMPTS} pods had a shim before it was bound")


def shims(yard):
    found = []
    for pid in processes_naming(yard.state):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
                found += [pid] if stream.read().startswith("trainyard-shim") else []
        except OSError:
            pass  # ended meanwhile
    return found


def nothing_of_pods_is_left(yard):
    eventually(lambda: not run_folders(yard), about="no run folder")
    eventually(lambda: not shims(yard), about="no shim")


def test_a_server_killed_before_the_binding_is_stored(own_yard, tmp_path):
    up_slowly(own_yard)
    own_yard.give(tmp_path)
    name, _ = readied_pod(own_yard, tmp_path)
    assert name not in noted_starts(tmp_path), "nothing of it runs before its binding is stored"
    own_yard.kill()
    assert name not in noted_starts(tmp_path)
    own_yard.up()
    eventually(lambda: own_yard.request("GET", f"{PODS}/{name}").json["status"]["phase"] == "Succeeded", about=f"{name} Succeeded")
    assert noted_starts(tmp_path).count(name) == 1
    nothing_of_pods_is_left(own_yard)
    own_yard.down()
    assert own_yard.leftovers() == []


def test_a_pod_deleted_before_its_binding_is_stored(own_yard, tmp_path):
    up_slowly(own_yard)
    own_yard.give(tmp_path)
    name, uid = readied_pod(own_yard, tmp_path)
    answer = own_yard.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
    assert answer.status == 200, answer.text
    eventually(lambda: own_yard.request("GET", f"{PODS}/{name}").status == 404, about="the pod gone")
    nothing_of_pods_is_left(own_yard)
    assert not any(uid in folder for folder in os.listdir(os.path.join(own_yard.state, "logs"))) or name in noted_starts(tmp_path)
    own_yard.down()
    assert own_yard.leftovers() == []


def test_its_token_names_the_node_it_is_being_bound_to(own_yard):
    up_slowly(own_yard)
    own_yard.create(PODS, shell("told", "cat /var/run/secrets/kubernetes.io/serviceaccount/token"))
    eventually(lambda: own_yard.request("GET", f"{PODS}/told").json["status"]["phase"] == "Succeeded", about="its end")
    claims = own_yard.request("GET", f"{PODS}/told/log").text.split(".")[1]
    told = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["kubernetes.io"]
    node = own_yard.request("GET", "/api/v1/nodes").json["items"][0]["metadata"]
    assert told["node"] == {"name": node["name"], "uid": node["uid"]}, told
