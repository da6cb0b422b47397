"""The lines of docs/security.md: what other users of the machine, pods and the network can reach. Each test is named
there; a line without its test is no line."""
import base64
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

from harness import PATIENCE_S, Api, Kubectl, Yard, eventually, newest_kubectl, processes_mounting, processes_naming
from pods import end_state, output, pod, running, shell, status

MARKER = "hunter2-s3cr3t-m4rker"
NOBODY = 65534
OPEN_PATHS = {"/version", "/healthz", "/livez", "/readyz"}


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


@pytest.fixture
def open_yard():
    """A server whose state folder is the first closed one on its path."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to look with the eyes of another user")
    folder = tempfile.mkdtemp(prefix="yard-e2e-security-")
    os.chmod(folder, 0o755)
    yard = Yard(folder)
    if yard.user:
        os.chmod(yard.folder, 0o755)
    yield yard
    yard.end()
    shutil.rmtree(folder, ignore_errors=True)


def one_kubectl(yard, namespace="default"):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def secret(name="keys"):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"key": MARKER}}


def holder(name="holder"):
    """A pod that holds the secret in its environment, in a volume and in its scratch space."""
    one = shell(name, "cp /secret/key /scratch/copy; cp /secret/key /dev/shm/copy; exec sleep 600",  # until it is deleted
                volumes=[{"name": "s", "secret": {"secretName": "keys"}}, {"name": "e", "emptyDir": {}}],
                container={"env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "key"}}}],
                           "volumeMounts": [{"name": "s", "mountPath": "/secret"}, {"name": "e", "mountPath": "/scratch"}]})
    return one


def processes_of(yard):
    return sorted({*processes_naming(yard.state), *processes_mounting(yard.state)} - {os.getpid()})


LOOK_AS_ANOTHER = r"""
import json, os, socket, sys
wanted = json.load(sys.stdin)
reached = []
for path in wanted["paths"]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
        reached.append(path)
    except OSError:
        pass
for address in wanted["sockets"]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as probe:
            try:
                probe.connect(address)
                probe.settimeout(2)
                try:
                    said = probe.recv(64)
                except TimeoutError:
                    said = b"it waits for us"
                if said:
                    reached.append(address)
            except OSError:
                pass
print(json.dumps(reached))
"""


def reached_as_another_user(paths, sockets):
    """Which of these another user of the machine can open, list or talk to."""
    done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all",
                           "/usr/bin/python3", "-c", LOOK_AS_ANOTHER], input=json.dumps({"paths": paths, "sockets": sockets}),
                          capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def entries(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []  # its process has ended meanwhile


def sockets_of(pids):
    """The addresses of all Unix sockets the processes hold, abstract ones too, in their own network namespaces."""
    inodes, found = set(), set()
    for pid in pids:
        for name in entries(f"/proc/{pid}/fd"):
            try:
                inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}")))
            except FileNotFoundError:
                pass
    for pid in pids:
        try:
            with open(f"/proc/{pid}/net/unix", encoding="utf-8", errors="replace") as stream:
                lines = stream.readlines()[1:]
        except OSError:
            continue  # it has ended meanwhile
        for fields in map(str.split, lines):
            if len(fields) > 7 and fields[6] in inodes:
                found.add(fields[7])
    return sorted("\0" + address[1:] if address.startswith("@") else address for address in found)


def test_other_users_of_the_machine_reach_nothing(open_yard):
    open_yard.up()
    kubectl = one_kubectl(open_yard)
    kubectl("apply", "-f", "-", stdin=[secret(), holder()])
    running(kubectl, "holder")
    paths = [os.path.join(parent, name) for parent, folders, names in os.walk(open_yard.state) for name in [*folders, *names]]
    paths += [os.path.join("/dev/shm", name) for name in os.listdir("/dev/shm") if name.startswith("trainyard")]
    pids = processes_of(open_yard)
    assert open_yard.pid in pids and len(pids) > 2, "server, keeper and the pod"
    for pid in pids:
        paths += [f"/proc/{pid}/{name}" for name in ("environ", "mem", "maps", "fd", "root", "cwd", "exe", "io", "stack")]
    assert len(paths) > 50
    assert reached_as_another_user([open_yard.state, *paths], sockets_of(pids)) == []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:  # every user may read this
                assert MARKER.encode() not in stream.read()
        except FileNotFoundError:
            assert pid != open_yard.pid  # a helper process that has ended meanwhile
    open_yard.down()


def test_every_file_of_the_state_folder_is_the_owners_alone(open_yard):
    open_yard.up()
    kubectl = one_kubectl(open_yard)
    kubectl("apply", "-f", "-", stdin=[secret(), holder()])
    running(kubectl, "holder")
    assert os.stat(open_yard.state).st_mode & 0o777 == 0o700
    # The folder's own 0700 is the wall; that keys have one of their own is for copies and backups of it.
    keys = [os.path.join(parent, name) for parent, _, names in os.walk(open_yard.state) for name in names
            if re.search(r"key|kubeconfig|store|\.db", name) and "/run/" not in parent and "/layers/" not in parent]
    assert len(keys) >= 3
    assert [path for path in keys if os.stat(path).st_mode & 0o077] == []
    open_yard.down()


def test_a_crash_writes_no_core_with_keys(open_yard):
    """The kernel writes no core of a process that is not dumpable, and gives its /proc files to root."""
    try:
        user = pwd.getpwnam("nobody")
    except KeyError:
        pytest.skip("this machine has no user nobody")
    yard = open_yard if open_yard.user else Yard(open_yard.folder, user=user)
    try:
        yard.up()
        assert os.stat(f"/proc/{yard.pid}/environ").st_uid == 0
        # A pod's own processes are dumpable as anywhere: people debug them.
        assert output(one_kubectl(yard), shell("own", "test -O /proc/self/environ && echo mine")) == "mine\n"
        yard.down()
    finally:
        yard.end()
        shutil.rmtree(yard.folder, ignore_errors=True)


def test_without_credentials_only_version_and_health_answer(yard):
    anonymous = Api(yard.kubeconfig, yard.folder, credentials=False)
    groups = list(yard.request("GET", "/openapi/v3").json["paths"])
    resources = []
    for group in groups:
        listed = yard.request("GET", "/" + group).json
        for one in listed.get("resources", []):
            place = "/namespaces/default" if one["namespaced"] else ""
            first, _, rest = one["name"].partition("/")
            resources.append(f"/{group}{place}/{first}" + (f"/x/{rest}" if rest else ""))
    others = ["/", "/api", "/apis", "/metrics", "/openapi/v2", "/openapi/v3", "/logs", "/debug/pprof/", "/configz",
              "/api/v1/watch/secrets", "/api/v1/nodes/x/proxy/", "/../etc/passwd", "/version/../api/v1/secrets",
              "/healthz/../api/v1/secrets", "//api/v1/secrets", "/%61pi/v1/secrets"]
    assert len(resources) > 60
    for path in [*resources, *others]:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            answer = anonymous.request(method, path, {} if method != "GET" else None)
            nothing = (401, 404, 405) if path.startswith("/healthz/") else (401,)  # single checks may be asked; this is none
            assert answer.status in nothing, f"{method} {path}: {answer.status} {answer.text[:200]}"
    for path in OPEN_PATHS:
        assert anonymous.request("GET", path).status == 200
        assert anonymous.request("POST", path, {}).status != 200


def test_the_api_is_on_loopback_and_speaks_modern_tls_only(yard):
    assert yard.api.host in ("127.0.0.1", "localhost")
    with open("/proc/net/tcp", encoding="utf-8") as stream:
        bound = [line.split()[1] for line in stream.readlines()[1:] if line.split()[3] == "0A"]
    assert [address for address in bound if int(address.split(":")[1], 16) == yard.api.port] == [f"0100007F:{yard.api.port:04X}"]
    spoken = subprocess.run(["openssl", "s_client", "-connect", f"{yard.api.host}:{yard.api.port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
                            input="", capture_output=True, text=True, timeout=PATIENCE_S)
    assert spoken.returncode != 0 and "Cipher is (NONE)" in spoken.stdout


def test_a_pod_reaches_no_other_pod(yard, kubectl):
    kubectl("apply", "-f", "-", stdin=[secret(), holder()])
    running(kubectl, "holder")
    where = status(kubectl, "holder")["podIP"]
    kubectl("exec", "holder", "--", "test", "-s", "/scratch/copy")
    looks = f"""
import glob, os, socket
found = []
for folder in ("/run", "/var", "/tmp", "/dev/shm", "/home", "/root", "/mnt", "/media", "/etc"):
    for parent, folders, names in os.walk(folder):
        for name in names:
            try:
                with open(os.path.join(parent, name), "rb") as stream:
                    if {MARKER.encode()!r} in stream.read(1 << 20):
                        found.append(os.path.join(parent, name))
            except OSError:
                pass
processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
for pid in processes:
    try:
        if {MARKER.encode()!r} in open(f"/proc/{{pid}}/environ", "rb").read():
            found.append(f"environ of {{pid}}")
    except OSError:
        pass
print(found, len(processes) <= 3, os.path.exists({yard.state!r}))
for port in (10250, 10255, 6443, 443, 22):
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(({where!r}, port)) == 0:
            print("open", port)
"""
    assert output(kubectl, pod("looker", "python3", "-c", looks)) == "[] True False\n"


def test_a_pod_is_only_its_service_account(kubectl):
    asks = """
import json, ssl, urllib.request, urllib.error
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
context = ssl.create_default_context(cafile=folder + "ca.crt")
token, space = open(folder + "token").read(), open(folder + "namespace").read()
for headers in ({}, {"Authorization": "Bearer " + token}, {"Authorization": "Bearer " + token, "Impersonate-User": "system:admin"}):
    for path in (f"/api/v1/namespaces/{space}/secrets", "/api/v1/nodes", "/metrics", f"/api/v1/namespaces/{space}/pods/asker/log"):
        try:
            urllib.request.urlopen(urllib.request.Request("https://kubernetes.default.svc" + path, headers=headers), context=context)
            print("reached", path)
        except urllib.error.HTTPError as error:
            print(error.code, end=" ")
print()
"""
    assert output(kubectl, pod("asker", "python3", "-c", asks)) == "401 401 401 401 403 403 403 403 403 403 403 403 \n"


def test_a_pod_does_not_reach_what_listens_on_the_machines_loopback(kubectl):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(1)
        port = listener.getsockname()[1]
        tries = (f"import socket, os\n"
                 f"gateway = socket.inet_ntoa(int([l.split()[2] for l in open('/proc/net/route') if l.split()[1] == '00000000'][0], 16).to_bytes(4, 'little')) "
                 f"if any(l.split()[1] == '00000000' for l in open('/proc/net/route')) else '127.0.0.1'\n"
                 f"for host in ('127.0.0.1', gateway, '10.0.2.2', os.environ['KUBERNETES_SERVICE_HOST']):\n"
                 f"    probe = socket.socket(); probe.settimeout(1)\n"
                 f"    print(host if probe.connect_ex((host, {port})) == 0 else 'no', end=' ')\n")
        assert output(kubectl, pod("tries", "python3", "-c", tries)).split() == ["no"] * 4


@pytest.mark.parametrize("path", ["../up", "/etc", "a/../../b", ".."])
def test_paths_that_lead_out_of_a_volume_are_refused_at_the_door(kubectl, path):
    one = shell("out", "true", volumes=[{"name": "c", "configMap": {"name": "x", "items": [{"key": "a", "path": path}]}}])
    refused = kubectl("apply", "-f", "-", stdin=one, expect=1).err
    assert "spec.volumes[0].configMap.items[0].path" in refused, refused
    sub = shell("out", "true", volumes=[{"name": "e", "emptyDir": {}}],
                container={"volumeMounts": [{"name": "e", "mountPath": "/e", "subPath": path}]})
    assert "spec.containers[0].volumeMounts[0].subPath" in kubectl("apply", "-f", "-", stdin=sub, expect=1).err



def test_a_link_made_in_a_volume_leads_nowhere(kubectl, tmp_path):
    """A first container plants links; what is mounted by subPath later must not follow them out of the volume."""
    (tmp_path / "prey").write_text(MARKER)
    plant = {"name": "plant", "image": "busybox", "command": ["sh", "-c", f"ln -s {tmp_path} /e/folder; ln -s /etc/shadow /e/file; ln -s ../../.. /e/up"],
             "volumeMounts": [{"name": "e", "mountPath": "/e"}]}
    for link in ("folder", "file", "up"):
        one = shell("follow-" + link, "cat /x/prey /x 2>/dev/null; ls /x", volumes=[{"name": "e", "emptyDir": {}}], initContainers=[plant],
                    container={"volumeMounts": [{"name": "e", "mountPath": "/x", "subPath": link}]})
        kubectl("apply", "-f", "-", stdin=one)
        name = one["metadata"]["name"]
        end = end_state(kubectl, name)
        assert end["reason"] == "StartError" and "sub-path" in end["message"], end
        assert kubectl("logs", name, expect=None).out == ""


def test_a_secret_is_told_nowhere(open_yard):
    """In use by pods that run, fail and cannot start: not in a log of ours, an Event, a metric, a status or a describe."""
    open_yard.up()
    kubectl = one_kubectl(open_yard)
    kubectl("apply", "-f", "-", stdin=[secret(), holder()])
    running(kubectl, "holder")
    wrong = holder("wrong")
    wrong["spec"]["containers"][0]["command"] = ["/not/there", "$(KEY)"]
    probed = holder("probed")
    probed["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["sh", "-c", "exit 1"]}, "periodSeconds": 1, "failureThreshold": 1}
    kubectl("apply", "-f", "-", stdin=[wrong, probed])
    eventually(lambda: "Unhealthy" in kubectl("get", "events").out, about="a probe has failed")
    eventually(lambda: "Failed" in kubectl("get", "events").out, about="a command was not found")
    kubectl("create", "secret", "generic", "keys", f"--from-literal=key={MARKER}", expect=1)  # already there
    encoded = base64.b64encode(MARKER.encode()).decode()
    refusals = [open_yard.request("POST", "/api/v1/namespaces/default/secrets", body).text for body in (
        {"metadata": {"name": "BAD NAME"}, "stringData": {"key": MARKER}},
        {"metadata": {"name": "x"}, "stringData": {"bad key!": MARKER}},
        {"metadata": {"name": "x"}, "type": "kubernetes.io/tls", "stringData": {"tls.crt": MARKER}},
        {"metadata": {"name": "x"}, "data": {"key": MARKER + "!"}})]
    told = [*refusals, kubectl("get", "events", "-o", "yaml").out, kubectl("describe", "pods,secrets").out,
            kubectl("get", "pods", "-o", "yaml").out, open_yard.request("GET", "/metrics").text]
    for log in os.listdir(open_yard.state):
        if log.endswith(".log"):
            with open(os.path.join(open_yard.state, log), encoding="utf-8", errors="replace") as stream:
                told.append(stream.read())
    assert len(told) >= 9
    for text in told:
        assert MARKER not in text and encoded not in text, text[:2000]
    open_yard.down()


def test_other_peoples_connections_do_not_starve_ours(yard):
    """Two hundred connections that say nothing, and some that never read their answers."""
    silent = [socket.create_connection((yard.api.host, yard.api.port)) for _ in range(200)]
    readers = [yard.api.context.wrap_socket(socket.create_connection((yard.api.host, yard.api.port)), server_hostname=yard.api.host)
               for _ in range(10)]
    for one in readers:
        one.sendall(b"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
    answers = []
    asker = threading.Thread(target=lambda: answers.extend(
        Api(yard.kubeconfig, yard.folder).request("GET", "/api/v1/namespaces").status for _ in range(20)))
    asker.start()
    asker.join(timeout=PATIENCE_S)
    assert answers == [200] * 20
    for one in [*silent, *readers]:
        one.close()


def test_a_namespace_can_refuse_pods_that_want_the_machine(kubectl, namespace):
    """Pod Security Standards, in the words of a real kube-apiserver."""
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=baseline",
            "pod-security.kubernetes.io/warn=restricted")
    wants = shell("wants", "true", hostPID=True, container={"securityContext": {"privileged": True}},
                  volumes=[{"name": "root", "hostPath": {"path": "/"}}])
    assert kubectl("apply", "-f", "-", stdin=wants, expect=1).err == (
        'Error from server (Forbidden): error when creating "STDIN": pods "wants" is forbidden: violates PodSecurity '
        '"baseline:latest": host namespaces (hostPID=true), hostPath volumes (volume "root"), privileged (container "c" '
        'must not set securityContext.privileged=true)\n')
    plain = kubectl("apply", "-f", "-", stdin=shell("plain", "true"))
    assert plain.err.startswith('Warning: would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false')
    job = kubectl("create", "job", "j", "--image=busybox", "--", "true")
    assert 'would violate PodSecurity "restricted:latest"' in job.err
    refused = kubectl("label", "namespace", namespace, "--overwrite", "pod-security.kubernetes.io/enforce=strict", expect=1).err
    assert "must be one of privileged, baseline, restricted" in refused
