"""The Python SDK of Kubeflow, unmodified from PyPI, as its users call it. Only its package knows what it sends."""
import json
import os
import subprocess
import textwrap

import pytest

from harness import ROOT

FOLDER = os.path.join(ROOT, "build/tools/kubeflow-sdk")
PYTHON = os.path.join(FOLDER, "bin/python")

PRELUDE = """
import json, sys
from kubeflow.training import TrainingClient, KubeflowOrgV1PyTorchJob, KubeflowOrgV1PyTorchJobSpec
from kubeflow.training import KubeflowOrgV1ReplicaSpec, KubeflowOrgV1RunPolicy
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec
client = TrainingClient(config_file=sys.argv[1], namespace=sys.argv[2])
WAIT = {"wait_timeout": 60, "polling_interval": 1}

def replica(script, count=1, restart="Never"):
    container = V1Container(name="pytorch", image="busybox", command=["sh", "-c", script])
    return KubeflowOrgV1ReplicaSpec(replicas=count, restart_policy=restart,
                                    template=V1PodTemplateSpec(spec=V1PodSpec(
                                        containers=[container], termination_grace_period_seconds=1)))

def pytorch_job(name, **replicas):
    return KubeflowOrgV1PyTorchJob(
        api_version="kubeflow.org/v1", kind="PyTorchJob", metadata=V1ObjectMeta(name=name),
        spec=KubeflowOrgV1PyTorchJobSpec(run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"),
                                         pytorch_replica_specs=replicas))
"""


def run_quietly(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="session")
def sdk_python():
    """`tools/setup test` makes it; here it is made where that has not run."""
    works = run_quietly(PYTHON, "-c", "import kubeflow.training") if os.path.exists(PYTHON) else None
    if works is None or works.returncode != 0:
        made = run_quietly(os.path.join(ROOT, "tools/setup"), "sdk")
        if not os.path.exists(PYTHON):
            pytest.skip(f"LOUD: kubeflow-training could not be had from PyPI, the SDK is untried: {made.stderr[-300:]}")
    return PYTHON


@pytest.fixture
def sdk(sdk_python, yard, namespace, tmp_path):
    """Runs a program with a client at hand; what it prints last is JSON and comes back."""
    def run(program):
        file = tmp_path / "program.py"  # a file: the SDK reads the source of functions
        file.write_text(PRELUDE + textwrap.dedent(program), encoding="utf-8")
        done = subprocess.run([sdk_python, str(file), yard.kubeconfig, namespace], capture_output=True, text=True,
                              check=False, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])
    return run


def test_a_job_from_its_creation_to_its_deletion(sdk):
    seen = sdk("""
        client.create_job(pytorch_job("life", Worker=replica("echo I am $HOSTNAME", 3)))
        job = client.wait_for_job_conditions("life", **WAIT)
        logs, _ = client.get_job_logs("life")
        everyone, events = client.get_job_logs("life", is_master=False, verbose=True)
        followed, _ = client.get_job_logs("life", follow=True)
        pods = client.get_job_pods("life")
        seen = {
            "created": client.is_job_created("life"),
            "kind": job.kind,
            "succeeded": client.is_job_succeeded("life"),
            "failed": client.is_job_failed("life"),
            "conditions": [c.type for c in client.get_job_conditions("life")],
            "uid": client.get_job("life").metadata.uid == job.metadata.uid,
            "completed": job.status.completion_time is not None,
            "logs": logs, "everyone": everyone, "followed": followed,
            "events": sorted(events),
            "pods": sorted(pod.metadata.name for pod in pods),
            "second worker": client.get_job_pod_names("life", replica_type="worker", replica_index=1),
            "listed": [each.metadata.name for each in client.list_jobs()],
        }
        client.delete_job("life")
        try:
            client.get_job("life")
            seen["after"] = "there"
        except RuntimeError as problem:
            seen["after"] = "gone" if "Failed to get PyTorchJob" in str(problem) else str(problem)
        print(json.dumps(seen))
    """)
    assert seen["created"] and seen["succeeded"] and seen["uid"] and seen["completed"] and not seen["failed"], seen
    assert seen["kind"] == "PyTorchJob"
    assert seen["conditions"] == ["Created", "Running", "Succeeded"]
    assert seen["logs"] == {"life-worker-0": "I am life-worker-0\n"}, "the first worker counts as master"
    assert seen["followed"] == {"life-worker-0": "I am life-worker-0"}
    workers = [f"life-worker-{index}" for index in range(3)]
    assert seen["everyone"] == {worker: f"I am {worker}\n" for worker in workers}
    assert seen["pods"] == workers
    assert seen["second worker"] == ["life-worker-1"]
    assert "pytorchjob/life" in seen["events"] and "pod/life-worker-0" in seen["events"], seen["events"]
    assert seen["listed"] == ["life"] and seen["after"] == "gone"


def test_a_job_made_of_a_python_function(sdk):
    seen = sdk("""
        def train(parameters):
            import os
            print("rate", parameters["rate"], "rank", os.environ.get("RANK", "none"), flush=True)

        client.create_job(name="function", train_func=train, parameters={"rate": 0.5}, num_workers=1,
                          env_vars={"MINE": "1"}, resources_per_worker={"cpu": "100m", "memory": "64Mi"})
        client.wait_for_job_conditions("function", **WAIT)
        logs, _ = client.get_job_logs("function", is_master=False)
        job = client.get_job("function")
        print(json.dumps({"logs": logs, "replicas": sorted(job.spec.pytorch_replica_specs)}))
    """)
    assert [text.strip().splitlines()[-1].startswith("rate 0.5 rank") for text in seen["logs"].values()] == [True], seen


def test_a_job_that_fails_and_one_that_is_changed(sdk):
    seen = sdk("""
        client.create_job(pytorch_job("bad", Master=replica("exit 3")))
        try:
            client.wait_for_job_conditions("bad", expected_conditions={"Succeeded"}, **WAIT)
            said = "no problem"
        except RuntimeError as problem:
            said = str(problem)
        client.create_job(pytorch_job("held", Worker=replica("sleep 300")))
        client.wait_for_job_conditions("held", expected_conditions={"Running"}, **WAIT)
        client.update_job({"spec": {"runPolicy": {"activeDeadlineSeconds": 1}}}, "held")
        client.wait_for_job_conditions("held", expected_conditions={"Failed"}, **WAIT)
        print(json.dumps({"said": said, "failed": client.is_job_failed("bad"), "running": client.is_job_running("held")}))
    """)
    assert seen["failed"] and "bad" in seen["said"] and not seen["running"], seen
