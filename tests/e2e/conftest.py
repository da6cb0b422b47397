"""The built binary, real kubectl. One server serves a module; each test has a namespace of its own.

YARD_E2E_KUBECONFIG=FILE drives the suite against another server (a real kube-apiserver: bench/peers), which
is how the expectations here were checked. Tests that need our own process are then skipped.
"""
import os
import shutil

import pytest

from harness import Kubectl, Yard, available_kubectls

KUBECTLS = available_kubectls()


def pytest_report_header(config):
    lines = [f"kubectl {name}: {path} (v1.{minor})" for name, (path, minor) in KUBECTLS.items()]
    for wanted, remedy in (("path", "put a kubectl on the path"), ("1.20", "tools/setup test"),
                           ("1.34", "tools/setup --kubectl-1.34, with Go 1.24 or later")):
        if wanted not in KUBECTLS:
            lines.append(f"MISSING kubectl {wanted}: {remedy}")
    return lines


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    """A running server with an empty store."""
    foreign = os.environ.get("YARD_E2E_KUBECONFIG")
    folder = tmp_path_factory.mktemp("yard")
    if foreign:
        yield Yard.attached(folder, foreign)
        return
    yard = Yard(folder)
    yard.up()
    yield yard
    yard.down()
    leftovers = yard.leftovers()
    assert leftovers == [], f"`trainyard down` left {leftovers}"


@pytest.fixture
def own_yard(tmp_path):
    """A server for one test alone, not yet started; whatever is left of it is ended."""
    if os.environ.get("YARD_E2E_KUBECONFIG"):
        pytest.skip("needs a process of ours")
    yard = Yard(tmp_path)
    yield yard
    yard.end()
    shutil.rmtree(yard.state, ignore_errors=True)


@pytest.fixture
def namespace(yard):
    return yard.new_namespace()


@pytest.fixture(params=list(KUBECTLS), scope="module")
def kubectl_name(request):
    return request.param


@pytest.fixture
def kubectl(yard, kubectl_name, namespace):
    """kubectl(*args, stdin=, expect=) in a fresh namespace, once for each kubectl of this machine."""
    path, minor = KUBECTLS[kubectl_name]
    return Kubectl(path, minor, yard, namespace)
