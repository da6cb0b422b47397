"""What tests/run_all says of a test that fails, and of one that fails only beside the others."""
import importlib.machinery
import importlib.util
import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture
def run_all(tmp_path):
    loader = importlib.machinery.SourceFileLoader("run_all", os.path.join(HERE, "run_all"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_all", loader))
    loader.exec_module(module)
    module.ROOT = str(tmp_path)
    module.LOGS = str(tmp_path / "logs")
    return module


PASSES_THE_SECOND_TIME = """
import os
class TestGroup:
    def test_first_time_fails(self):
        seen = os.path.exists("seen")
        open("seen", "w").close()
        assert seen
def test_passes():
    pass
"""
ALWAYS_FAILS = """
import pytest
@pytest.mark.parametrize("word", ["a b", "c::d"])
def test_wrong(word):
    assert word == "c::d"
"""


@pytest.mark.parametrize("step, text, passed, failed, unsteady", [
    ("e2e", PASSES_THE_SECOND_TIME, 2, [], ["e2e: test_it.py::TestGroup::test_first_time_fails"]),
    ("tidy", PASSES_THE_SECOND_TIME, 1, ["tidy: test_it.py::TestGroup::test_first_time_fails"], []),
    ("e2e", ALWAYS_FAILS, 1, ["e2e: test_it.py::test_wrong[a b]"], []),
    ("e2e", "import nothing_of_this_name", 0, ["e2e: test_it.py::test_it"], []),
])
def test_what_is_said_of_a_failure(run_all, tmp_path, step, text, passed, failed, unsteady):
    (tmp_path / "test_it.py").write_text(text)
    run = run_all.Run()
    run_all.pytest(run, step, ["test_it.py"])
    assert (run.passed, run.failed) == (passed, len(failed))
    assert (run.failed_tests, run.unsteady) == (failed, unsteady)


def test_many_failures_are_no_accident(run_all, tmp_path):
    (tmp_path / "test_it.py").write_text(PASSES_THE_SECOND_TIME + "".join(
        f"def test_more_{number}():\n    assert os.path.exists('twice{number}') or open('twice{number}', 'w') is None\n"
        for number in range(run_all.TRIED_AGAIN_AT_MOST)))
    run = run_all.Run()
    run_all.pytest(run, "e2e", ["test_it.py"])
    assert run.failed == run_all.TRIED_AGAIN_AT_MOST + 1 and not run.unsteady
