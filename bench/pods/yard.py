"""A server of ours with pods, and what it costs: every process that serves them."""
import glob
import json
import os
import re
import selectors
import socket
import subprocess
import time


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def ticks_to_seconds(ticks):
    return ticks / os.sysconf("SC_CLK_TCK")


def cpu_of(pid, with_children=False):
    """User and system time of a process; of the children it has waited for too, when asked."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not fields:
        return 0
    return ticks_to_seconds(sum(int(field) for field in fields[11:15 if with_children else 13]))


class Connection:
    """HTTP/1.1 over the server's own socket, one request at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest = b""

    def fileno(self):
        return self.socket.fileno()

    def send(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n")
        self.socket.sendall(head.encode() + data)

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        found = re.search(rb"content-length:\s*(\d+)", head, re.I)
        if found:
            return status, self.take(int(found.group(1)))
        return status, b"".join(self.chunks())

    def chunks(self):
        while True:
            while b"\r\n" not in self.rest:
                self.more()
            size, _, self.rest = self.rest.partition(b"\r\n")
            part = self.take(int(size, 16) + 2)[:-2]
            if not part:
                return
            yield part

    def parts(self):
        """The pieces of an answer without an end."""
        while b"\r\n\r\n" not in self.rest:
            self.more()
        self.rest = self.rest.partition(b"\r\n\r\n")[2]
        yield from self.chunks()

    def ask(self, method, path, body=None, expect=(200, 201)):
        self.send(method, path, body)
        status, text = self.answer()
        if status not in expect:
            raise RuntimeError(f"{method} {path}: {status} {text[:300]!r}")
        return text

    def more(self):
        got = self.socket.recv(1 << 20)
        if not got:
            raise RuntimeError("the server hung up")
        self.rest += got

    def take(self, size):
        while len(self.rest) < size:
            self.more()
        out, self.rest = self.rest[:size], self.rest[size:]
        return out


class Stamps:
    """A FIFO into which the measured commands write when their first instruction ran."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "stamps")
        os.mkfifo(self.path, 0o666)
        os.chmod(self.path, 0o666)
        self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        self.rest = b""

    def fileno(self):
        return self.fd

    def take(self):
        """What is there: (id, nanoseconds) each."""
        try:
            self.rest += os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        *lines, self.rest = self.rest.split(b"\n")
        return [(words[0].decode(), int(words[1])) for words in (line.split() for line in lines) if len(words) == 2]

    def wait(self, seconds=10):
        """The next ones, at least one."""
        waiting = selectors.DefaultSelector()
        waiting.register(self.fd, selectors.EVENT_READ)
        if not waiting.select(seconds):
            raise RuntimeError(f"no command began within {seconds} s")
        waiting.close()
        return self.take()


class Yard:
    """`trainyard up` in a folder, and `down` of it."""

    def __init__(self, program, scratch, name, **environment):
        self.program, self.state = program, os.path.join(scratch, name)
        self.environment = {**os.environ, **environment}
        self.out = os.path.join(scratch, name + "-out")
        os.makedirs(self.out)
        os.chmod(self.out, 0o777)
        self.run("up")
        self.pid = int(read(os.path.join(self.state, "server.pid")))
        self.stamps = Stamps(self.out)

    def run(self, *words):
        done = subprocess.run([self.program, "--state", self.state, *words], capture_output=True, text=True, timeout=60,
                              check=False, env=self.environment)
        if done.returncode != 0:
            raise RuntimeError(f"trainyard {words[0]}: {(done.stderr or done.stdout).strip()}")

    def stop(self):
        os.close(self.stamps.fd)
        self.run("down")

    def connect(self):
        return Connection(os.path.join(self.state, "api.sock"))

    def keepers(self):
        return processes_named(self.state, "keeper")

    def shims(self):
        return processes_named(self.state, "trainyard-shim")

    def serving_cpu(self):
        """Server, keeper and the shims' template, and the shims and sandboxes that have ended."""
        beside = [*self.keepers(), *processes_named(self.state, "trainyard-template")]
        return cpu_of(self.pid, with_children=True) + sum(cpu_of(pid) for pid in beside)

    def pod(self, name, words, **spec):
        container = {"name": "c", "image": "bench", "command": words, "volumeMounts": [{"name": "out", "mountPath": "/out"}]}
        container.update(spec.pop("container", {}))
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container],
                         "volumes": [{"name": "out", "hostPath": {"path": self.out}}], **spec}}

    def wait_for(self, path, text, count, seconds):
        """Until a listing holds `text` that often; the seconds it took."""
        connection, began = self.connect(), time.monotonic()
        while connection.ask("GET", path).count(text) < count:
            if time.monotonic() - began > seconds:
                raise RuntimeError(f"{path}: {count} × {text.decode()} did not come within {seconds} s")
            time.sleep(0.05)
        return time.monotonic() - began

    def wait_for_no_shims(self, seconds=20):
        began = time.monotonic()
        while self.shims():
            if time.monotonic() - began > seconds:
                raise RuntimeError(f"{len(self.shims())} shims are left after {seconds} s")
            time.sleep(0.05)


def processes_named(state, word):
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = read(path).split("\0")
        if any(word in each for each in words[:2]) and any(each.startswith(state) for each in words[1:]):
            found.append(int(path.split("/")[2]))
    return found
