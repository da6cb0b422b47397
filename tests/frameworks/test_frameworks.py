"""TensorFlow (parameter server, mirrored workers), JAX and Paddle, each as a job of its kind that computes over ranks."""
import os

import pytest

from harness import ROOT, Kubectl, eventually, newest_kubectl
from test_images import with_config

FOLDER = os.path.join(ROOT, "build/tools/frameworks")

JAX = """
import os
import jax
jax.distributed.initialize(f"{os.environ['COORDINATOR_ADDRESS']}:{os.environ['COORDINATOR_PORT']}",
                           int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"]))
import jax.numpy as jnp
from jax.experimental import multihost_utils
mine = jnp.array([jax.process_index() + 1.0])
total = float(multihost_utils.process_allgather(mine).sum())
print(f"rank {jax.process_index()} of {jax.process_count()}: the sum is {total:.0f}", flush=True)
"""

TF_MIRRORED = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
@tf.function
def step():
    replica = tf.distribute.get_replica_context()
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(1.0))
total = float(strategy.run(step).numpy())
print(f"of {strategy.num_replicas_in_sync}: the sum is {total:.0f}", flush=True)
"""

TF_SERVER = """
import json, os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
                                  protocol="grpc")
    server.join()
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    total = tf.Variable(0.0)
@tf.function
def add():
    total.assign_add(1.0)
for _ in range(4):
    coordinator.schedule(add)
coordinator.join()
print(f"the sum is {float(total.numpy()):.0f}", flush=True)
"""

PADDLE = """
import numpy, paddle
import paddle.distributed as dist
dist.init_parallel_env()
mine = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(mine)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: the sum is {mine.numpy().item():.0f}", flush=True)
"""


def container(name, image, program, launcher=()):
    script = ("python", "-u", "-c", program)
    if launcher:
        script = ("sh", "-c", 'printf "%s" "$PROGRAM" > /tmp/train.py; exec ' + " ".join(launcher) + " /tmp/train.py")
    return {"spec": {"terminationGracePeriodSeconds": 1, "containers": [
        {"name": name, "image": image, "command": list(script), "env": [{"name": "PROGRAM", "value": program}]}]}}


def runs(yard, framework, job, leader):
    environment = os.path.join(FOLDER, framework)
    if not os.path.exists(os.path.join(environment, "bin/python")):
        pytest.skip(f"LOUD: {environment} is not there, {framework} is untried (tools/setup frameworks, from PyPI)")
    with_config(yard, {"images": {"map": {f"{framework}/*": {"python": environment}}}}).up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, yard, yard.new_namespace())
    kubectl("apply", "-f", "-", stdin=job)
    kind, name = job["kind"].lower(), job["metadata"]["name"]

    def end():
        conditions = kubectl.json("get", kind, name)["status"].get("conditions", [])
        return next((c for c in conditions if c["status"] == "True" and c["type"] in ("Succeeded", "Failed")), None)
    state = eventually(end, 240, f"the end of {kind} {name}")
    said = kubectl("logs", f"{name}-{leader}").out
    assert state["type"] == "Succeeded", f"{state}\n{said}"
    yard.down()
    return said


def job_of(kind, field, replicas):
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "real"}, "spec": {
        "runPolicy": {"cleanPodPolicy": "Running"},
        field: {name: {"replicas": count, "restartPolicy": "Never", "template": template}
                for name, (count, template) in replicas.items()}}}


def test_jax(own_yard):
    job = job_of("JAXJob", "jaxReplicaSpecs", {"Worker": (2, container("jax", "jax/train", JAX))})
    assert "rank 0 of 2: the sum is 3" in runs(own_yard, "jax", job, "worker-0")


def test_tensorflow_mirrored_workers(own_yard):
    job = job_of("TFJob", "tfReplicaSpecs", {"Worker": (2, container("tensorflow", "tensorflow/train", TF_MIRRORED))})
    assert "of 2: the sum is 2" in runs(own_yard, "tensorflow", job, "worker-0")


def test_tensorflow_with_a_parameter_server(own_yard):
    template = container("tensorflow", "tensorflow/train", TF_SERVER)
    job = job_of("TFJob", "tfReplicaSpecs", {"Chief": (1, template), "PS": (1, template), "Worker": (1, template)})
    assert "the sum is 4" in runs(own_yard, "tensorflow", job, "chief-0")


def test_paddle(own_yard):
    launcher = ("python", "-m", "paddle.distributed.launch", "--log_dir", "/tmp/log")
    job = job_of("PaddleJob", "paddleReplicaSpecs", {"Worker": (2, container("paddle", "paddle/train", PADDLE, launcher))})
    assert "the sum is 3" in runs(own_yard, "paddle", job, "worker-0")
