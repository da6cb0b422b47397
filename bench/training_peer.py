"""The same thousand jobs under Kubeflow's own training-operator, its client's limits raised, on a real kube-apiserver with etcd.
Nobody runs the pods there: a player here says Running of each when it comes, and Succeeded when its time is over."""
import base64
import http.client
import json
import os
import queue
import socket
import ssl
import subprocess
import threading
import time

import yaml

BIN = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "trainyard/peers/bin")
OPERATOR, DEFINITION = os.path.join(BIN, "training-operator"), os.path.join(BIN, "pytorchjobs.yaml")
NAMESPACE, SECRET = "kubeflow", "training-operator-webhook-cert"
HOOKS = "validator.training-operator.kubeflow.org"
CERTIFICATES = "k8s-webhook-server/serving-certs"  # below its /tmp
PODS = "/api/v1/namespaces/default/pods"
PLAYERS = 8
STARTS_WITHIN_S = 60


def is_built():
    return os.path.exists(OPERATOR) and os.path.exists(DEFINITION)


class Peer:
    """The API of a folder of bench/peers/start."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "kubeconfig"), encoding="utf-8") as stream:
            self.address = yaml.safe_load(stream)["clusters"][0]["cluster"]["server"].removeprefix("https://")
        self.context = ssl.create_default_context(cafile=os.path.join(folder, "ca.crt"))
        self.context.load_cert_chain(os.path.join(folder, "admin.crt"), os.path.join(folder, "admin.key"))
        self.connection = None

    def again(self):
        return Peer(self.folder)

    def send(self, method, path, body=None, content="application/json", accept="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.address, context=self.context, timeout=120)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": content, "Accept": accept})
        return self.connection.getresponse()

    def ask(self, method, path, body=None, content="application/json", accept="application/json"):
        answer = self.send(method, path, body, content, accept)
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return text.decode()


class Player:
    """Follows the pods and plays them."""

    def __init__(self, peer, seconds):
        self.peer, self.seconds = peer, seconds
        self.due, self.over = queue.PriorityQueue(), False
        for work in (self.follow, *[self.play] * PLAYERS):
            threading.Thread(target=work, daemon=True).start()

    def follow(self):
        answer = self.peer.again().send("GET", f"{PODS}?watch=true&resourceVersion=0")
        for line in answer:
            if self.over:
                return
            event = json.loads(line)
            if event["type"] == "ADDED":
                self.due.put((0, event["object"]["metadata"]["name"], "Running"))

    def play(self):
        peer = self.peer.again()
        while not self.over:
            at, name, phase = self.due.get()
            wait = at - time.monotonic()
            if wait > 0.01:
                self.due.put((at, name, phase))
                time.sleep(min(wait, 0.02))
                continue
            status = {"phase": phase, "conditions": [{"type": "Ready", "status": "True" if phase == "Running" else "False"}],
                      "containerStatuses": [{"name": "pytorch", "image": "x", "imageID": "", "ready": phase == "Running", "restartCount": 0,
                                             "state": {"running": {}} if phase == "Running" else {"terminated": {"exitCode": 0}}}]}
            answer = peer.send("PATCH", f"{PODS}/{name}/status", {"status": status}, "application/merge-patch+json")
            answer.read()
            if answer.status < 300 and phase == "Running":
                self.due.put((time.monotonic() + self.seconds, name, "Succeeded"))


class Operator:
    def __init__(self, folder, scratch):
        self.peer, self.scratch = Peer(folder), os.path.join(scratch, "operator")
        os.makedirs(os.path.join(self.scratch, CERTIFICATES))
        with open(DEFINITION, encoding="utf-8") as stream:
            self.peer.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(stream))
        self.peer.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.peer.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": SECRET}})
        # Its webhook is asked by nobody: what it would refuse is not sent.
        self.peer.ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"metadata": {"name": HOOKS}})
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.log = open(os.path.join(self.scratch, "log"), "ab")
        # It reads its certificate from a fixed place below /tmp, which is its own here.
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /tmp && exec "$@"', self.scratch, OPERATOR,
             "--kubeconfig", os.path.join(folder, "kubeconfig"), "--enable-scheme=pytorchjob", "--kube-api-qps=10000",
             "--kube-api-burst=10000", "--controller-threads=10", "--metrics-bind-address=0", "--health-probe-bind-address=0",
             f"--webhook-server-port={port}", "--zap-log-level=error"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env={**os.environ, "MY_POD_NAMESPACE": NAMESPACE})
        self.hand_over_certificates()

    def hand_over_certificates(self):
        """As a kubelet would mount the secret it writes."""
        until = time.monotonic() + STARTS_WITHIN_S
        data = {}
        while "tls.crt" not in data:
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError(f"training-operator wrote no certificate within {STARTS_WITHIN_S} s; its log is {self.log.name}")
            time.sleep(0.1)
            data = json.loads(self.peer.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}")).get("data") or {}
        for name, text in data.items():
            with open(os.path.join(self.scratch, CERTIFICATES, name), "wb") as stream:
                stream.write(base64.b64decode(text))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
