"""kubectl's ways into a running pod: exec, cp, attach, port-forward, over SPDY (old kubectl) and WebSocket (new)."""
import concurrent.futures
import contextlib
import fcntl
import glob
import hashlib
import os
import pty
import re
import select
import socket
import struct
import subprocess
import termios
import time
import urllib.request

import pytest

from harness import BINARY, Kubectl, eventually, processes_naming, newest_kubectl

DEADLINE_S = 60


def pod(name, *command, **container):
    one = {"name": "c", "image": "busybox", "command": list(command), **container}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [one]}}


def run_pod(kubectl, name="p", *command, **container):
    kubectl("apply", "-f", "-", stdin=pod(name, *(command or ("sleep", "1000")), **container))
    is_running = lambda: kubectl.json("get", "pod", name)["status"]["phase"] == "Running"  # noqa: E731
    eventually(is_running, DEADLINE_S, f"{name} Running")


@pytest.fixture
def one_kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def raw(kubectl, *arguments, stdin=b"", expect=0):
    """Bytes in, bytes out."""
    done = subprocess.run([kubectl.path, "-n", kubectl.namespace, *arguments], input=stdin, capture_output=True,
                          env=kubectl.environment(), timeout=DEADLINE_S)
    assert done.returncode == expect, done.stderr
    return done.stdout


class TerminalSession:
    """A command at a terminal of its own."""

    def __init__(self, command, environment, rows=30, columns=91):
        self.ours, theirs = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.ours, text.encode())

    def until(self, pattern):
        """Reads on until the pattern is there."""
        ends = time.monotonic() + DEADLINE_S
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < ends, f"no {pattern!r} in {self.seen!r}"
            ready, _, _ = select.select([self.ours], [], [], 1)
            try:
                self.seen += os.read(self.ours, 65536).decode() if ready else ""
            except OSError as gone:
                raise AssertionError(f"it ended before {pattern!r}: {self.seen!r}") from gone
        self.seen = self.seen[found.end():]
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def test_exec_gives_output_and_the_exit_code(kubectl):
    run_pod(kubectl, "p", "sleep", "1000", env=[{"name": "COLOUR", "value": "green"}])
    done = kubectl("exec", "p", "--", "sh", "-c", "echo $COLOUR; echo no >&2; exit 7", expect=7)
    assert done.out == "green\n"
    assert done.err.splitlines()[0] == "no"
    assert "command terminated with exit code 7" in done.err
    assert kubectl("exec", "p", "-c", "c", "--", "cat", "/proc/1/comm").out == "sleep\n"
    missing = kubectl("exec", "p", "--", "no-such-program", expect=1)
    assert 'exec: "no-such-program": executable file not found in $PATH' in missing.err


def test_exec_refuses_in_kubernetes_words(kubectl):
    run_pod(kubectl)
    assert "container zz is not valid for pod p" in kubectl("exec", "p", "-c", "zz", "--", "true", expect=1).err
    assert 'pods "no" not found' in kubectl("exec", "no", "--", "true", expect=1).err
    kubectl("apply", "-f", "-", stdin=pod("done", "true"))
    eventually(lambda: kubectl.json("get", "pod", "done")["status"]["phase"] == "Succeeded", DEADLINE_S)
    refused = kubectl("exec", "done", "--", "true", expect=1).err
    assert "cannot exec into a container in a completed pod; current phase is Succeeded" in refused
    at = f"/api/v1/namespaces/{kubectl.namespace}/pods"
    plain = kubectl.yard.request("POST", f"{at}/p/exec?command=true&stdout=1")
    assert (plain.status, plain.json["message"]) == (400, "Upgrade request required")
    nothing = kubectl.yard.request("POST", f"{at}/p/exec?command=true")
    assert (nothing.status, nothing.json["message"]) == (400, "you must specify at least 1 of stdin, stdout, stderr")
    over = kubectl.yard.request("GET", f"{at}/done/exec?command=true&stdout=1",
                                headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"})
    assert (over.status, over.text) == (500, 'container not found ("c")')


def test_ten_megabytes_go_through_unharmed(kubectl):
    run_pod(kubectl)
    data = os.urandom(10 << 20)
    digest = hashlib.sha256(data).hexdigest()
    # Old SDKs cannot end stdin on their own; every kubectl can.
    assert raw(kubectl, "exec", "-i", "p", "--", "sha256sum", stdin=data).decode().split()[0] == digest
    assert hashlib.sha256(raw(kubectl, "exec", "-i", "p", "--", "cat", stdin=data)).hexdigest() == digest


def test_a_terminal_with_its_size(kubectl):
    run_pod(kubectl)
    command = [kubectl.path, "-n", kubectl.namespace, "exec", "-it", "p", "--", "sh"]
    with TerminalSession(command, kubectl.environment()) as session:
        # The size travels on its own channel, and may arrive after the first command.
        session.type("until stty size | grep -q '^30 91'; do sleep 0.05; done; tty; echo is$((1+1))here\n")
        session.until(r"/dev/pts/\d+\r\n")
        session.until("is2here")
        session.resize(41, 132)
        session.process.send_signal(28)  # SIGWINCH
        # The size travels on its own channel: ask until it has arrived.
        session.type("until stty size | grep -q '^41 132'; do sleep 0.05; done; echo new$((2+2))size\n")
        session.until("new4size")
        session.type("exit 5\n")
        assert session.process.wait(DEADLINE_S) == 5


def test_cp_both_ways(kubectl, tmp_path):
    run_pod(kubectl)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(os.urandom(300_000))
    (tmp_path / "in" / "b").write_text("text\n")
    kubectl("cp", str(tmp_path / "in"), "p:/tmp/there")
    assert kubectl("exec", "p", "--", "cat", "/tmp/there/b").out == "text\n"
    kubectl("cp", "p:/tmp/there", str(tmp_path / "out"))
    for name in ("a", "b"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "in" / name).read_bytes()


def test_attach_shows_what_comes_and_takes_input(kubectl):
    run_pod(kubectl, "talk", "sh", "-c", "while read -r line; do echo got $line; done; echo over", stdin=True)
    attached = subprocess.Popen([kubectl.path, "-n", kubectl.namespace, "attach", "-i", "talk"], bufsize=0,
                                env=kubectl.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        # What comes before it is attached goes to the log alone: ask until an answer comes.
        os.set_blocking(attached.stdout.fileno(), False)

        def answered():
            attached.stdin.write(b"one\n")
            return b"got one" in (attached.stdout.read(65536) or b"")
        eventually(answered, DEADLINE_S)
    finally:
        attached.kill()
        attached.wait()
    assert "got one" in kubectl("logs", "talk").out
    assert kubectl.json("get", "pod", "talk")["status"]["phase"] == "Running", "attach leaves the container alone"


def test_run_with_a_terminal(kubectl):
    overrides = '{"spec":{"terminationGracePeriodSeconds":1}}'
    command = [kubectl.path, "-n", kubectl.namespace, "run", "shell", "-it", "--restart=Never", "--image=busybox",
               f"--overrides={overrides}", "--command", "--", "sh"]
    with TerminalSession(command, kubectl.environment()) as session:
        session.until("try pressing enter")
        session.type("\n")
        session.until(r"[#$] ")
        session.type("tty; echo is$((1+1))here; exit\n")
        session.until(r"/dev/pts/\d+")
        session.until("is2here")
        session.process.wait(DEADLINE_S)


def test_port_forward(kubectl):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = ("import http.server,os; os.chdir('/tmp'); open('big','wb').write(b'x'*5_000_000);"
              f"server=http.server.ThreadingHTTPServer(('127.0.0.1',{port}),http.server.SimpleHTTPRequestHandler);"
              "print('listening',flush=True); server.serve_forever()")
    run_pod(kubectl, "web", "python3", "-c", script)
    # One connection that the pod refuses ends kubectl's forwarding for good.
    eventually(lambda: "listening" in kubectl("logs", "web").out, DEADLINE_S)
    with kubectl.stream("port-forward", "pod/web", f":{port}") as stream:
        local = int(re.search(r"127.0.0.1:(\d+) ->", stream.line(DEADLINE_S))[1])

        def fetch(path):
            with urllib.request.urlopen(f"http://127.0.0.1:{local}/{path}", timeout=DEADLINE_S) as answer:
                return answer.read()
        assert b"big" in eventually(lambda: fetch(""), DEADLINE_S)
        assert fetch("big") == b"x" * 5_000_000
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(b"big" in page for page in pool.map(lambda _: fetch(""), range(24)))
    with kubectl.stream("port-forward", "pod/web", ":1") as stream:
        local = int(re.search(r"127.0.0.1:(\d+) ->", stream.line(DEADLINE_S))[1])
        with socket.create_connection(("127.0.0.1", local)) as connection:
            connection.settimeout(DEADLINE_S)
            assert connection.recv(1) == b"", "nobody listens there"
        lines = ""
        while "refused" not in lines:
            lines += stream.line(DEADLINE_S)
        assert "failed to connect to localhost:1 inside the pod" in lines


@pytest.mark.parametrize("pids, first", [({}, "sh"), ({"shareProcessNamespace": True}, "pause")])
def test_a_container_starts_again_after_a_command(one_kubectl, pids, first):
    """What the shim did for the command must not stay with it: the next run has its own processes, or the pod's."""
    kubectl = one_kubectl
    script = "echo $$$$ > /tmp/pid; trap 'exit 1' TERM; while true; do sleep 0.05; done"
    again = pod("again", "sh", "-c", script)
    again["spec"].update(restartPolicy="Always", **pids)
    kubectl("apply", "-f", "-", stdin=again)

    def restarts(count):
        status = kubectl.json("get", "pod", "again")["status"]["containerStatuses"][0]
        return status["restartCount"] == count and "running" in status["state"]
    eventually(lambda: restarts(0), about="it runs")
    kubectl("exec", "again", "--", "sh", "-c", "until test -s /tmp/pid; do sleep 0.02; done; kill -TERM $(cat /tmp/pid)")
    eventually(lambda: restarts(1), about="it runs again")
    assert kubectl("exec", "again", "--", "cat", "/proc/1/comm").out.strip() == first


def test_many_at_once(one_kubectl):
    run_pod(one_kubectl)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: one_kubectl("exec", "p", "--", "sh", "-c", f"echo {i}; exit {i % 4}",
                                                      expect=i % 4, timeout=DEADLINE_S).out, range(32)))
    assert answers == [f"{i}\n" for i in range(32)]
    # Nothing of them is left, and the container is what it was.
    assert one_kubectl("exec", "p", "--", "sh", "-c", "echo /proc/[0-9]*").out.count("/proc/") <= 3
    assert not glob.glob("/sys/fs/cgroup/*/*/trainyard-*/*.c.0/command-*/command-*")


def test_a_client_that_leaves_hangs_its_command_up(one_kubectl):
    run_pod(one_kubectl)
    marker = "987654"
    with one_kubectl.stream("exec", "p", "--", "sh", "-c", f"echo begun; exec sleep {marker}") as stream:
        assert stream.line(DEADLINE_S) == "begun"

    def is_gone():
        return marker not in one_kubectl("exec", "p", "--", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
                                         timeout=DEADLINE_S).out
    eventually(is_gone, DEADLINE_S)


def test_streams_end_with_the_right_to_them(one_kubectl, yard):
    """A shell that is open does not outlive the binding that allowed it; nor do logs, ports and what is attached."""
    run_pod(one_kubectl, "p", "sh", "-c", "while true; do echo tick; sleep 0.2; done")
    config = os.path.join(yard.folder, "guest.kubeconfig")
    yard.command("user", "add", "guest", "--out", config)
    one_kubectl("create", "rolebinding", "guest", "--clusterrole", "edit", "--user", "guest")
    marker = "765432"
    commands = [("exec", "p", "--", "sh", "-c", f"echo tick; exec sleep {marker}"), ("attach", "p"), ("logs", "-f", "p"),
                ("port-forward", "p", ":1")]
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(one_kubectl.stream(*command, kubeconfig=config)) for command in commands]
        for stream in streams:
            stream.line(DEADLINE_S)
        assert all(stream.process.poll() is None for stream in streams)
        one_kubectl("delete", "rolebinding", "guest")
        for command, stream in zip(commands, streams):
            assert stream.process.wait(DEADLINE_S) is not None, command
    assert "forbidden" in one_kubectl("exec", "p", "--", "true", kubeconfig=config, expect=1).err
    eventually(lambda: not processes_naming(marker), DEADLINE_S)
    assert one_kubectl.json("get", "pod", "p")["status"]["phase"] == "Running"


def test_a_killed_server_harms_no_pod(own_yard):
    own_yard.up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, own_yard.new_namespace())
    run_pod(kubectl)
    marker = "876543"
    with kubectl.stream("exec", "p", "--", "sh", "-c", f"echo begun; exec sleep {marker}") as stream:
        assert stream.line(DEADLINE_S) == "begun"
        own_yard.kill()
    own_yard.up()
    status = kubectl.json("get", "pod", "p")["status"]
    assert (status["phase"], status["containerStatuses"][0]["restartCount"]) == ("Running", 0)
    left = kubectl("exec", "p", "--", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").out
    assert "sleep 1000" in left and marker not in left
    own_yard.down()
    assert own_yard.leftovers() == []
    assert not [pid for pid in processes_naming(marker)]


def test_our_own_exec(one_kubectl):
    yard, namespace = one_kubectl.yard, one_kubectl.namespace
    run_pod(one_kubectl)
    done = yard.command("exec", "-n", namespace, "p", "--", "sh", "-c", "echo out; echo err >&2; exit 9", expect=9)
    assert (done.out, done.err) == ("out\n", "err\n")
    assert yard.command("exec", "-n", namespace, "p", "-i", "--", "cat", stdin="typed\n").out == "typed\n"
    assert 'pods "no" not found' in yard.command("exec", "-n", namespace, "no", "--", "true", expect=5).err
    environment = {**os.environ, "HOME": yard.folder, "TRAINYARD_STATE": yard.state}
    with TerminalSession([BINARY, "exec", "-n", namespace, "p", "-it", "--", "sh"], environment) as session:
        # The size comes after the shell has begun, as kubectl's does.
        session.type("until stty size | grep -q '^30 91'; do sleep 0.05; done; echo is$((1+1))here\n")
        session.until("is2here")
        session.resize(41, 132)
        session.type("until stty size | grep -q '^41 132'; do sleep 0.05; done; exit 6\n")
        assert session.process.wait(DEADLINE_S) == 6
