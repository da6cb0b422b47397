"""The built binary, real kubectl. One server serves a module; each test has a namespace of its own.

YARD_E2E_KUBECONFIG=FILE drives the suite against another server (a real kube-apiserver: bench/peers), which
is how the expectations here were checked. Tests that need our own process are then skipped.
YARD_E2E_USER=NAME runs every server as that ordinary user (made where missing; the suite itself runs as root).
"""
import os
import pathlib
import shutil

import pytest

from harness import Kubectl, Yard, available_kubectls, reachable_folder, ordinary_user
from registries import DockerRegistry

KUBECTLS = available_kubectls()
LONGEST = ("test_job_tutorial.py", "test_compare.py", "test_training.py", "test_sandbox.py")  # of the files, cold


def pytest_report_header(config):
    lines = [f"kubectl {name}: {path} (v1.{minor})" for name, (path, minor) in KUBECTLS.items()]
    for wanted, remedy in (("path", "put a kubectl on the path"), ("1.20", "tools/setup test"),
                           ("1.34", "tools/setup --kubectl-1.34, with Go 1.24 or later")):
        if wanted not in KUBECTLS:
            lines.append(f"MISSING kubectl {wanted}: {remedy}")
    return lines


def pytest_collection_modifyitems(items):
    """xdist hands out whole files in this order: a long one at the end would leave the other workers idle."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left():
    """After the whole suite no process, mount, namespace, socket or control group of its servers is there, and nothing
    in memory; that servers leave no temporary file anywhere has a test of its own (test_faults.py)."""
    yield
    left = [f"{yard.state}: {thing}" for yard in Yard.made if yard.is_ours for thing in yard.leftovers()]
    for yard in Yard.made:
        if yard.user:
            shutil.rmtree(yard.folder, ignore_errors=True)
    assert left == [], "left after the suite:\n" + "\n".join(left)


@pytest.fixture
def tmp_path(tmp_path_factory):
    """As pytest's own, but reachable by the ordinary user that servers run as."""
    user = ordinary_user()
    if user is None:
        yield tmp_path_factory.mktemp("test")
        return
    folder = reachable_folder(user)
    yield pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


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
def registry(tmp_path):
    """registry(**how): a docker-registry that ends with the test."""
    made = []

    def begin(**how):
        made.append(DockerRegistry(str(tmp_path), **how))
        return made[-1]
    yield begin
    for each in made:
        each.close()


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
