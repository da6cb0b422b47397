"""run, logs, why and wait: a job from its file to its result, on one command line."""
import os
import re
import signal
import subprocess

import pytest
import yaml

from harness import BINARY, PATIENCE_S, eventually

OK, ERROR, USAGE, FAILED, NOT_FOUND, INTERRUPTED = 0, 1, 2, 3, 5, 130


def job(name, script, container=None, **spec):
    one = {"name": "main", "image": "busybox", "command": ["sh", "-c", script], **(container or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [one]}}, **spec}}


def text(*objects):
    return yaml.safe_dump_all(objects)


@pytest.fixture
def command(yard):
    if not yard.is_ours:
        pytest.skip("needs a process of ours")
    return yard.command


def test_a_job_that_succeeds(command, namespace):
    body = text({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"word": "hello"}},
                job("two", "echo rank $JOB_COMPLETION_INDEX says $WORD", completions=2, parallelism=2,
                    completionMode="Indexed",
                    container={"env": [{"name": "WORD", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "word"}}}]}))
    run = command("run", "-", "-n", namespace, stdin=body, expect=OK)
    assert sorted(run.out.splitlines()) == ["[0] rank 0 says hello", "[1] rank 1 says hello"], "only logs go to stdout"
    assert "job.batch/two created" in run.err and "configmap/words created" in run.err
    assert re.search(r"job.batch/two succeeded after \d+s", run.err)
    again = command("run", "-", "-n", namespace, stdin=body, expect=OK)
    assert "job.batch/two succeeded in an earlier run and is replaced" in again.err
    assert len(again.out.splitlines()) == 2


def test_a_job_that_fails_says_why(command, namespace):
    run = command("run", "-", "-n", namespace, stdin=text(job("bad", "echo oh; exit 7")), expect=FAILED)
    assert "oh" in run.out and "exit code 7" in run.err and "backoffLimit is 0" in run.err
    why = command("why", "job/bad", "-n", namespace)
    assert "exit code 7" in why.out and "| oh" in why.out and "mend: trainyard logs" in why.out


def test_a_plain_pod_and_a_generated_name(command, namespace):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"},
           "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "args": ["echo", "hi"]}]}}
    assert command("run", "-", "-n", namespace, stdin=text(pod)).out == "[one] hi\n"
    generated = job("x", "echo sweep")
    generated["metadata"] = {"generateName": "sweep-"}
    run = command("run", "-", "-n", namespace, "--rm", stdin=text(generated, generated))
    assert len(set(re.findall(r"job.batch/(sweep-\w+) created", run.err))) == 2
    assert len(re.findall(r"job.batch/sweep-\w+ deleted", run.err)) == 2
    assert run.out.count("] sweep\n") == 2


def test_detach_then_logs_and_wait(command, namespace, tmp_path):
    gate = tmp_path / "gate"
    gate.mkdir()
    slow = job("slow", "echo before; while [ ! -e /gate/open ]; do sleep 0.05; done; echo after")
    slow["spec"]["template"]["spec"]["volumes"] = [{"name": "gate", "hostPath": {"path": str(gate)}}]
    slow["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "gate", "mountPath": "/gate"}]
    run = command("run", "-", "-n", namespace, "--detach", stdin=text(slow))
    assert "trainyard logs -f jobs/slow -n " + namespace in run.err
    eventually(lambda: command("logs", "job/slow", "-n", namespace, expect=None).out == "before\n")
    late = command("wait", "job/slow", "--for=condition=Complete", "--timeout=0.1s", "-n", namespace, expect=ERROR)
    assert "timed out waiting for the condition on job.batch/slow" in late.err
    (gate / "open").touch()
    assert command("logs", "-f", "job/slow", "-n", namespace).out.replace("[", "").split()[-1] == "after"
    assert "condition met" in command("wait", "job/slow", "--for=condition=Complete", "-n", namespace).out
    assert command("logs", "job/slow", "--tail", "1", "-n", namespace).out == "after\n"
    command("delete", "job", "slow", "-n", namespace)
    command("wait", "job/slow", "--for=delete", "-n", namespace)


@pytest.mark.parametrize("flags,is_left", [([], True), (["--rm"], False)])
def test_an_interrupt_leaves_the_job_as_asked(yard, command, namespace, flags, is_left):
    environment = {**os.environ, "HOME": yard.folder, "TRAINYARD_STATE": yard.state, "NO_COLOR": "1"}
    process = subprocess.Popen([BINARY, "run", "-", "-n", namespace, *flags], stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    process.stdin.write(text(job("long", "echo started; sleep 600")))
    process.stdin.close()
    assert process.stdout.readline().endswith("started\n")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == INTERRUPTED
    said = process.stderr.read()
    assert ("is left running" in said) == is_left and ("deleted" in said) != is_left
    command("get", "job", "long", "-n", namespace, expect=OK if is_left else NOT_FOUND)
    if is_left:
        command("delete", "job", "long", "-n", namespace)


def test_run_starts_a_control_plane(own_yard):
    run = own_yard.command("run", "-", stdin=text(job("first", "echo up")), expect=OK)
    assert "no control plane was up: started one at https://127.0.0.1:" in run.err
    assert run.out.endswith("] up\n")
    own_yard.command("down")


def test_bad_input(command, namespace):
    run = command("run", "-", "-n", namespace, stdin="kind: Job\n  apiVersion: x\n", expect=ERROR)
    assert "line 2" in run.err
    assert "not found" in command("logs", "pod/ghost", "-n", namespace, expect=NOT_FOUND).err
    assert "nothing is called" in command("why", "ghost", "-n", namespace, expect=NOT_FOUND).err
    command("wait", "job/x", "--for=whenever", "-n", namespace, expect=USAGE)
    nothing = command("run", "-", "-n", namespace, stdin=text({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "only"}}))
    assert "nothing to follow" in nothing.err


@pytest.mark.parametrize("resources,words,mend", [
    ({"limits": {"cpu": "512"}}, "cpu: 512 asked, the node has ", "trainyard restart --capacity cpu=512"),
    ({"limits": {"nvidia.com/gpu": "1"}}, "nvidia.com/gpu: 1 asked, ", "trainyard restart --fake-gpus 1"),
])
def test_why_a_job_waits(command, namespace, resources, words, mend):
    command("run", "-", "-n", namespace, "--detach", stdin=text(job("big", "true", container={"resources": resources})))
    said = eventually(lambda: (lambda out: out if "fits no node" in out else None)(
        command("why", "job/big", "-n", namespace).out))
    assert words in said and f"mend: {mend}" in said
    command("delete", "job", "big", "-n", namespace)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with a module of its own."""
    folder = tmp_path_factory.mktemp("venv") / "env"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next((folder / "lib").glob("python3*/site-packages"))
    (packages / "only_here.py").write_text("WORD = 'from the environment'\n")
    return folder


def test_an_active_environment_and_the_current_folder_are_offered(yard, command, namespace, environment, tmp_path):
    (tmp_path / "train.py").write_text("import only_here, os, sys\nprint(only_here.WORD, os.getcwd(), sys.prefix)\n"
                                       "open('result.txt', 'w').write('done')\n")
    body = text(job("local", "python train.py", container={"image": "me/my-ml-job:v1"}))
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        run = command("run", "-", "-n", namespace, stdin=body, env={"VIRTUAL_ENV": str(environment)})
        assert f"from the environment {tmp_path} {environment}" in run.out
        assert f"the active Python environment {environment}" in run.err and f"the current folder {tmp_path}" in run.err
        assert (tmp_path / "result.txt").read_text() == "done"
        without = command("run", "-", "-n", namespace, "--no-local", stdin=body, expect=FAILED,
                          env={"VIRTUAL_ENV": str(environment)})
        assert "the current folder" not in without.err
    finally:
        os.chdir(here)


def test_an_offer_is_the_owners_to_make_and_holds_in_one_namespace(yard, command, namespace, tmp_path):
    (tmp_path / "secret").write_text("mine")
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert "mine" in command("run", "-", "-n", namespace, stdin=text(job("own", "cat secret"))).out
    finally:
        os.chdir(here)
    stored = yaml.safe_load(command("get", "job", "own", "-n", namespace, "-o", "yaml").out)
    annotation = stored["spec"]["template"]["metadata"]["annotations"]["trainyard.dev/local"]
    other = yard.new_namespace()
    for value in (annotation, "../../etc", "0123456789abcdef"):
        thief = job("thief", f"cat {tmp_path}/secret")
        thief["spec"]["template"]["metadata"] = {"annotations": {"trainyard.dev/local": value}}
        run = command("run", "-", "-n", other, "--no-local", stdin=text(thief), expect=FAILED)
        assert "mine" not in run.out


def test_logs_outlive_their_job(command, namespace):
    command("run", "-", "-n", namespace, "--rm", stdin=text(job("brief", "echo kept")))
    command("get", "job", "brief", "-n", namespace, expect=NOT_FOUND)
    kept = command("logs", "job/brief", "-n", namespace)
    assert kept.out == "kept\n" and "from the archive: 1 log of pods that are gone" in kept.err


def test_top_shows_who_is_busy(yard, command, namespace):
    busy = job("busy", "while :; do :; done")
    command("run", "-", "-n", namespace, "--detach", stdin=text(busy))
    def busy_row():
        rows = command("top", "-n", namespace).rows
        return rows[1] if len(rows) > 1 and int(rows[1][1].split("m")[0]) > 50 else None
    row = eventually(busy_row, about="the busy pod is measured")
    assert row[0].startswith("busy-") and row[2].endswith("Mi")
    assert command("top", "nodes").rows[0] == ["NAME", "CPU", "CPU%", "MEMORY", "MEMORY%"]
    command("delete", "job", "busy", "-n", namespace)
    eventually(lambda: "No pods run" in command("top", "pods", "-n", namespace).err, about="the pod is gone")
