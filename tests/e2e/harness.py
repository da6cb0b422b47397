"""What the end-to-end tests drive: a server process, its API over HTTPS, and kubectl."""
import base64
import contextlib
import dataclasses
import fcntl
import glob
import http.client
import itertools
import json
import os
import pwd
import queue
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

import pytest
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("TRAINYARD", os.path.join(ROOT, "build", "trainyard"))
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
# What works is seen at once; these bound how long a failure takes on two cores that a compiler wants too.
COMMAND_DEADLINE_S = 90
PATIENCE_S = 60
POLL_EVERY_S = 0.02


def available_kubectls():
    """name -> (path, minor version) of each kubectl that runs here."""
    candidates = {
        "path": shutil.which("kubectl"),
        "1.20": os.path.join(ROOT, "build/tools/kubectl-1.20/usr/bin/kubectl"),
        "1.34": os.path.join(CACHE, "trainyard/peers/bin/kubectl-1.34"),
    }
    found = {}
    for name, path in candidates.items():
        if path and os.access(path, os.X_OK):
            run = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, text=True)
            version = json.loads(run.stdout)["clientVersion"]["gitVersion"]
            found[name] = (path, int(version.split(".")[1]))
    return found


def newest_kubectl():
    """(path, minor version) for tests where one kubectl is enough: a fresh machine has Debian's only."""
    return max(available_kubectls().values(), key=lambda found: found[1])


@contextlib.contextmanager
def until_cut_off(client, api):
    """What a thread asks of a server that may be killed; any other failure is kept for the test to tell."""
    try:
        yield
    except (OSError, http.client.HTTPException):
        pass
    except Exception as problem:  # noqa: a thread's failure is told by the test
        client.problem = problem
    finally:
        api.close()


def eventually(claim, deadline_s=PATIENCE_S, about=""):
    """The first true answer of `claim`, asked until the deadline; its last exception or answer otherwise."""
    ends = time.monotonic() + deadline_s
    while True:
        try:
            answer, problem = claim(), None
        except (AssertionError, OSError, http.client.HTTPException) as error:
            answer, problem = None, error
        if answer:
            return answer
        if time.monotonic() > ends:
            raise AssertionError(f"not within {deadline_s} s: {about or claim} (last: {problem or answer!r})")
        # The other side is a process we cannot ask to call us: look again, soon.
        time.sleep(POLL_EVERY_S)


def unmount(path):
    """Whoever was killed a moment ago may still hold it."""
    eventually(lambda: subprocess.run(["umount", path], capture_output=True, check=False).returncode == 0, about="umount")


@dataclasses.dataclass
class Response:
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self):
        return json.loads(self.text)


class Api:
    """HTTPS with the credentials of a kubeconfig; one connection, used by one thread."""

    def __init__(self, kubeconfig, folder, credentials=True):
        with open(kubeconfig, encoding="utf-8") as stream:
            config = yaml.safe_load(stream)
        base = os.path.dirname(kubeconfig)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        address = urllib.parse.urlparse(cluster["server"])
        self.host, self.port = address.hostname, address.port
        self.context = ssl.create_default_context(
            cafile=_as_file(cluster, "certificate-authority", base, folder))
        if credentials:
            self.context.load_cert_chain(_as_file(user, "client-certificate", base, folder),
                                         _as_file(user, "client-key", base, folder))
        self.connection = None

    def request(self, method, path, body=None, content_type="application/json", accept="application/json",
                headers=None, timeout=COMMAND_DEADLINE_S):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=timeout)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        sent = {"Accept": accept, **({"Content-Type": content_type} if body is not None and content_type else {}),
                **(headers or {})}
        try:
            self.connection.request(method, path, body, sent)
            answer = self.connection.getresponse()
            return Response(answer.status, answer.headers, answer.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _as_file(section, key, base, folder):
    if key in section:
        return os.path.join(base, section[key])
    path = os.path.join(folder, key + ".pem")
    if not os.path.exists(path):
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(section[key + "-data"]))
    return path


def ordinary_user():
    """The ordinary user to run servers as (YARD_E2E_USER), made where it is missing; None: as we are."""
    name = os.environ.get("YARD_E2E_USER")
    if not name or os.geteuid() != 0:
        return None
    # One worker makes it: of several at once each gets another number, and the last one stays.
    with open(__file__, encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return pwd.getpwnam(name)
        except KeyError:
            subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", name], check=True)
            return pwd.getpwnam(name)


def reachable_folder(user):
    """A folder of the user's own: pytest's are closed to others."""
    folder = tempfile.mkdtemp(prefix="yard-e2e-")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


class Yard:
    """A server on a state folder of its own; as `user`, an entry of pwd, when given."""

    numbers = itertools.count(1)
    made = []  # of this session, for the check that nothing of them is left

    def __init__(self, folder, user=None):
        self.user = user or ordinary_user()
        self.folder = reachable_folder(self.user) if self.user else str(folder)
        self.cgroups = set()
        Yard.made.append(self)
        self.state = os.path.join(self.folder, "state")
        self.kubeconfig = os.path.join(self.state, "kubeconfig")
        self.is_ours = True
        self._api = None

    @classmethod
    def attached(cls, folder, kubeconfig):
        yard = cls(folder)
        yard.kubeconfig, yard.is_ours = os.path.abspath(kubeconfig), False
        return yard

    def command(self, *arguments, expect=0, stdin=None, env=None, timeout=COMMAND_DEADLINE_S, before=()):
        """Runs the binary on this state folder; `before` are the words of a command that runs it."""
        return run([*before, *self.as_user, BINARY, *arguments], self.environment(env), stdin, expect, timeout)

    @property
    def as_user(self):
        """What a command line begins with, for the binary to run as this server's user."""
        return ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups",
                "--inh-caps=-all"] if self.user else []

    def environment(self, more=None):
        """What podman and docker have on this machine is kept out."""
        return {**os.environ, "HOME": self.folder, "TRAINYARD_STATE": self.state, "NO_COLOR": "1",
                "TRAINYARD_IMAGE_STORES": "", **(more or {})}

    def up(self, *arguments):
        self.command("up", *arguments)
        self._api = None
        eventually(lambda: Api(self.kubeconfig, self.folder).request("GET", "/readyz").status == 200, about="/readyz")

    def give(self, folder):
        """What a test made there is the user's, if servers run as one."""
        if self.user:
            for parent, _, files in os.walk(folder):
                for path in [parent, *(os.path.join(parent, name) for name in files)]:
                    os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def down(self):
        if self._api:
            self._api.close()
        self.note_cgroups()
        self.command("down")

    def note_cgroups(self):
        """The server writes down where its control groups are."""
        try:
            with open(os.path.join(self.state, "cgroups"), encoding="utf-8") as stream:
                self.cgroups.update(stream.read().split())
        except FileNotFoundError:
            pass

    @property
    def pid(self):
        with open(os.path.join(self.state, "server.pid"), encoding="utf-8") as stream:
            return int(stream.read().split()[0])

    def kill(self):
        """kill -9, and the kernel's word that it is gone."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_running(pid), about=f"process {pid} gone")
        # A thread that waits for the disk outlives its process by a moment, and holds the lock.
        eventually(lambda: is_unlocked(os.path.join(self.state, "server.lock")), about="the lock is free")

    def end(self):
        """Whatever a test left: its pods and server, by `down`; what does not obey is killed."""
        self.note_cgroups()
        if os.path.isdir(self.state):
            self.command("down", expect=None)
        self.cut_power()

    def cut_power(self):
        """kill -9 of the server and of every shim, at once."""
        for pid in processes_naming(self.state):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def leftovers(self):
        """Processes that name the state folder or live in a mount of it (so do all of a pod, and their namespaces),
        sockets in it that still answer, control groups, what pods had in memory."""
        def left():
            return [*(f"process {pid}" for pid in processes_naming(self.state)),
                    *(f"process {pid} in a pod" for pid in processes_mounting(self.state)),
                    *(f"socket {path}" for path in answering_sockets(self.state)),
                    *(f"control group {path}" for path in self.cgroups if os.path.exists(path)),
                    *(f"memory {path}" for path in memory_of(self.state))]
        try:
            eventually(lambda: not left(), deadline_s=20)
            return []
        except AssertionError:
            return left()

    def configure(self, text):
        """Before `up`: its config.yaml."""
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        with open(os.path.join(self.state, "config.yaml"), "w", encoding="utf-8") as stream:
            stream.write(text)
        self.give(self.state)

    @property
    def api(self):
        if self._api is None:
            self._api = Api(self.kubeconfig, self.folder)
        return self._api

    def request(self, method, path, body=None, **more):
        return self.api.request(method, path, body, **more)

    def create(self, path, body):
        answer = self.request("POST", path, body)
        assert answer.status == 201, answer.text
        return answer.json

    def new_namespace(self):
        name = f"e2e-{os.getpid()}-{next(self.numbers)}"
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        return name


def websocket_messages(yard, path, protocol, opcode_of_all=2):
    """Every message of a WebSocket answer, until the server closes; all of them binary (2) or text (1)."""
    api = yard.api
    request = (f"GET {path} HTTP/1.1\r\nHost: {api.host}\r\nOrigin: https://{api.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
               f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
               f"Sec-WebSocket-Protocol: {protocol}\r\n\r\n")
    with socket.create_connection((api.host, api.port), COMMAND_DEADLINE_S) as plain, \
            api.context.wrap_socket(plain, server_hostname=api.host) as link, link.makefile("rb") as stream:
        link.sendall(request.encode())
        head = b"".join(iter(stream.readline, b"\r\n")).decode()
        assert head.startswith("HTTP/1.1 101 ") and f"Sec-WebSocket-Protocol: {protocol}" in head, head
        messages = []
        while True:
            opcode, length = stream.read(2)
            if length >= 126:
                length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
            payload = stream.read(length)
            if opcode & 15 == 8:
                return messages
            assert opcode & 15 == opcode_of_all, f"opcode {opcode & 15}"
            messages.append(payload)


class Kubectl:
    """One kubectl in one namespace. HOME is the server's folder, so that discovery is cached across calls."""

    def __init__(self, path, minor, yard, namespace, before=()):
        self.path, self.minor, self.yard, self.namespace, self.before = path, minor, yard, namespace, before

    def __call__(self, *arguments, stdin=None, expect=0, env=None, timeout=COMMAND_DEADLINE_S, namespace=None,
                 kubeconfig=None):
        if stdin is not None and not isinstance(stdin, str):
            stdin = as_documents(stdin)
        return run([*self.before, self.path, "-n", namespace or self.namespace, *arguments],
                   self.environment(kubeconfig, env), stdin, expect, timeout)

    def environment(self, kubeconfig=None, env=None):
        home = os.path.join(self.yard.folder, f"home-{self.minor}")
        return {**os.environ, "HOME": home, "KUBECONFIG": kubeconfig or self.yard.kubeconfig, "NO_COLOR": "1",
                **(env or {})}

    def json(self, *arguments):
        return json.loads(self(*arguments, "-o", "json").out)

    def needs(self, minor):
        if self.minor < minor:
            pytest.skip(f"kubectl 1.{self.minor} has no such thing (1.{minor} has)")

    def stream(self, *arguments, kubeconfig=None):
        return Stream([self.path, "-n", self.namespace, *arguments], self.environment(kubeconfig))


@dataclasses.dataclass
class Run:
    code: int
    out: str
    err: str

    @property
    def rows(self):
        """The cells of a printed table, header first; cells are parted by three spaces or more."""
        return [[cell.strip() for cell in line.replace("   ", "\0").split("\0") if cell.strip()]
                for line in self.out.splitlines()]


def run(command, environment, stdin=None, expect=0, timeout=COMMAND_DEADLINE_S):
    done = subprocess.run(command, input=stdin or "", env=environment, capture_output=True, text=True, timeout=timeout)
    result = Run(done.returncode, done.stdout, done.stderr)
    if expect is not None:
        assert result.code == expect, \
            f"{' '.join(command)}\nexit {result.code}, expected {expect}\n{result.out}{result.err}"
    return result


class Stream:
    """A command that keeps talking; lines are read with a deadline."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, text=True, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def line(self, deadline_s=PATIENCE_S):
        try:
            return self.lines.get(timeout=deadline_s)
        except queue.Empty:
            raise AssertionError(f"no line within {deadline_s} s") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended by itself
        self.process.wait()


def as_documents(objects):
    """A stream of JSON: PyYAML would leave the key `n` bare, and kubectl reads that as false."""
    return "\n".join(json.dumps(one) for one in (objects if isinstance(objects, list) else [objects]))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_unlocked(path):
    with open(path, "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


def memory_of(state):
    """Folders of its pods below /dev/shm; each names its state folder (src/node/transient.h)."""
    found = []
    for path in glob.glob("/dev/shm/trainyard-*"):
        try:
            with open(os.path.join(path, "state"), encoding="utf-8") as stream:
                found += [path] if stream.readline().strip() == os.path.abspath(state) else []
        except OSError:
            pass  # gone meanwhile, or another user's
    return found


def processes_naming(folder):
    needle, mine = folder.encode(), os.getpid()
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as line, open(f"/proc/{entry}/environ", "rb") as variables:
                words = line.read()
                named = needle in words or (b"trainyard" in words and needle in variables.read())
        except OSError:
            continue
        if named and int(entry) != mine and is_running(int(entry)):
            found.append(int(entry))
    return found


def processes_mounting(folder):
    """Processes that see a mount of something in the folder."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/mountinfo", encoding="utf-8", errors="replace") as stream:
                if folder + "/" in stream.read():
                    found.append(int(entry))
        except OSError:
            continue
    return found


def answering_sockets(folder):
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                try:
                    probe.connect(path)
                    found.append(path)
                except OSError:
                    pass
    return found
