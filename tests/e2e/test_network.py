"""Pods on their own network: who reaches whom, by which name, and what survives whom."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import textwrap

import pytest

from harness import BINARY, Kubectl, eventually, is_running, processes_naming, newest_kubectl


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def kubectl_for(yard, namespace="default"):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


def python(script):
    return ["python3", "-u", "-c", textwrap.dedent(script)]


def pod(name, script, labels=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "c", "image": "i", "command": python(script)}], **spec}}


def service(name, selector, headless=True, ports=(), **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {**({"clusterIP": "None"} if headless else {}), **({"selector": selector} if selector else {}),
                     **({"ports": list(ports)} if ports else {}), **spec}}


def status(kubectl, name):
    return kubectl.json("get", "pod", name)["status"]


def logs_of(kubectl, name, phase="Succeeded"):
    eventually(lambda: status(kubectl, name)["phase"] in ("Succeeded", "Failed"), about=f"pod {name} ends")
    out = kubectl("logs", name).out
    assert status(kubectl, name)["phase"] == phase, out
    return out


def running(kubectl, name):
    eventually(lambda: status(kubectl, name)["phase"] == "Running", about=f"{name} runs")


ECHO = """
    import os, socket, threading
    def serve(connection):
        while data := connection.recv(4096):
            connection.sendall(data)
    server = socket.create_server(("0.0.0.0", 7000))
    print("listening", flush=True)
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


def test_peers_of_an_indexed_job_find_each_other_at_their_first_instruction(kubectl):
    """Nobody retries: whoever starts first knows the name of the other, and only waits for its port."""
    script = """
        import os, socket, time
        index = int(os.environ["JOB_COMPLETION_INDEX"])
        peer = socket.gethostbyname(f"ring-{1 - index}.ring")
        mine = socket.gethostbyname(socket.gethostname())
        assert mine == os.environ["IP"], (mine, os.environ["IP"])
        server = socket.create_server(("0.0.0.0", 29500))
        while True:
            try:
                out = socket.create_connection((f"ring-{1 - index}.ring", 29500), 5)
                break
            except ConnectionRefusedError:
                time.sleep(0.02)  # its port is not open yet
        other, address = server.accept()
        out.sendall(str(index).encode())
        said = other.recv(10).decode()
        assert (said, address[0], out.getpeername()[0]) == (str(1 - index), peer, peer)
        print("met", said)
    """
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "ring"},
           "spec": {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 0,
                    "template": {"spec": {"subdomain": "ring", "restartPolicy": "Never", "containers": [{
                        "name": "c", "image": "i", "command": python(script),
                        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}]}}}}
    kubectl("apply", "-f", "-", stdin=[service("ring", {"batch.kubernetes.io/job-name": "ring"}), job])
    eventually(lambda: kubectl.json("get", "job", "ring").get("status", {}).get("succeeded") == 2, 20,
               "both ranks met")
    pods = kubectl.json("get", "pods")["items"]
    addresses = {one["status"]["podIP"] for one in pods}
    assert len(addresses) == 2 and all(address.startswith("10.244.") for address in addresses)
    assert all(one["status"]["podIPs"] == [{"ip": one["status"]["podIP"]}] for one in pods)


def test_every_form_of_a_name(kubectl, namespace):
    kubectl("apply", "-f", "-", stdin=[
        service("web", {"app": "web"}, headless=False, ports=[{"name": "echo", "port": 80, "targetPort": 7000}]),
        service("peers", {"app": "web"}, publishNotReadyAddresses=True),
        service("away", None, headless=False, type="ExternalName", externalName="web." + namespace + ".svc.cluster.local"),
        pod("web-0", ECHO, labels={"app": "web"}, hostname="first", subdomain="peers")])
    running(kubectl, "web-0")
    eventually(lambda: "listening" in kubectl("logs", "web-0").out)
    address = status(kubectl, "web-0")["podIP"]
    cluster_ip = kubectl.json("get", "service", "web")["spec"]["clusterIP"]
    kubectl("apply", "-f", "-", stdin=pod("ask", f"""
        import os, socket
        def found(name):
            return sorted(set(one[4][0] for one in socket.getaddrinfo(name, None)))
        for form in ("", ".{namespace}", ".{namespace}.svc", ".{namespace}.svc.cluster.local",
                     ".{namespace}.svc.cluster.local."):
            assert found("peers" + form) == ["{address}"], form
            assert found("first.peers" + form) == ["{address}"], form
            assert found("web" + form) == ["{cluster_ip}"], form
        assert found("{address.replace('.', '-')}.{namespace}.pod.cluster.local") == ["{address}"]
        assert found("away") == ["{cluster_ip}"], found("away")
        assert found("kubernetes.default.svc") == ["10.96.0.1"] == [os.environ["KUBERNETES_SERVICE_HOST"]]
        assert socket.gethostbyaddr("{address}")[0] == "first.peers.{namespace}.svc.cluster.local"
        assert socket.gethostbyaddr("{cluster_ip}")[0] == "web.{namespace}.svc.cluster.local"
        for nobody in ("nobody.peers", "second.peers", "nobody"):
            try:
                found(nobody)
                raise SystemExit(nobody + " is found")
            except socket.gaierror as problem:
                assert problem.errno in (socket.EAI_NONAME, socket.EAI_AGAIN), (nobody, problem)
        print(open("/etc/resolv.conf").read())
        with socket.create_connection(("web", 80), 5) as connection:      # through the ClusterIP
            connection.sendall(b"x" * 300000)
            connection.shutdown(socket.SHUT_WR)
            size = 0
            while data := connection.recv(65536):
                size += len(data)
            assert size == 300000, size
        try:
            socket.create_connection(("web", 81), 5)
            raise SystemExit("a port that no service has")
        except ConnectionRefusedError:
            print("refused")
        """))
    out = logs_of(kubectl, "ask")
    assert f"search {namespace}.svc.cluster.local svc.cluster.local cluster.local" in out
    assert "nameserver 10.96.0.10\noptions ndots:5" in out and "refused" in out


def test_the_api_server_is_reached_from_inside_and_wants_to_know_who_asks(kubectl):
    one = pod("ask", """
        import http.client, os, ssl
        context = ssl.create_default_context(cafile="/ca/ca.crt")
        for host in ("kubernetes.default.svc", "kubernetes.default", os.environ["KUBERNETES_SERVICE_HOST"]):
            connection = http.client.HTTPSConnection(host, int(os.environ["KUBERNETES_SERVICE_PORT"]), context=context,
                                                     timeout=60)
            connection.request("GET", "/version")
            answer = connection.getresponse()
            assert answer.status == 200, answer.status
            answer.read()
            connection.request("GET", "/api/v1/namespaces/default/secrets")
            print(connection.getresponse().status)
        """, volumes=[{"name": "ca", "configMap": {"name": "kube-root-ca.crt"}}])
    one["spec"]["containers"][0]["volumeMounts"] = [{"name": "ca", "mountPath": "/ca"}]
    kubectl("apply", "-f", "-", stdin=one)
    assert set(logs_of(kubectl, "ask").split()) <= {"401", "403"}


def test_the_policy_and_the_aliases_of_a_pod_are_kept(kubectl, namespace):
    show = "print(open('/etc/resolv.conf').read(), open('/etc/hosts').read())"
    kubectl("apply", "-f", "-", stdin=[
        pod("none", show, dnsPolicy="None", dnsConfig={
            "nameservers": ["1.2.3.4"], "searches": ["a.example"], "options": [{"name": "ndots", "value": "2"}]}),
        pod("aliases", show, hostname="me", subdomain="here",
            hostAliases=[{"ip": "192.0.2.7", "hostnames": ["far", "far.example"]}]),
        pod("host", "import socket\nprint(sorted(name for _, name in socket.if_nameindex()))", hostNetwork=True)])
    assert "search a.example\nnameserver 1.2.3.4\noptions ndots:2\n" in logs_of(kubectl, "none")
    hosts = logs_of(kubectl, "aliases")
    address = status(kubectl, "aliases")["podIP"]
    assert f"{address}\tme.here.{namespace}.svc.cluster.local\tme\n" in hosts
    assert "192.0.2.7\tfar\tfar.example\n" in hosts
    assert logs_of(kubectl, "host").strip() == str(sorted(os.listdir("/sys/class/net"))), "hostNetwork is the host's"


def test_two_pods_listen_on_one_port(kubectl):
    kubectl("apply", "-f", "-", stdin=[pod(f"same-{number}", ECHO) for number in range(3)])
    for number in range(3):
        running(kubectl, f"same-{number}")
        eventually(lambda: "listening" in kubectl("logs", f"same-{number}").out)
    assert len({status(kubectl, f"same-{number}")["podIP"] for number in range(3)}) == 3


WHO = """
    import socket
    server = socket.create_server(("0.0.0.0", 7000))
    while True:
        with server.accept()[0] as connection:
            connection.sendall(socket.gethostname().encode())
"""
ASK = """
    import socket
    def ask(host, port):
        with socket.create_connection((host, port), 5) as connection:
            return connection.recv(100).decode()
    print(*(ask(host, port) for host, port in {}))
"""


def two_answering(kubectl, label):
    kubectl("apply", "-f", "-", stdin=[pod(f"{label}-{number}", WHO, labels={"app": label}) for number in range(2)])
    for number in range(2):
        running(kubectl, f"{label}-{number}")


def test_clients_stay_with_a_pod_where_the_service_says_so(kubectl):
    two_answering(kubectl, "who")
    ports = [{"port": 80, "targetPort": 7000}]
    kubectl("apply", "-f", "-", stdin=[service("turns", {"app": "who"}, headless=False, ports=ports),
                                       service("stays", {"app": "who"}, headless=False, ports=ports, sessionAffinity="ClientIP")])

    def answers(name, host):
        kubectl("apply", "-f", "-", stdin=pod(name, ASK.format([(host, 80)] * 6)))
        return logs_of(kubectl, name).split()
    assert answers("first", "turns").count("who-0") == 3
    one, other = answers("second", "stays"), answers("third", "stays")
    assert len(one) == len(other) == 6 and len(set(one)) == len(set(other)) == 1, (one, other)
    assert set(one) != set(other), "another client has another pod"


def test_node_ports_lead_to_their_service_from_this_machine(yard, kubectl):
    two_answering(kubectl, "node")
    made = kubectl("apply", "-f", "-", stdin=service("node", {"app": "node"}, headless=False, type="NodePort",
                                                     ports=[{"port": 80, "targetPort": 7000}]))
    assert "its node ports lead to the service from this machine alone" in made.err
    port = kubectl.json("get", "service", "node")["spec"]["ports"][0]["nodePort"]

    def ask():
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            return connection.recv(100).decode()
    eventually(ask, about="the node port answers")
    assert {ask() for _ in range(4)} == {"node-0", "node-1"}
    kubectl("apply", "-f", "-", stdin=pod("inside", ASK.format([("10.244.0.1", port)])))
    assert logs_of(kubectl, "inside").strip() in ("node-0", "node-1"), "and pods find it at their gateway"
    kubectl("delete", "service", "node")

    def is_closed():
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except ConnectionRefusedError:
            return True
        return False
    eventually(is_closed, about="the port goes with its service")


def test_a_node_port_that_is_taken_is_told(own_yard):
    own_yard.up()
    kubectl = kubectl_for(own_yard)
    port = next(each for each in range(32700, 30000, -1) if is_free(each))
    with socket.create_server(("127.0.0.1", port)):
        two_answering(kubectl, "node")
        kubectl("apply", "-f", "-", stdin=service("node", {"app": "node"}, headless=False, type="NodePort",
                                                  ports=[{"port": 80, "targetPort": 7000, "nodePort": port}]))
        eventually(lambda: f"node port {port} of 127.0.0.1 does not lead to its service: Address already in use"
                   in own_yard.command("info").out, about="the clash is told")


def is_free(port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


WORLD = "192.0.2.1"  # an address of a network namespace that the test makes
SERVE_WORLD = f"""
import socket
server = socket.create_server(("{WORLD}", 8000))
print("ready", flush=True)
while True:
    with server.accept()[0] as connection:
        connection.sendall(b"the world")
"""


def test_pods_reach_the_world_and_not_the_hosts_loopback(own_yard):
    """In a namespace that stands for the machine: it has one address of the world, where somebody answers."""
    if shutil.which("slirp4netns") is None:
        pytest.skip("MISSING slirp4netns: NOT TRIED whether pods reach the world; `tools/setup test` installs it")
    # As most machines have it; some give it to root alone.
    tunnel = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200"
    script = f"{tunnel} && ip link set lo up && ip address add {WORLD}/32 dev lo && exec python3 -c '{SERVE_WORLD}'"
    world = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert world.stdout.readline() == "ready\n"
        inside = ["nsenter", "-t", str(world.pid), "-n", "-m"]
        own_yard.command("up", before=inside)
        path, minor = newest_kubectl()
        kubectl = Kubectl(path, minor, own_yard, "default", before=inside)
        assert "cannot reach the world" not in own_yard.command("info", before=inside).out
        kubectl("apply", "-f", "-", stdin=pod("out", f"""
            import socket
            with socket.create_connection(("{WORLD}", 8000), 5) as connection:
                print(connection.recv(100).decode())
            for loopback in ("10.0.2.2", "127.0.0.1"):
                try:
                    socket.create_connection((loopback, 8000), 2)
                    print("the host's loopback is open")
                except OSError:
                    print("closed")
            """))
        assert logs_of(kubectl, "out") == "the world\nclosed\nclosed\n"
        own_yard.command("down", before=inside)
        assert own_yard.leftovers() == []
    finally:
        world.kill()
        world.wait()


def test_without_a_way_out_it_is_said(own_yard):
    """On a machine where no program for it is installed: named, with the command that mends it."""
    folder = os.path.join(own_yard.folder, "bin")
    os.makedirs(folder)
    for name in ("sh", "env", "setpriv"):
        os.symlink(shutil.which(name), os.path.join(folder, name))
    own_yard.give(own_yard.folder)
    own_yard.command("up", env={"PATH": folder})
    eventually(lambda: "pods cannot reach the world: slirp4netns is not installed (apt install slirp4netns" in own_yard.command("info").out)
    kubectl = kubectl_for(own_yard)
    condition = eventually(lambda: next(one for one in kubectl.json("get", "nodes")["items"][0]["status"]["conditions"]
                                        if one["type"] == "NetworkDegraded"))
    assert condition["status"] == "True" and "pods cannot reach the world" in condition["message"]


def test_every_pod_has_the_loopback_of_both_families(kubectl):
    kubectl("apply", "-f", "-", stdin=pod("loops", """
        import socket
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            server = socket.create_server((address, 0), family=family)
            client = socket.create_connection(server.getsockname()[:2], 5)
            print(client.getpeername()[0])
        print([i for i in open("/proc/net/if_inet6").read().split() if i == "eth0"])
        """))
    assert logs_of(kubectl, "loops") == "127.0.0.1\n::1\n[]\n"


def keeper_of(yard):
    """The keeper's process of this state folder."""
    for pid in processes_naming(yard.state):
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            if stream.read().split(b"\0")[1] == b"keeper":
                return pid
    return None


def talkers(yard, kubectl):
    """Two pods: one answers, the other asks it by name again and again, and says each answer."""
    kubectl("apply", "-f", "-", stdin=[
        service("echo", {"app": "echo"}),
        pod("echo", ECHO, labels={"app": "echo"}, hostname="one", subdomain="echo"),
        pod("ask", """
            import socket, time
            kept = None
            while True:
                try:
                    kept = kept or socket.create_connection(("one.echo", 7000), 5)
                    kept.sendall(b"x")
                    assert kept.recv(1) == b"x"
                    with socket.create_connection((socket.gethostbyname("one.echo"), 7000), 5) as fresh:
                        fresh.sendall(b"y")
                        assert fresh.recv(1) == b"y"
                    print("ok", kept.getpeername()[0])
                except (ConnectionRefusedError, socket.gaierror) as problem:
                    print("no", problem)
                time.sleep(0.05)  # the pod's own pace
            """)])
    for name in ("echo", "ask"):
        running(kubectl, name)
    eventually(lambda: "ok" in kubectl("logs", "ask").out, about="they talk")


def still_talk(kubectl):
    """True answers that came after now, none in between that failed."""
    before = kubectl("logs", "ask").out.count("ok")
    eventually(lambda: kubectl("logs", "ask").out.count("ok") > before + 3, about="they still talk")


def network_namespaces():
    found = set()
    for path in glob.glob("/proc/[0-9]*/ns/net") + glob.glob("/proc/[0-9]*/task/*/ns/net"):
        try:
            found.add(os.readlink(path))
        except OSError:
            pass
    return found


def test_pods_talk_on_when_the_server_dies(own_yard):
    own_yard.up()
    kubectl = kubectl_for(own_yard)
    talkers(own_yard, kubectl)
    address = status(kubectl, "echo")["podIP"]
    log = glob.glob(os.path.join(own_yard.state, "logs", "default_ask_*", "c", "0.log"))[0]

    def answers():
        with open(log, encoding="utf-8") as stream:
            return stream.read().count("ok")
    own_yard.kill()
    before = answers()
    eventually(lambda: answers() > before + 5, about="they talk without a server")
    own_yard.up()
    assert status(kubectl, "echo")["podIP"] == address
    still_talk(kubectl)
    kubectl("apply", "-f", "-", stdin=pod("late", "import socket\nprint(socket.gethostbyname('one.echo'))"))
    assert logs_of(kubectl, "late").strip() == address, "and new pods find them"
    assert status(kubectl, "late")["podIP"] != address
    own_yard.down()
    assert own_yard.leftovers() == []


def test_the_keeper_dies_and_pods_keep_their_addresses(own_yard):
    own_yard.up()
    kubectl = kubectl_for(own_yard)
    talkers(own_yard, kubectl)
    address = status(kubectl, "echo")["podIP"]
    for server_too in (False, True):
        keeper = keeper_of(own_yard)
        if server_too:
            own_yard.kill()
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: not is_running(keeper), about="the keeper is gone")
        if server_too:
            own_yard.up()
        eventually(lambda: keeper_of(own_yard) not in (None, keeper), about="a new keeper")
        still_talk(kubectl)
        assert status(kubectl, "echo")["podIP"] == address
        name = f"late-{server_too}".lower()
        kubectl("apply", "-f", "-", stdin=pod(name, "import socket\nprint(socket.gethostbyname('one.echo'))"))
        assert logs_of(kubectl, name).strip() == address
    own_yard.down()
    assert own_yard.leftovers() == []


def namespaces_of(yard):
    """Of its keeper and its pods; other tests may run beside this one."""
    own = os.readlink("/proc/self/ns/net")
    return {os.readlink(f"/proc/{pid}/ns/net") for pid in processes_naming(yard.state)} - {own}


def test_down_leaves_no_network(own_yard):
    interfaces = os.listdir("/sys/class/net")
    own_yard.up()
    kubectl = kubectl_for(own_yard)
    kubectl("apply", "-f", "-", stdin=[pod("one", ECHO), pod("two", ECHO)])
    for name in ("one", "two"):
        running(kubectl, name)
    ours = namespaces_of(own_yard)
    assert len(ours) >= 3, "an island and two pods"
    assert os.listdir("/sys/class/net") == interfaces, "the host has no interface of ours"
    own_yard.down()
    assert own_yard.leftovers() == []
    eventually(lambda: not ours & network_namespaces(), about="no namespace of ours is left")


def test_the_shared_network_is_the_hosts_with_names_in_hosts_files(own_yard):
    own_yard.configure("network: shared\n")
    own_yard.up()
    kubectl = kubectl_for(own_yard)
    assert keeper_of(own_yard) is None
    kubectl("apply", "-f", "-", stdin=[
        service("echo", {"app": "echo"}),
        pod("echo", """
            import socket, os
            server = socket.create_server((socket.gethostbyname("one.echo"), 0))
            print(server.getsockname()[1], flush=True)
            server.accept()
            """, labels={"app": "echo"}, hostname="one", subdomain="echo")])
    port = eventually(lambda: kubectl("logs", "echo").out.strip())
    kubectl("apply", "-f", "-", stdin=pod("ask", f"""
        import socket
        connection = socket.create_connection(("one.echo.default.svc.cluster.local", {port}), 5)
        print(connection.getpeername()[0])
        """))
    address = logs_of(kubectl, "ask").strip()
    assert address.startswith("127.") and address == status(kubectl, "echo")["podIP"]
    condition = [one for one in kubectl.json("get", "nodes")["items"][0]["status"]["conditions"]
                 if one["type"] == "NetworkDegraded"]
    assert condition and "share the host's network" in condition[0]["message"]
    own_yard.down()
    assert own_yard.leftovers() == []


def test_where_the_kernel_refuses_pods_share_the_hosts_network_and_it_is_said(own_yard):
    if own_yard.user:
        pytest.skip("it is an ordinary user of its own making already")
    script = """echo 0 > /proc/sys/user/max_net_namespaces
                "$0" up --state "$1" && "$0" info --state "$1"; "$0" down --state "$1" """
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script, BINARY, own_yard.state],
                          capture_output=True, text=True, timeout=60, check=True)
    assert "allows no island (cannot make a network namespace" in done.stdout, done.stdout + done.stderr
    assert own_yard.leftovers() == []
