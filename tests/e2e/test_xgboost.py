"""XGBoost training for real: a tracker on the master, three ranks over the network, one model."""
import os

import pytest

from harness import ROOT, Kubectl, eventually, newest_kubectl
from test_images import with_config

ENVIRONMENT = os.path.join(ROOT, "build/tools/xgboost")

PROGRAM = """
import os, socket, threading
import numpy, xgboost
from xgboost.tracker import RabitTracker

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
assert os.environ["WORKER_ADDRS"].split(",") == [f"xgb-worker-{i}" for i in range(world - 1)]
if rank == 0:
    tracker = RabitTracker(n_workers=world, host_ip=socket.gethostbyname(host), port=port, sortby="task")
    tracker.start()
random = numpy.random.default_rng(rank)          # every rank has its own rows
rows = random.normal(size=(500, 4))
labels = (rows[:, 0] + 2 * rows[:, 1] > 0).astype(int)
with xgboost.collective.CommunicatorContext(dmlc_communicator="rabit", dmlc_tracker_uri=host, dmlc_tracker_port=port,
                                            dmlc_task_id=str(rank), dmlc_connect_retry=60):
    data = xgboost.DMatrix(rows, labels)
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, num_boost_round=10)
    errors = numpy.array([((model.predict(data) > 0.5) != labels).sum()], dtype=numpy.float64)
    total = xgboost.collective.allreduce(errors, xgboost.collective.Op.SUM)[0]
    size = numpy.array([len(model.save_raw())], dtype=numpy.int64)
    largest = xgboost.collective.allreduce(size, xgboost.collective.Op.MAX)[0]
    assert largest == size[0], "the ranks hold different models"
    print(f"rank {rank} of {world}: {int(total)} of {500 * world} wrong", flush=True)
if rank == 0:
    tracker.wait_for()
"""


def test_three_ranks_make_one_model(own_yard):
    if not os.path.exists(os.path.join(ENVIRONMENT, "bin/python")):
        pytest.skip("LOUD: build/tools/xgboost is not there, XGBoost is untried (tools/setup xgboost, from PyPI)")
    with_config(own_yard, {"images": {"map": {"xgboost/*": {"python": ENVIRONMENT}}}}).up()
    path, minor = newest_kubectl()
    kubectl = Kubectl(path, minor, own_yard, own_yard.new_namespace())

    def replica(count, policy):
        return {"replicas": count, "restartPolicy": policy, "template": {"spec": {"containers": [
            {"name": "xgboost", "image": "xgboost/train:latest", "command": ["python", "-u", "-c", PROGRAM],
             "ports": [{"name": "xgboostjob-port", "containerPort": 9991}]}]}}}
    kubectl("apply", "-f", "-", stdin={
        "apiVersion": "kubeflow.org/v1", "kind": "XGBoostJob", "metadata": {"name": "xgb"},
        "spec": {"xgbReplicaSpecs": {"Master": replica(1, "Never"), "Worker": replica(2, "ExitCode")}}})

    def end():
        conditions = kubectl.json("get", "xgboostjob", "xgb")["status"].get("conditions", [])
        return next((c for c in conditions if c["status"] == "True" and c["type"] in ("Succeeded", "Failed")), None)
    state = eventually(end, 90, "the end of the job")
    said = [kubectl("logs", f"xgb-{name}").out for name in ("master-0", "worker-0", "worker-1")]
    assert state["type"] == "Succeeded", f"{state}\n{said}"
    lines = [text.strip().splitlines()[-1] for text in said]
    assert [line.split(":")[0] for line in lines] == [f"rank {rank} of 3" for rank in range(3)], said
    wrong = {line.split(": ")[1] for line in lines}
    assert len(wrong) == 1 and int(wrong.pop().split()[0]) < 150, f"all ranks agree, and the model is right: {lines}"
    own_yard.down()
