"""Ways to look into a pod from outside that are no streams: kubectl top, the proxy, probes over HTTPS; and what pods that are
only played answer."""
import json
import re
import shutil
import subprocess

import pytest

from harness import Kubectl, eventually, newest_kubectl
from pods import finished, pod, running, shell

BUSY = "trap 'exit 0' TERM; while true; do :; done"
SERVER = r"""
import http.server, json, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302); self.send_header("Location", "/there"); self.send_header("Content-Length", "0"); self.end_headers(); return
        size = int(self.headers.get("Content-Length") or 0)
        if self.path == "/large":
            body = b"x" * (5 << 20)
        else:
            body = json.dumps({"method": self.command, "path": self.path, "body": self.rfile.read(size).decode(),
                               "authorization": self.headers.get("Authorization"), "mine": self.headers.get("X-Mine")}).encode()
        self.send_response(418 if self.path.startswith("/teapot") else 200)
        self.send_header("Content-Length", str(len(body))); self.send_header("X-Theirs", "yes"); self.end_headers(); self.wfile.write(body)
    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET
    def log_message(self, *_): pass
if sys.argv[2:] == ["plain"]:
    import socket
    with socket.create_server(("", int(sys.argv[1]))) as listener:
        while True:
            link, _ = listener.accept(); link.recv(4096); link.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\nthis is HTTP\r\n"); link.close()
server = http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain("/tls/tls.crt", "/tls/tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def web(name, port, *tls, **more):
    return shell(name, "", container={"command": ["python3", "-c", SERVER, str(port), *tls], "ports": [{"name": "web", "containerPort": port}],
                                      "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1}, **more.pop("container", {})}, **more)


def ready(kubectl, name):
    eventually(lambda: any(c["type"] == "Ready" and c["status"] == "True"
                           for c in kubectl.json("get", "pod", name)["status"]["conditions"]), 20, f"{name} Ready")


def test_top_prints_what_pods_and_nodes_use(yard, kubectl):
    kubectl("apply", "-f", "-", stdin=[{**shell("busy", BUSY), "metadata": {"name": "busy", "labels": {"app": "x"}}},
                                       shell("idle", "x=$(head -c 30000000 /dev/zero | tr '\\0' x); trap 'exit 0' TERM; while true; do sleep 0.1; done")])
    running(kubectl, "busy")
    running(kubectl, "idle")

    def used():
        rows = {name: (int(cpu), int(memory)) for name, cpu, memory in
                re.findall(r"^(\S+) +(\d+)m +(\d+)Mi", kubectl("top", "pod").out, flags=re.M)}
        # How much a busy loop gets of a machine that is busy with other things is not for us to say.
        return rows if rows.get("busy", (0, 0))[0] >= 1 and rows.get("idle", (0, 0))[1] >= 15 else None
    eventually(used, 60, "numbers for both pods")
    assert re.search(r"^busy +\d+m +\d+Mi *$", kubectl("top", "pod", "-l", "app=x", "--no-headers").out.strip())
    assert re.search(r"^busy +c +\d+m +\d+Mi", kubectl("top", "pod", "busy", "--containers", "--no-headers").out)
    node = kubectl.json("get", "nodes")["items"][0]["metadata"]["name"]
    assert re.search(rf"^{re.escape(node)} +\d+m +\d+% +\d+Mi +\d+%", kubectl("top", "node", "--no-headers").out)
    header, *lines = kubectl("get", "pods.metrics.k8s.io").out.splitlines()
    assert header.split() == ["NAME", "CPU", "MEMORY", "WINDOW"]
    assert any(re.fullmatch(r"busy +\S+[num]? +\S+i +[\d.]+m?s", line) for line in lines), lines
    assert kubectl("get", "nodes.metrics.k8s.io", node, "--no-headers").out.startswith(node + " ")
    assert 'pods.metrics.k8s.io "none" not found' in kubectl("top", "pod", "none", expect=1).err
    one = yard.request("GET", f"/apis/metrics.k8s.io/v1beta1/namespaces/{kubectl.namespace}/pods/busy").json
    assert (one["kind"], one["containers"][0]["name"]) == ("PodMetrics", "c") and re.fullmatch(r"\d+n", one["containers"][0]["usage"]["cpu"])


def test_the_proxy_carries_requests_to_pods_and_services(yard, kubectl):
    kubectl("apply", "-f", "-", stdin=[{**web("web", 8080), "metadata": {"name": "web", "labels": {"app": "web"}}},
                                       {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"},
                                        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}}])
    ready(kubectl, "web")
    base = f"/api/v1/namespaces/{kubectl.namespace}"
    for way in ("pods/web/proxy", "pods/web:8080/proxy", "pods/http:web:8080/proxy", "services/svc/proxy", "services/svc:http/proxy", "services/svc:80/proxy"):
        answer = eventually(lambda: (lambda a: a if a.status == 200 else None)(
            yard.request("POST", f"{base}/{way}/a%2Fb//c?x=1&y=%20", b"hello", headers={"X-Mine": "1"})), about=way)
        assert answer.json == {"method": "POST", "path": "/a%2Fb//c?x=1&y=%20", "body": "hello", "authorization": None, "mine": "1"}, way
        assert answer.headers["X-Theirs"] == "yes"
    assert yard.request("GET", f"{base}/pods/web/proxy/teapot").status == 418
    assert len(yard.request("GET", f"{base}/pods/web/proxy/large").text) == 5 << 20
    moved = yard.request("GET", f"{base}/pods/web/proxy/moved")
    assert (moved.status, moved.headers["Location"]) == (302, f"{base}/pods/web/proxy/there")
    assert yard.request("GET", f"{base}/pods/web/proxy").headers["Location"] == f"{base}/pods/web/proxy/"
    assert yard.request("GET", f"{base}/pods/web:81/proxy/").status == 503
    assert yard.request("GET", f"{base}/pods/none/proxy/").status == 404
    kubectl("create", "service", "clusterip", "nobody", "--tcp=80:80")
    none = yard.request("GET", f"{base}/services/nobody/proxy/")
    assert (none.status, none.json["message"]) == (503, 'no endpoints available for service "nobody"')
    assert json.loads(kubectl("get", "--raw", f"{base}/services/svc/proxy/raw").out)["path"] == "/raw"


@pytest.mark.skipif(not shutil.which("openssl"), reason="MISSING openssl: no certificate can be made (tools/setup test)")
def test_probes_over_https_take_any_certificate(yard, kubectl, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=nobody", "-keyout",
                    str(tmp_path / "key"), "-out", str(tmp_path / "crt")], check=True, capture_output=True)
    kubectl("create", "secret", "tls", "pair", f"--cert={tmp_path / 'crt'}", f"--key={tmp_path / 'key'}")
    secure = {"volumes": [{"name": "t", "secret": {"secretName": "pair"}}]}
    mount = {"volumeMounts": [{"name": "t", "mountPath": "/tls"}]}

    def probe(port, path):
        return {"readinessProbe": {"httpGet": {"port": port, "path": path, "scheme": "HTTPS"}, "periodSeconds": 1}}
    kubectl("apply", "-f", "-", stdin=[web("good", 8443, "tls", container={**mount, **probe(8443, "/")}, **secure),
                                       web("bad", 8443, "tls", container={**mount, **probe(8443, "/teapot")}, **secure),
                                       web("plain", 8080, "plain", container=probe(8080, "/"))])
    ready(kubectl, "good")

    def words(name):
        return [e["message"] for e in kubectl.json("get", "events", "--field-selector", f"involvedObject.name={name},reason=Unhealthy")["items"]]
    eventually(lambda: "Readiness probe failed: HTTP probe failed with statuscode: 418" in words("bad"), 20)
    eventually(lambda: any(w.endswith(':8080/": http: server gave HTTP response to HTTPS client') for w in words("plain")), 20)
    answer = yard.request("GET", f"/api/v1/namespaces/{kubectl.namespace}/pods/https:good:8443/proxy/secure")
    assert answer.json["path"] == "/secure"


def test_debug_puts_a_container_beside_the_others(yard, kubectl):
    kubectl("apply", "-f", "-", stdin=shell("host", "trap 'exit 0' TERM; while true; do sleep 0.1; done"))
    running(kubectl, "host")
    at = f"/api/v1/namespaces/{kubectl.namespace}/pods/host/ephemeralcontainers"
    strategic = "application/strategic-merge-patch+json"

    def add(name, script):
        return yard.request("PATCH", at, {"spec": {"ephemeralContainers": [
            {"name": name, "image": "busybox", "command": ["sh", "-c", script]}]}}, content_type=strategic)
    assert add("one", "echo marco; exit 3").status == 200

    def ended():
        found = kubectl.json("get", "pod", "host")["status"].get("ephemeralContainerStatuses", [])
        return found and found[0]["state"].get("terminated")
    assert eventually(ended)["exitCode"] == 3
    assert kubectl("logs", "host", "-c", "one").out == "marco\n"
    changed = add("one", "echo other")
    assert changed.status == 422 and 'existing ephemeral containers "one" may not be changed' in changed.json["message"]
    if kubectl.minor >= 27:
        kubectl("debug", "host", "--image=busybox", "--container=two", "--", "sh", "-c", "hostname; sleep 1000")
        eventually(lambda: kubectl("logs", "host", "-c", "two", expect=None).out == "host\n", about="the debugger is in the same pod")
        assert "Ephemeral Containers:" in kubectl("describe", "pod", "host").out
        assert kubectl("exec", "host", "-c", "two", "--", "echo", "in").out == "in\n"
    now = kubectl.json("get", "pod", "host")["status"]
    assert now["phase"] == "Running" and now["containerStatuses"][0]["ready"], "what it does counts for nothing"
    kubectl("patch", "pod", "host", "-p", json.dumps({"spec": {"activeDeadlineSeconds": 1}}))
    assert finished(kubectl, "host")["reason"] == "DeadlineExceeded"


def test_debug_sees_the_processes_of_its_target(yard, kubectl):
    """`kubectl debug --target`: the debugger's processes are among those of that container, and of no other."""
    kubectl("apply", "-f", "-", stdin=pod("host", "bash", "-c", "exec -a the-trainer sleep 1000"))
    running(kubectl, "host")
    at = f"/api/v1/namespaces/{kubectl.namespace}/pods/host/ephemeralcontainers"

    def debug(name, target, script):
        return yard.request("PATCH", at, {"spec": {"ephemeralContainers": [
            {"name": name, "image": "busybox", "command": ["sh", "-c", script], **({"targetContainerName": target} if target else {})}]}},
            content_type="application/strategic-merge-patch+json")
    wrong = debug("wrong", "nobody", "true")
    assert wrong.status == 422 and 'spec.ephemeralContainers[0].targetContainerName: Not found: "nobody"' in wrong.json["message"], wrong.text
    look = "tr '\\0' ' ' < /proc/1/cmdline; echo; echo $$$$"
    assert debug("apart", None, look).status == 200
    if kubectl.minor >= 27:
        kubectl("debug", "host", "--image=busybox", "--container=beside", "--target=c", "--", "sh", "-c", look)
    else:
        assert debug("beside", "c", look).status == 200

    def said(name):
        status = {one["name"]: one for one in kubectl.json("get", "pod", "host")["status"].get("ephemeralContainerStatuses", [])}
        assert status.get(name, {}).get("state", {}).get("terminated", {}).get("exitCode") == 0, status
        return kubectl("logs", "host", "-c", name).out.splitlines()
    first, own = eventually(lambda: said("beside"))
    assert first.strip() == "the-trainer 1000" and int(own) > 1
    first, own = eventually(lambda: said("apart"))
    assert first.startswith("sh -c") and int(own) == 1
    assert kubectl.json("get", "pod", "host")["status"]["phase"] == "Running", "debuggers count for nothing"


def test_played_pods_say_that_they_are(own_yard):
    own_yard.up("--simulate", "nodes=1,cpu=4")
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, own_yard.new_namespace())
    kubectl("apply", "-f", "-", stdin=shell("played", "true", restartPolicy="Always"))
    running(kubectl, "played")
    for command in (["exec", "played", "--", "true"], ["attach", "played"], ["logs", "played"]):
        assert "pod \"played\" is played on a simulated node" in kubectl(*command, expect=1).err.replace('\\"', '"'), command


def test_the_logs_of_a_pod_with_a_long_name(yard, kubectl):
    name = "p" + "o" * 250 + "d1"
    kubectl("apply", "-f", "-", stdin=shell(name, "echo long"))
    finished(kubectl, name)
    assert kubectl("logs", name).out == "long\n"
    kubectl("delete", "pod", name)
    eventually(lambda: yard.request("GET", f"/api/v1/namespaces/{kubectl.namespace}/pods/{name}/log").text == "long\n")
