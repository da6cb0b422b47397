"""kill -9 under write load, again and again: no acknowledged write is lost, no revision is used twice."""
import os
import random
import signal
import threading

import pytest

from harness import PATIENCE_S, Api, eventually, until_cut_off

ROUNDS = int(os.environ.get("YARD_CRASH_ROUNDS", "24"))
WRITERS = 6
KEYS_EACH = 8
ACKNOWLEDGED_EACH_ROUND = (20, 200)  # the kill falls at random between these
COLLECTION = "/api/v1/namespaces/default/configmaps"


class Writer:
    """Creates, changes and deletes ConfigMaps of its own, and remembers what it was promised.

    `known` is name -> value (None: absent) as acknowledged. `doubtful` is the one write whose answer never
    came: (name, value it would have), which may or may not have happened.
    """

    def __init__(self, number, seed):
        self.names = [f"writer-{number}-{key}" for key in range(KEYS_EACH)]
        self.random = random.Random(f"{seed}/{number}")
        self.known = {name: None for name in self.names}
        self.doubtful = None
        self.serial = 0
        self.revisions = []
        self.problem = None

    def write_until_cut_off(self, api, acknowledged):
        with until_cut_off(self, api):
            while True:
                self.write_once(api)
                acknowledged.release()

    def write_once(self, api):
        name = self.random.choice(self.names)
        self.serial += 1
        value = str(self.serial)
        if self.known[name] is None:
            request = ("POST", COLLECTION, {"metadata": {"name": name}, "data": {"value": value}})
        elif self.random.random() < 0.25:
            request, value = ("DELETE", f"{COLLECTION}/{name}", None), None
        else:
            request = ("PATCH", f"{COLLECTION}/{name}", {"data": {"value": value}})
        self.doubtful = (name, value)
        answer = api.request(*request, content_type="application/merge-patch+json" if request[0] == "PATCH"
                             else "application/json")
        assert answer.status in (200, 201), f"{request}: {answer.status} {answer.text}"
        self.doubtful = None
        self.known[name] = value
        if value is not None:
            self.revisions.append(int(answer.json["metadata"]["resourceVersion"]))

    def compare(self, found):
        """What the restarted server has must be what was promised; a doubtful write may have happened whole."""
        for name in self.names:
            allowed = [self.known[name]]
            if self.doubtful and self.doubtful[0] == name:
                allowed.append(self.doubtful[1])
            assert found.get(name) in allowed, f"{name}: found {found.get(name)}, promised {allowed}"
            self.known[name] = found.get(name)
        self.doubtful = None


def stored(api):
    answer = api.request("GET", COLLECTION)
    assert answer.status == 200, answer.text
    items = {item["metadata"]["name"]: item for item in answer.json["items"] if item["metadata"]["name"].startswith("writer-")}
    for item in items.values():
        assert int(item["metadata"]["resourceVersion"]) <= int(answer.json["metadata"]["resourceVersion"])
    return {name: item["data"]["value"] for name, item in items.items()}, int(answer.json["metadata"]["resourceVersion"])


def test_acknowledged_writes_survive_kill_9(own_yard):
    seed = os.environ.get("YARD_CRASH_SEED") or str(random.SystemRandom().randrange(10**6))
    print(f"seed {seed}: YARD_CRASH_SEED={seed} replays the choices of the writers")
    chance = random.Random(seed)
    writers = [Writer(number, seed) for number in range(WRITERS)]
    newest = 0
    own_yard.up()
    for _ in range(ROUNDS):
        acknowledged = threading.Semaphore(0)
        threads = []
        for writer in writers:
            api = Api(own_yard.kubeconfig, own_yard.folder)
            threads.append(threading.Thread(target=writer.write_until_cut_off, args=(api, acknowledged)))
        for thread in threads:
            thread.start()
        for _ in range(chance.randint(*ACKNOWLEDGED_EACH_ROUND)):
            assert acknowledged.acquire(timeout=PATIENCE_S), [writer.problem for writer in writers]
        own_yard.kill()
        for thread in threads:
            thread.join(20)
        assert [writer.problem for writer in writers if writer.problem] == []

        own_yard.up()
        found, revision = stored(own_yard.api)
        for writer in writers:
            writer.compare(found)
        revisions = [number for writer in writers for number in writer.revisions]
        assert len(revisions) == len(set(revisions)), "a revision was used twice"
        assert revision >= max(revisions), "the store went back in time"
        fresh = own_yard.create(COLLECTION, {"metadata": {"generateName": "after-"}})
        assert int(fresh["metadata"]["resourceVersion"]) > max(newest, *revisions), "a revision did not grow"
        newest = int(fresh["metadata"]["resourceVersion"])
    own_yard.down()
    assert own_yard.leftovers() == []


def test_a_clean_stop_keeps_everything(own_yard):
    own_yard.up()
    made = own_yard.create(COLLECTION, {"metadata": {"name": "kept"}, "data": {"a": "b"}})
    port = own_yard.api.port
    own_yard.down()
    own_yard.up()
    assert own_yard.api.port == port, "the port is kept over restarts"
    again = own_yard.request("GET", COLLECTION + "/kept").json
    assert again == made


def keep_some(yard, count=30):
    """Names of objects whose bytes can be found in the store's file."""
    names = [f"kept-{number}" for number in range(count)]
    for name in names:
        yard.create(COLLECTION, {"metadata": {"name": name}, "data": {"text": f"{name}-" * 500}})
    return names


def kept(yard):
    return sorted(item["metadata"]["name"] for item in yard.request("GET", COLLECTION).json["items"]
                  if item["metadata"]["name"].startswith("kept-"))


@pytest.mark.parametrize("about, damage", [
    ("bytes of an object", lambda store: store.replace(b"kept-17-kept-17-", b"kept-17-kept-71-", 1)),
    ("a page in the middle", lambda store: store[:len(store) // 2 & ~4095] + b"\0" * 4096 + store[(len(store) // 2 & ~4095) + 4096:]),
    ("an end that is missing", lambda store: store[:len(store) * 2 // 3]),
])
def test_a_damaged_store_is_refused_with_a_sentence(own_yard, about, damage):
    own_yard.up()
    names = keep_some(own_yard)
    own_yard.down()
    path = os.path.join(own_yard.state, "store.db")
    with open(path, "rb") as stream:
        whole = stream.read()
    damaged = damage(whole)
    assert damaged != whole
    with open(path, "wb") as stream:
        stream.write(damaged)
    refused = own_yard.command("up", expect=1)
    assert path in refused.err and "damaged" in refused.err, f"{about}: {refused.err}"
    assert len(refused.err.strip().splitlines()) == 1, refused.err
    with open(path, "rb") as stream:
        assert stream.read() == damaged, "it was left as it is"
    with open(path, "wb") as stream:
        stream.write(whole)
    own_yard.up()
    assert kept(own_yard) == sorted(names)
    own_yard.down()


def test_a_torn_write_ahead_log_loses_nothing_that_was_acknowledged(own_yard):
    """Half of a commit that nobody was told of lies behind the last one, as when the power goes in the middle of it."""
    own_yard.up()
    names = keep_some(own_yard)
    own_yard.kill()
    log = os.path.join(own_yard.state, "store.db-wal")
    with open(log, "rb") as stream:
        frames = stream.read()
    assert len(frames) > 4096, "what was written lies in the log"
    with open(log, "ab") as stream:
        stream.write(frames[32:32 + 3 * 4120 + 1000])  # frames of an earlier commit, and a part of one
    own_yard.up()
    assert kept(own_yard) == sorted(names)
    own_yard.down()


def test_two_servers_on_one_folder(own_yard):
    own_yard.up()
    pid = own_yard.pid
    second = own_yard.command("serve", expect=None)
    assert second.code == 1 and second.err.strip(), "the second says why it will not start"
    assert own_yard.pid == pid and own_yard.request("GET", "/readyz").text == "ok"
    own_yard.down()


def test_sigterm_is_a_clean_end(own_yard):
    own_yard.up()
    pid = own_yard.pid
    own_yard.create(COLLECTION, {"metadata": {"name": "kept"}})
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not own_yard.leftovers())
    own_yard.up()
    assert own_yard.request("GET", COLLECTION + "/kept").status == 200
