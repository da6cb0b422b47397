"""MPIJobs with Open MPI of this machine: mpirun reaches the workers' pods by exec, and ranks talk to each other."""
import os
import subprocess

import pytest
import yaml

from harness import ROOT, Kubectl, eventually, newest_kubectl

PROGRAM = ("from mpi4py import MPI; w = MPI.COMM_WORLD; t = w.allreduce(w.rank + 1); "
           "print(f'rank {w.rank} of {w.size} on {MPI.Get_processor_name()}: the sum is {t}', flush=True)")


@pytest.fixture
def kubectl_one(yard, namespace):
    path, minor = newest_kubectl()
    return Kubectl(path, minor, yard, namespace)


@pytest.fixture(autouse=True, scope="module")
def needs_mpi():
    if not os.path.exists("/usr/bin/mpirun"):
        pytest.skip("LOUD: /usr/bin has no mpirun, MPIJob is untried (tools/setup test)")
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True).returncode != 0:
        pytest.skip("LOUD: python3-mpi4py is not installed, MPIJob is untried (tools/setup test)")


def mpi_job(version, name, ranks, workers, slots=1, **spec):
    def template(*command):
        container = {"name": "mpi", "image": "mpioperator/openmpi", **({"command": list(command)} if command else {})}
        return {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}
    mpirun = ["mpirun", "--allow-run-as-root", "-np", str(ranks), "--mca", "btl", "tcp,self", "--oversubscribe",
              "/usr/bin/python3", "-c", PROGRAM]
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": name}, "spec": {
        "slotsPerWorker": slots, "runPolicy": {"cleanPodPolicy": "Running"}, **spec,
        "mpiReplicaSpecs": {"Launcher": {"replicas": 1, "restartPolicy": "Never", "template": template(*mpirun)},
                            "Worker": {"replicas": workers, "restartPolicy": "Never", "template": template()}}}}


def resource_of(job):
    return f"mpijobs.{job['apiVersion'].split('/')[1]}.kubeflow.org"


def runs(kubectl, job):
    """Applies the job, waits for its success and answers the launcher's log."""
    kubectl("apply", "-f", "-", stdin=job)
    name = job["metadata"]["name"]

    def ended():
        conditions = kubectl.json("get", resource_of(job), name)["status"].get("conditions", [])
        return {c["type"]: c for c in conditions if c["status"] == "True" and c["type"] in ("Succeeded", "Failed")}
    state = eventually(ended, 60, f"the end of {name}")
    said = kubectl("logs", f"{name}-launcher").out
    assert list(state) == ["Succeeded"], f"{state}\n{said}"
    return said


def example(name):
    with open(os.path.join(ROOT, "examples", name), encoding="utf-8") as stream:
        return yaml.safe_load(stream)


@pytest.mark.parametrize("file", ["mpijob.yaml", "mpijob-v2beta1.yaml"])
def test_ranks_of_two_workers_add_up(kubectl_one, file):
    job = example(file)
    name = job["metadata"]["name"]
    said = runs(kubectl_one, job)
    for rank in (0, 1):
        assert f"rank {rank} of 2 on {name}-worker-{rank}" in said, said
    assert said.count("the sum is 3") == 2, said
    kubectl_one("label", "pod", f"{name}-launcher", "seen=yes")  # as any pod
    pods = kubectl_one.json("get", "pods")["items"]
    launcher = next(pod for pod in pods if pod["metadata"]["name"] == f"{name}-launcher")
    assert launcher["status"]["containerStatuses"][0]["restartCount"] == 0, "it waits for its workers by itself"


def test_slots_and_the_hostfile(kubectl_one):
    said = runs(kubectl_one, mpi_job("v2beta1", "slots", 4, 2, slots=2))
    assert said.count("the sum is 10") == 4, said
    assert said.count("on slots-worker-0") == 2 and said.count("on slots-worker-1") == 2, said
    files = kubectl_one.json("get", "configmap", "slots-config")["data"]
    namespace = kubectl_one.namespace
    assert files["hostfile"] == "".join(f"slots-worker-{i}.slots.{namespace}.svc slots=2\n" for i in (0, 1))


def test_the_launcher_works_too(kubectl_one):
    said = runs(kubectl_one, mpi_job("v2beta1", "both", 2, 1, runLauncherAsWorker=True))
    assert "on both-launcher" in said and "on both-worker-0" in said and said.count("the sum is 3") == 2, said


def test_hosts_are_discovered_as_they_run(kubectl_one):
    job = mpi_job("v2beta1", "found", 1, 2)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = [
        "sh", "-c", "while [ $(/etc/mpi/discover_hosts.sh | wc -l) != 2 ]; do sleep 0.1; done; /etc/mpi/discover_hosts.sh"]
    said = runs(kubectl_one, job)
    assert said.split() == [f"found-worker-{i}.found.{kubectl_one.namespace}.svc" for i in (0, 1)], said


def test_a_launcher_may_reach_its_own_workers_only(kubectl_one):
    """Its account is made for the job: exec elsewhere is refused, and so is all else."""
    kubectl_one("run", "stranger", "--image=busybox", "--restart=Never", "--command", "--", "sleep", "300")
    job = mpi_job("v2beta1", "alone", 1, 1)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = [
        "sh", "-c", "/opt/kube/kubectl exec stranger -- true; echo code $?"]
    said = runs(kubectl_one, job)
    assert 'cannot create resource "pods/exec"' in said and "code 1" in said, said
    kubectl_one("delete", "pod", "stranger", "--grace-period=1")
