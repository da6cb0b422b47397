"""The end-to-end suite's own fixtures."""
import importlib.util
import os
import sys

E2E = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e")
sys.path.insert(0, E2E)
SPEC = importlib.util.spec_from_file_location("e2e_conftest", os.path.join(E2E, "conftest.py"))
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
own_yard, tmp_path, nothing_is_left = MODULE.own_yard, MODULE.tmp_path, MODULE.nothing_is_left
