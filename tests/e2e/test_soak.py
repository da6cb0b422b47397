"""A few seconds of each phase of `make soak` (tests/soak), so that its claims and its own code are tried on every change."""
import os
import subprocess

import pytest

from harness import ROOT


@pytest.mark.parametrize("phase", ["played", "watchers", "pods", "clients", "churn"])
def test_a_little_of(phase):
    if os.environ.get("YARD_E2E_KUBECONFIG"):
        pytest.skip("needs a process of ours")
    done = subprocess.run([os.path.join(ROOT, "tests", "soak"), "--small", phase], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"soak: {phase}: holds" in done.stdout
