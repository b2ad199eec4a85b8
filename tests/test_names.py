"""Two processes that share the tests out collect the same names, or none is run."""

import os
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_tests_are_called_the_same_in_every_process():
    """Neither the order of hashes nor the second a file was packed in stands in a name."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"]
    processes = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        environment.pop("PYTEST_XDIST_WORKER", None)
        environment.pop("PYTEST_ADDOPTS", None)
        processes.append(
            subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8")
        )
        time.sleep(1.1)  # packed data hold whole seconds
    first, second = (
        [line for line in process.communicate(timeout=240)[0].split("\n") if "::" in line]
        for process in processes
    )
    assert len(first) > 1000
    assert first == second
