"""One script of kubectl commands (compare/script/), against a server of ours and a real kube-apiserver 1.34.4.

What each command printed and its exit code must be the same, with ids, times, versions and ports masked
(compare/runner.py), but for what compare/differences.yaml lists with its reason. The peer runs beside ours where it is
built (bench/peers/build server); elsewhere what it said when it was recorded (tests/cases/kubectl, written by
compare/record) stands in for it, and a warning says so.

YARD_COMPARE=recorded takes the recordings, YARD_COMPARE=peer fails without the peer and runs the whole script,
YARD_COMPARE=all runs the whole script: by default some of what only reads is left out, for time.
YARD_COMPARE_KUBECTL=1.20 takes another kubectl than the newest that was recorded.
"""
import concurrent.futures
import os
import re
import warnings

import pytest

from compare.peer import peer, peer_is_at_hand
from compare.runner import (Differences, Target, is_in_short_script, load_script, read_recorded, recorded_minors,
                            run_script)
from harness import Yard, available_kubectls

MODE = os.environ.get("YARD_COMPARE", "")
WHOLE = MODE in ("all", "peer")
LIVE = MODE == "peer" or (MODE != "recorded" and peer_is_at_hand())
GROUPS = load_script()
for group in GROUPS:
    group.steps = [step for step in group.steps if WHOLE or is_in_short_script(step)]
STEPS = [step.id for group in GROUPS for step in group.steps]
KUBECTLS = {minor: path for path, minor in available_kubectls().values()}
WANTED = os.environ.get("YARD_COMPARE_KUBECTL", "")
MINORS = [minor for minor in sorted(KUBECTLS, reverse=True)
          if (MODE == "peer" or minor in recorded_minors()) and WANTED in ("", f"1.{minor}")][:1]

# Every command that a client is known to send (the specification's section 10), and what it looks like here.
COMMANDS = {
    "get": r"kubectl get pods$", "get, formats": r"get .* -o (yaml|json)$", "get, names": r"get .* -o name$",
    "get, jsonpath": r"get .*-o jsonpath=", "get, columns": r"get .*-o custom-columns=", "get one": r"get cm a -o json$",
    "get all namespaces, sorted": r"get pods -A --sort-by", "get by label": r"get cm -l ", "get by field": r"--field-selector",
    "get and watch": r"get cm .*-w ", "get all": r"get all$", "get a subresource": r"get pods p1 --subresource=status$",
    "describe pod": r"describe pod ", "describe node": r"describe node ", "describe svc": r"describe svc ",
    "describe ns": r"describe ns ", "describe job": r"describe job ", "describe a custom resource": r"describe widget ",
    "events": r"kubectl events ", "events of one": r"kubectl events .*--for ", "logs": r"logs one ", "logs, followed": r"logs -f ",
    "logs of a job": r"logs job/", "logs by label": r"logs -l ", "wait for a condition": r"wait --for=condition=",
    "wait for an end": r"wait --for=delete", "wait for a value": r"wait --for=jsonpath=", "wait for a beginning": r"wait --for=create",
    "rollout status": r"rollout status", "rollout history": r"rollout history", "rollout undo": r"rollout undo",
    "explain": r"explain pod", "explain all": r"explain .*--recursive", "api-resources": r"api-resources", "api-versions": r"api-versions",
    "top": r"kubectl top ", "version": r"kubectl version", "cluster-info": r"cluster-info", "can-i": r"auth can-i ",
    "can-i, all": r"auth can-i --list", "whoami": r"auth whoami", "raw": r"get --raw ",
    "create": r"create -f ", "create configmap": r"create (cm|configmap) ", "create secret": r"create secret ",
    "create namespace": r"create (ns|namespace) ", "create serviceaccount": r"create serviceaccount ", "create job": r"create job ",
    "create role": r"create role ", "create token": r"create token ", "run": r"kubectl run ", "expose": r"kubectl expose ",
    "apply": r"apply -f app.yaml$", "apply, changed": r"apply -f app2.yaml$", "apply, unchanged": r"apply -f app.yaml #2$",
    "apply -k": r"apply -k ", "apply, server-side": r"apply --server-side -f ", "apply, from client-side": r"apply --server-side -f app2",
    "apply, pruning": r"apply .*--prune ", "replace": r"replace -f ", "replace, forced": r"replace --force ", "edit": r"kubectl edit ",
    "patch": r"patch cm c -p ", "patch by merge": r"patch .*--type=merge ", "patch by JSON": r"patch .*--type=json ",
    "patch a subresource": r"patch .*--subresource=status", "label": r"kubectl label ", "annotate": r"kubectl annotate ",
    "scale": r"scale deployment web --replicas=3$", "scale from": r"--current-replicas=", "set image": r"set image ",
    "rollout restart": r"rollout restart ", "rollout pause": r"rollout pause ", "delete": r"delete cm a b$",
    "delete, cascading": r"--cascade=", "delete now": r"delete .* --now", "delete by force": r"delete .*--grace-period=0 --force",
    "delete without waiting": r"delete .*--wait=false", "delete by label": r"delete cm -l ", "delete all": r"delete .* --all$",
    "delete, dry": r"delete .*--dry-run=server", "diff": r"kubectl diff ", "cordon": r"kubectl cordon ", "drain": r"kubectl drain ",
    "exec": r"kubectl exec ", "attach": r"kubectl attach ", "port-forward": r"kubectl port-forward ", "cp": r"kubectl cp ",
    "debug": r"kubectl debug ",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """(what theirs said, what ours said, differences) of all steps. Theirs is a list: now, and when it was recorded."""
    if os.environ.get("YARD_E2E_KUBECONFIG"):
        pytest.skip("compares with that server by itself")
    if not MINORS:
        pytest.skip(f"NOT COMPARED: recorded with kubectl {recorded_minors()}, this machine has {sorted(KUBECTLS)}")
    minor = MINORS[0]
    folder = tmp_path_factory.mktemp("compare")
    theirs = []
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        live = beside.submit(ask_peer, folder, minor) if LIVE else None
        ours = ask_ours(folder, minor)
        if live is not None:
            theirs.append(live.result())
    if not LIVE:
        warnings.warn(f"NO PEER: compared with what kube-apiserver 1.34.4 said to kubectl 1.{minor} when it was recorded "
                      "(bench/peers/build server builds the peer, which then runs beside ours)")
    if minor in recorded_minors():
        theirs.append(read_recorded(minor))
    return theirs, ours, Differences(minor)


def ask_ours(folder, minor):
    yard = Yard(folder)
    yard.up()
    try:
        return run_script(Target(yard.kubeconfig, KUBECTLS[minor], str(folder / "ours")), GROUPS)
    finally:
        yard.down()


def ask_peer(folder, minor):
    assert peer_is_at_hand(), "the peer is not built: bench/peers/build server"
    with peer(str(folder / "peer")) as kubeconfig:
        return run_script(Target(kubeconfig, KUBECTLS[minor], str(folder / "theirs")), GROUPS)


@pytest.mark.parametrize("step", STEPS)
def test_says_what_a_kube_apiserver_says(outcomes, step):
    theirs, ours, differences = outcomes
    assert all(step in said for said in theirs), "not recorded: run tests/e2e/compare/record"
    # What the real one said at any time is right: some answers hang on the moment.
    problems = [differences.judge(step, said[step], ours[step]) for said in (theirs[:1] if MODE == "peer" else theirs)]
    assert "" in problems, f"{step}\n{problems[0]}"


def test_no_difference_is_listed_in_vain(outcomes):
    _, ours, differences = outcomes
    for step in ours:
        differences.judge(step, ours[step], ours[step])
    assert differences.stale() == []
    known = {step.id for group in load_script() for step in group.steps}
    assert set(differences.steps) <= known, "differences.yaml names steps that are not there"


def test_the_recordings_are_what_the_peer_says(outcomes):
    theirs, _, _ = outcomes
    if len(theirs) < 2:
        pytest.skip("NOT COMPARED: no peer, or nothing recorded with this kubectl")
    live, kept = theirs
    changed = [step for step in live if live[step] != kept.get(step)]
    assert len(changed) <= len(live) // 50, f"record anew (tests/e2e/compare/record): {changed}"


def test_every_command_of_the_specification_is_compared():
    steps = [step.id.split("/", 1)[1] for group in load_script() for step in group.steps]
    assert len(steps) >= 120 and len(STEPS) >= 120
    missing = [name for name, pattern in COMMANDS.items() if not any(re.search(pattern, step) for step in steps)]
    assert missing == []
