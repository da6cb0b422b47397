"""Network namespaces that serve one pod after another (node/network/namespace_reuse.h): nothing of a pod reaches the next."""
import json
import re
import shutil

import pytest

from harness import eventually

READY_AT_MOST = 32  # kMostReady: whoever starts so many has had all that were given back before
PODS = "/api/v1/namespaces/default/pods"
# What a pod sees of its network, before anything else happens in it.
LOOK = """
for what in link addr neigh route; do echo "== $what"; ip -4 -o $what show $(test $what = link && echo dev eth0); done
echo == sysctl; (cd /proc/sys/net/ipv4; cat ip_unprivileged_port_start ping_group_range tcp_fin_timeout ip_forward)
echo == sockets; cd /proc/net; cat tcp tcp6 udp udp6 raw packet unix
"""
TALK = """
import socket
own = socket.gethostbyname(socket.gethostname())
listener = socket.create_server((own, 5000))
client = socket.create_connection((own, 5000))
other, _ = listener.accept()
client.close()  # first: it lingers for a minute
other.close()
"""


def create(yard, name, *command, capabilities=()):
    yard.create(PODS, {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [{
        "name": "c", "image": "i", "command": list(command),
        "securityContext": {"capabilities": {"add": list(capabilities)}}}]}})


def seen_by(yard, names):
    """What each saw, once all have ended well."""
    def phases():
        found = {one["metadata"]["name"]: one["status"].get("phase") for one in yard.request("GET", PODS).json["items"]}
        assert "Failed" not in found.values(), found
        return all(found[name] == "Succeeded" for name in names)
    eventually(phases, 60, "all pods succeed")
    out = {}
    for name in names:
        parts = re.split(r"^== (\w+)\n", yard.request("GET", f"{PODS}/{name}/log").text, flags=re.M)
        out[name] = dict(zip(parts[1::2], parts[2::2]))
    return out


def link_of(seen):
    """The number of the other end of its pair: no two pairs of an island ever have the same."""
    return re.search(r"eth0@if(\d+)", seen["link"]).group(1)


def without_address(seen):
    """All but what says who it is."""
    text = json.dumps({name: part for name, part in seen.items() if name not in ("link", "addr")})
    return re.sub(r"10\.244\.\d+\.\d+(?!/16)", "ADDRESS", text)


def test_nothing_of_a_pod_reaches_the_next_in_its_namespace(own_yard):
    if shutil.which("ip") is None:
        pytest.skip("LOUD: iproute2 is not here (`tools/setup test` installs it): nobody looks into namespaces that are used again")
    own_yard.up()
    plain = [f"plain-{number}" for number in range(4)]
    for name in plain:  # the kernel lets none of them
        create(own_yard, name, "sh", "-c", LOOK + "(for name in tcp_fin_timeout ip_forward; do echo 1 > /proc/sys/net/ipv4/$name; done) 2>/dev/null; true")
    create(own_yard, "admin", "sh", "-c", LOOK + "ip addr add 10.244.99.99/16 dev eth0", capabilities=["NET_ADMIN"])
    create(own_yard, "talks", "sh", "-c", LOOK + f"exec python3 -c '{TALK}'")
    first = seen_by(own_yard, [*plain, "admin", "talks"])
    later = [f"later-{number}" for number in range(READY_AT_MOST + 4)]
    for name in later:
        create(own_yard, name, "sh", "-c", LOOK)
    then = seen_by(own_yard, later)

    links = [link_of(seen) for seen in then.values()]
    again = {link_of(first[name]) for name in plain} & set(links)
    assert again, "a namespace that a pod has left as it was serves another"
    assert link_of(first["admin"]) not in links, "what a pod may have changed goes with it"
    assert link_of(first["talks"]) not in links, "a namespace with a connection that lingers goes with its pod"
    every = {**first, **then}
    addresses = [re.search(r"inet (10\.244\S+)/16", seen["addr"]).group(1) for seen in every.values()]
    assert len(set(addresses)) == len(every), "each pod has an address of its own, and no other"
    assert all(seen["addr"].count("inet 10.") == 1 for seen in every.values())
    macs = [re.search(r"link/ether (\S+)", seen["link"]).group(1) for seen in every.values()]
    assert len(set(macs)) == len(every)
    assert len({without_address(seen) for seen in every.values()}) == 1, "a used namespace looks like a new one"
    assert first["plain-0"]["neigh"] == ""
    own_yard.down()
    assert own_yard.leftovers() == []
