"""The first lessons about Jobs that train: a deadline and retries, bounds, results on the host and in an object store,
a small sweep. One image, `me/ml-job`, whose entrypoint is a training script; the machine has room for two at a time."""
import os
import re
import subprocess
import textwrap

import pytest
import yaml

from harness import ROOT, Kubectl, Yard, eventually, newest_kubectl

S3_PYTHON = os.path.join(ROOT, "build", "tools", "s3-python")
S3_PACKAGES = ("moto[server]>=5,<6", "smart_open[s3]>=7,<8")

# What the image holds. Options are the lesson's: where the result goes, when to go on, when to fail.
TRAIN = textwrap.dedent("""
    import argparse, os, sys, time
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--rate", type=float, default=0.1)
    options.add_argument("--result")
    options.add_argument("--wait-for")
    options.add_argument("--fail-times", type=int, default=0)
    options.add_argument("--count-in", default="/tmp/tries")
    options.add_argument("--hoard", type=int, default=0)
    o = options.parse_args()
    with open(o.count_in, "a+") as tries:
        tries.write("x")
        tries.seek(0)
        run = len(tries.read())
    print("try", run)
    if run <= o.fail_times:
        sys.exit("no luck")
    hoard = bytearray(o.hoard << 20)
    weight = 0.0
    for epoch in range(o.epochs):
        for step in range(3):
            sys.stdout.write(f"\\repoch {epoch} {step + 1}/3")
            sys.stdout.flush()
            weight += o.rate * (1 - weight)
        print(f"\\nepoch {epoch} loss {(1 - weight) ** 2:.4f}")
        while o.wait_for and not os.path.exists(o.wait_for):
            time.sleep(0.02)  # of the trained program, not of the test
    if o.result and o.result.startswith("s3://"):
        import boto3, smart_open
        client = boto3.client("s3", endpoint_url=os.environ["S3_ENDPOINT"])
        with smart_open.open(o.result, "w", transport_params={"client": client}) as stream:
            stream.write(f"{weight:.4f}")
    elif o.result:
        with open(o.result, "w") as stream:
            stream.write(f"{weight:.4f}")
""")


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    """A server whose image map has the lesson's images, with room for two CPUs."""
    if os.environ.get("YARD_E2E_KUBECONFIG"):
        pytest.skip("needs an image map of ours")
    yard = Yard(tmp_path_factory.mktemp("tutorial"))
    os.makedirs(yard.state, mode=0o700, exist_ok=True)
    entrypoint = ["python3", "-u", "-c", TRAIN]
    config = {"images": {"map": {"me/ml-job:*": {"entrypoint": entrypoint},
                                 "me/ml-job-s3:*": {"entrypoint": entrypoint, "python": S3_PYTHON},
                                 "me/s3:*": {"python": S3_PYTHON}}}}
    path = os.path.join(yard.state, "config.yaml")
    with open(path, "w", encoding="utf-8") as stream:
        yaml.safe_dump(config, stream)
    if yard.user:
        for owned in (yard.state, path):
            os.chown(owned, yard.user.pw_uid, yard.user.pw_gid)
    yard.up("--capacity", "cpu=2,memory=8Gi")
    yield yard
    yard.down()
    leftovers = yard.leftovers()
    assert leftovers == [], f"`trainyard down` left {leftovers}"


@pytest.fixture
def kubectl(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


@pytest.fixture
def storage(tmp_path):
    """A folder of the host that any user of a container may write to."""
    tmp_path.chmod(0o777)
    return tmp_path


def job(name, *args, storage=None, container=None, pod=None, **spec):
    """The lesson's Job; `storage` is mounted at /model_storage."""
    one = {"name": "ml", "image": "me/ml-job:1", "args": list(args), **(container or {})}
    template = {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 3, "containers": [one], **(pod or {})}
    if storage:
        template["volumes"] = [{"name": "model", "hostPath": {"path": str(storage)}}]
        one["volumeMounts"] = [{"name": "model", "mountPath": "/model_storage"}]
    metadata = {"generateName": name} if name.endswith("-") else {"name": name}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
            "spec": {"backoffLimit": 2, "activeDeadlineSeconds": 100, **spec, "template": {"spec": template}}}


def pods_of(kubectl, name):
    return kubectl.json("get", "pods", "-l", f"job-name={name}")["items"]


def the_pod(kubectl, name, phase="Running"):
    return eventually(lambda: next((p for p in pods_of(kubectl, name) if p["status"]["phase"] == phase), None),
                      about=f"a pod of {name} {phase}")


def conditions(kubectl, name):
    return [(c["type"], c.get("reason")) for c in kubectl.json("get", "job", name)["status"].get("conditions", [])]


def job_row(kubectl, name):
    """NAME, STATUS and COMPLETIONS, by the header; old kubectls print what the server sends."""
    header, cells = kubectl("get", "job", name).rows[:2]
    assert header[:3] == ["NAME", "STATUS", "COMPLETIONS"] and header[-2:] == ["DURATION", "AGE"], header
    return cells[:3]


def test_a_job_trains_and_its_progress_is_seen(kubectl, storage):
    kubectl("apply", "-f", "-", stdin=job("ml-job", "--wait-for=/model_storage/go", storage=storage))
    pod = the_pod(kubectl, "ml-job")["metadata"]["name"]
    assert re.fullmatch(r"ml-job-[a-z0-9]{5}", pod)
    eventually(lambda: job_row(kubectl, "ml-job") == ["ml-job", "Running", "0/1"])
    assert kubectl("get", "pods").rows[1][:4] == [pod, "1/1", "Running", "0"]
    follower = subprocess.Popen([kubectl.path, "-n", kubectl.namespace, "logs", "-f", pod], env=kubectl.environment(),
                                stdout=subprocess.PIPE)
    try:
        # Bytes as they were written, carriage returns included, while the program still runs.
        assert follower.stdout.readline() == b"try 1\n"
        assert follower.stdout.readline() == b"\repoch 0 1/3\repoch 0 2/3\repoch 0 3/3\n"
        assert follower.stdout.readline() == b"epoch 0 loss 0.5314\n"
        assert job_row(kubectl, "ml-job") == ["ml-job", "Running", "0/1"]
        (storage / "go").touch()
        assert follower.stdout.read() == b"\repoch 1 1/3\repoch 1 2/3\repoch 1 3/3\nepoch 1 loss 0.2824\n"
        assert follower.wait(10) == 0
    finally:
        follower.kill()
    kubectl("wait", "--for=condition=complete", "job/ml-job", "--timeout=60s")
    assert job_row(kubectl, "ml-job") == ["ml-job", "Complete", "1/1"]
    assert conditions(kubectl, "ml-job") == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    status = kubectl.json("get", "job", "ml-job")["status"]
    assert (status["succeeded"], status["ready"], status["terminating"]) == (1, 0, 0)


def test_a_deadline_ends_a_job_that_takes_too_long(kubectl, storage):
    script = "trap 'echo told > /model_storage/end; exit 0' TERM; sleep 600 & wait"
    kubectl("apply", "-f", "-", stdin=job("slow", activeDeadlineSeconds=2, storage=storage,
                                          container={"image": "busybox", "command": ["sh", "-c", script]}))
    the_pod(kubectl, "slow")
    kubectl("wait", "--for=condition=failed", "job/slow", "--timeout=60s")
    assert conditions(kubectl, "slow") == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]
    status = kubectl.json("get", "job", "slow")["status"]
    assert status["conditions"][1]["message"] == "Job was active longer than specified deadline"
    assert (status["failed"], status.get("active", 0)) == (1, 0)
    assert job_row(kubectl, "slow") == ["slow", "Failed", "0/1"]
    eventually(lambda: pods_of(kubectl, "slow") == [], about="the pod is gone within its grace")
    assert (storage / "end").read_text() == "told\n"
    assert "DeadlineExceeded" in kubectl("describe", "job", "slow").out


def test_retries_in_place_and_then_success_or_an_end(kubectl, storage):
    """One fails once; one fails for good: its container runs once more, waits 10 s, and the Job is over."""
    kubectl("apply", "-f", "-", stdin=[
        job("second-try", "--fail-times=1", "--count-in=/model_storage/second", storage=storage),
        job("hopeless", "--fail-times=99", "--count-in=/model_storage/hopeless", storage=storage),
        job("no-retry", "--fail-times=99", storage=storage, backoffLimit=0, pod={"restartPolicy": "Never"})])
    kubectl("wait", "--for=condition=complete", "job/second-try", "--timeout=60s")
    pod = the_pod(kubectl, "second-try", "Succeeded")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
    assert kubectl("logs", pod["metadata"]["name"], "--previous").out == "try 1\nno luck\n"
    assert kubectl("logs", pod["metadata"]["name"]).out.startswith("try 2\n")
    assert kubectl.json("get", "job", "second-try")["status"].get("failed", 0) == 0
    # Never and no retry: one pod, which stays with its log.
    kubectl("wait", "--for=condition=failed", "job/no-retry", "--timeout=60s")
    assert kubectl("logs", the_pod(kubectl, "no-retry", "Failed")["metadata"]["name"]).out == "try 1\nno luck\n"
    kubectl("wait", "--for=condition=failed", "job/hopeless", "--timeout=60s")
    assert conditions(kubectl, "hopeless") == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert kubectl.json("get", "job", "hopeless")["status"]["failed"] == 1
    assert (storage / "hopeless").read_text() in ("xx", "xxx"), "the last run may begin before the Job's end is decided"
    eventually(lambda: pods_of(kubectl, "hopeless") == [])


def group_values(yard, uid):
    """controller file -> its number, of the first run of the container."""
    yard.note_cgroups()
    found = {}
    for base in yard.cgroups:
        for parent, _, files in os.walk(base):
            if parent.endswith(f"/{uid}.ml.0"):
                for name in ("cpu.weight", "cpu.max", "memory.max", "cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us",
                             "memory.limit_in_bytes"):
                    if name in files:
                        with open(os.path.join(parent, name), encoding="utf-8") as stream:
                            found[name] = stream.read().strip()
    return found


BOUNDS = {"resources": {"requests": {"cpu": "100m", "memory": "500Mi"}, "limits": {"cpu": "1000m", "memory": "1Gi"}}}


def test_bounds_of_cpu_and_memory(yard, kubectl, storage):
    kubectl("apply", "-f", "-", stdin=job("bounded", "--wait-for=/model_storage/go", storage=storage, container=BOUNDS))
    pod = the_pod(kubectl, "bounded")
    assert pod["status"]["qosClass"] == "Burstable"
    described = kubectl("describe", "pod", pod["metadata"]["name"]).out
    assert re.search(r"Limits:\n +cpu: +1\n +memory: +1Gi\n +Requests:\n +cpu: +100m\n +memory: +500Mi\n", described)
    assert re.search(r"QoS Class: +Burstable\n", described)
    found = group_values(yard, pod["metadata"]["uid"])
    if "memory.max" in found:
        assert found == {"cpu.weight": "4", "cpu.max": "100000 100000", "memory.max": "1073741824"}
    elif found:
        assert found == {"cpu.shares": "102", "cpu.cfs_quota_us": "100000", "cpu.cfs_period_us": "100000",
                         "memory.limit_in_bytes": "1073741824"}
    else:
        node = kubectl.json("get", "nodes")["items"][0]["status"]
        assert any("not enforced" in c.get("message", "") for c in node["conditions"]), "the node says what it lacks"
    (storage / "go").touch()
    kubectl("wait", "--for=condition=complete", "job/bounded", "--timeout=60s")


def test_more_memory_than_allowed(kubectl, storage):
    """OOMKilled, 137, restarted in place; with no retries left the Job fails and its pod goes."""
    small = {"resources": {"requests": {"memory": "50Mi"}, "limits": {"memory": "100Mi"}}}
    kubectl("apply", "-f", "-", stdin=job("hungry", "--hoard=400", storage=storage, container=small))

    def last_end():
        pods = pods_of(kubectl, "hungry")
        found = pods[0]["status"].get("containerStatuses", [{}])[0] if pods else {}
        return (found.get("lastState", {}).get("terminated") or found.get("state", {}).get("terminated")), found
    end, found = eventually(lambda: (lambda r: r if r[0] and r[1]["restartCount"] >= 1 else None)(last_end()))
    assert (end["reason"], end["exitCode"]) == ("OOMKilled", 137)
    assert found["restartCount"] == 1, "restarted at once, then after a back-off"
    kubectl("delete", "job", "hungry")
    kubectl("apply", "-f", "-", stdin=job("hungry-once", "--hoard=400", backoffLimit=0, container=small))
    kubectl("wait", "--for=condition=failed", "job/hungry-once", "--timeout=60s")
    assert conditions(kubectl, "hungry-once")[1] == ("Failed", "BackoffLimitExceeded")
    assert kubectl.json("get", "job", "hungry-once")["status"]["failed"] == 1


def test_a_result_on_the_host_outlives_the_jobs(yard, kubectl, storage):
    uid = 0 if yard.user else 1234
    kubectl("apply", "-f", "-", stdin=[
        job("writes", "--result=/model_storage/model.txt", storage=storage, pod={"securityContext": {"runAsUser": uid}}),
        job("runs", "--wait-for=/model_storage/never", storage=storage)])
    kubectl("wait", "--for=condition=complete", "job/writes", "--timeout=60s")
    the_pod(kubectl, "runs")
    gone = kubectl("delete", "job", "--all").out.splitlines()
    assert sorted(line.split('"')[1] for line in gone) == ["runs", "writes"]
    assert kubectl.json("get", "jobs")["items"] == []
    eventually(lambda: kubectl.json("get", "pods")["items"] == [], about="their pods are gone too")
    assert (storage / "model.txt").read_text() == "0.4686"
    assert (storage / "model.txt").stat().st_uid == (yard.user.pw_uid if yard.user else uid)


@pytest.fixture(scope="session")
def s3_python():
    """A Python environment with an S3 server and a client, from PyPI, kept from one run of the suite to the next."""
    done = os.path.join(S3_PYTHON, "complete")
    if not os.path.exists(done):
        made = subprocess.run(["/usr/bin/python3", "-m", "venv", S3_PYTHON], capture_output=True, text=True)
        if made.returncode == 0:
            made = subprocess.run([os.path.join(S3_PYTHON, "bin", "pip"), "install", "--quiet", *S3_PACKAGES],
                                  capture_output=True, text=True, timeout=300)
        if made.returncode != 0:
            pytest.skip(f"NOT TESTED: a result in an object store. {' '.join(S3_PACKAGES)} cannot be had from PyPI: "
                        + (made.stderr or made.stdout).strip()[-400:])
        with open(done, "w", encoding="utf-8"):
            pass
    return S3_PYTHON


# botocore asks these before it sends anything; any value will do for a server without accounts.
S3_ENVIRONMENT = [{"name": "S3_ENDPOINT", "value": "http://s3:5000"}, {"name": "AWS_ACCESS_KEY_ID", "value": "any"},
                  {"name": "AWS_SECRET_ACCESS_KEY", "value": "any"}, {"name": "AWS_DEFAULT_REGION", "value": "us-east-1"},
                  {"name": "AWS_EC2_METADATA_DISABLED", "value": "true"}]
READ_BACK = ("import boto3, os; s3 = boto3.client('s3', endpoint_url=os.environ['S3_ENDPOINT']); "
             "print(s3.get_object(Bucket='models', Key='ml/weight.txt')['Body'].read().decode())")
MAKE_BUCKET = "import boto3, os; boto3.client('s3', endpoint_url=os.environ['S3_ENDPOINT']).create_bucket(Bucket='models')"


def test_a_result_in_an_object_store(s3_python, kubectl):
    """The server is a pod behind a Service; a Job writes through smart_open, another program reads it back."""
    server = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "s3", "labels": {"app": "s3"}}, "spec": {
        "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "s3", "image": "me/s3:1", "command": ["python", "-m", "moto.server", "-H", "0.0.0.0", "-p", "5000"],
            "readinessProbe": {"tcpSocket": {"port": 5000}, "periodSeconds": 1}}]}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s3"},
               "spec": {"selector": {"app": "s3"}, "ports": [{"port": 5000}]}}
    kubectl("apply", "-f", "-", stdin=[service, server])
    kubectl("wait", "--for=condition=ready", "pod/s3", "--timeout=60s")
    client = {"image": "me/s3:1", "env": S3_ENVIRONMENT}
    kubectl("apply", "-f", "-", stdin=job("bucket", container={**client, "command": ["python", "-c", MAKE_BUCKET]}))
    kubectl("wait", "--for=condition=complete", "job/bucket", "--timeout=60s")
    kubectl("apply", "-f", "-", stdin=job("upload", "--result=s3://models/ml/weight.txt",
                                          container={**client, "image": "me/ml-job-s3:1"}))
    kubectl("wait", "--for=condition=complete", "job/upload", "--timeout=60s")
    kubectl("apply", "-f", "-", stdin=job("read-back", container={**client, "command": ["python", "-c", READ_BACK]}))
    kubectl("wait", "--for=condition=complete", "job/read-back", "--timeout=60s")
    assert kubectl("logs", "job/read-back").out == "0.4686\n"
    assert '"PUT /models/ml/weight.txt?' in kubectl("logs", "s3").out, "it came in parts, as smart_open sends it"


def test_six_jobs_where_two_have_room(kubectl, storage):
    """A sweep by generateName: two run, four wait and say why, all end without being asked again."""
    rates = ["0.05", "0.1", "0.2", "0.3", "0.4", "0.5"]
    one_cpu = {"resources": {"requests": {"cpu": "1"}}}
    made = kubectl("create", "-f", "-", stdin=[
        job("ml-job-", f"--rate={rate}", "--epochs=1", "--wait-for=/model_storage/go", f"--result=/model_storage/{rate}",
            storage=storage, container=one_cpu) for rate in rates]).out
    names = re.findall(r"job\.batch/(ml-job-[a-z0-9]{5}) created", made)
    assert len(set(names)) == 6
    eventually(lambda: sorted(r[2] for r in kubectl("get", "pods").rows[1:]) == ["Pending"] * 4 + ["Running"] * 2)
    waiting = [r[0] for r in kubectl("get", "pods").rows[1:] if r[2] == "Pending"]
    for name in waiting:
        assert "FailedScheduling" in kubectl("describe", "pod", name).out
        reason = next(c for c in kubectl.json("get", "pod", name)["status"]["conditions"] if c["type"] == "PodScheduled")
        assert reason["reason"] == "Unschedulable"
        assert reason["message"].startswith("0/1 nodes are available: 1 Insufficient cpu")
    (storage / "go").touch()
    kubectl("wait", "--for=condition=complete", "job", "--all", "--timeout=60s")
    assert sorted(path.name for path in storage.iterdir()) == [*rates, "go"]
    assert float((storage / "0.5").read_text()) == 0.875
    kubectl("delete", "job", "--all")
    assert kubectl.json("get", "jobs")["items"] == []
    eventually(lambda: kubectl.json("get", "pods")["items"] == [])


NAME_RULE = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
             "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
             r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")


def test_mistakes_of_a_sweep_script(yard, kubectl):
    wrong = job("ml-job-")
    wrong["metadata"] = {"name": "ml-job-"}
    refused = kubectl("create", "-f", "-", stdin=wrong, expect=1).err
    assert f'The Job "ml-job-" is invalid: ' in refused and f'metadata.name: Invalid value: "ml-job-": {NAME_RULE}' in refused
    path = f"/apis/batch/v1/namespaces/{kubectl.namespace}/jobs"
    assert yard.request("POST", path, wrong).status == 422
    unquoted = job("numbers", "--rate", 0.1)
    answer = yard.request("POST", path, unquoted)
    assert answer.status == 400
    assert answer.json["message"] == ('Job in version "v1" cannot be handled as a Job: json: cannot unmarshal number into Go '
                                      "struct field Container.spec.template.spec.containers.args of type string")
    assert "cannot unmarshal number into Go struct field" in kubectl("create", "-f", "-", "--validate=false", stdin=unquoted,
                                                                     expect=1).err
    assert "cannot use generate name with apply" in kubectl("apply", "-f", "-", stdin=job("ml-job-"), expect=1).err
