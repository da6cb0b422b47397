"""One script of kubectl commands (compare/script/), against a server of ours and a real kube-apiserver 1.34.4.

What each command printed and its exit code must be the same, with ids, times, versions and ports masked
(compare/runner.py), but for what compare/differences.yaml lists with its reason. What the peer said when it was recorded
(tests/cases/kubectl, written by compare/record) stands in for it; YARD_COMPARE=peer runs it beside ours.

YARD_COMPARE=all runs the whole script: by default some of what only reads is left out, for time.
YARD_COMPARE_KUBECTL=1.20 takes another kubectl than the newest that was recorded.
"""
import os

import pytest

from compare.peer import peer, peer_is_at_hand
from compare.runner import (Differences, Target, is_in_short_script, load_script, read_recorded, recorded_minors,
                            run_script)
from harness import Yard, available_kubectls

WHOLE = os.environ.get("YARD_COMPARE") in ("all", "peer")
LIVE = os.environ.get("YARD_COMPARE") == "peer"
GROUPS = load_script()
for group in GROUPS:
    group.steps = [step for step in group.steps if WHOLE or is_in_short_script(step)]
STEPS = [step.id for group in GROUPS for step in group.steps]
KUBECTLS = {minor: path for path, minor in available_kubectls().values()}
WANTED = os.environ.get("YARD_COMPARE_KUBECTL", "")
MINORS = [minor for minor in sorted(KUBECTLS, reverse=True)
          if (LIVE or minor in recorded_minors()) and WANTED in ("", f"1.{minor}")][:1]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """(what theirs said, what ours said, differences) of all steps."""
    if os.environ.get("YARD_E2E_KUBECONFIG"):
        pytest.skip("compares with that server by itself")
    if not MINORS:
        pytest.skip(f"NOT COMPARED: recorded with kubectl {recorded_minors()}, this machine has {sorted(KUBECTLS)}")
    minor = MINORS[0]
    folder = tmp_path_factory.mktemp("compare")
    yard = Yard(folder)
    yard.up()
    try:
        ours = run_script(Target(yard.kubeconfig, KUBECTLS[minor], str(folder / "ours")), GROUPS)
    finally:
        yard.down()
    if LIVE:
        assert peer_is_at_hand(), "the peer is not built: bench/peers/build server"
        with peer(str(folder / "peer")) as kubeconfig:
            theirs = run_script(Target(kubeconfig, KUBECTLS[minor], str(folder / "theirs")), GROUPS)
    else:
        print(f"\nNO PEER: compared with what kube-apiserver 1.34.4 said to kubectl 1.{minor} when it was recorded")
        theirs = read_recorded(minor)
    return theirs, ours, Differences(minor)


@pytest.mark.parametrize("step", STEPS)
def test_says_what_a_kube_apiserver_says(outcomes, step):
    theirs, ours, differences = outcomes
    assert step in theirs, "not recorded: run tests/e2e/compare/record"
    problem = differences.judge(step, theirs[step], ours[step])
    assert not problem, f"{step}\n{problem}"


def test_no_difference_is_listed_in_vain(outcomes):
    _, ours, differences = outcomes
    for step in ours:
        differences.judge(step, ours[step], ours[step])
    assert differences.stale() == []
    known = {step.id for group in load_script() for step in group.steps}
    assert set(differences.steps) <= known, "differences.yaml names steps that are not there"
