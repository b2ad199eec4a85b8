"""Two processes that share the tests out collect the same names, or none is run."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_tests_are_called_the_same_in_every_process(request):
    """Neither the order of hashes nor the second a file was packed in stands in a name.

    What this process collected is collected by another one, later and with other hashes.
    """
    config = request.config
    chosen = ["-k", config.option.keyword, "-m", config.option.markexpr]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *chosen]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = os.environ | {"PYTHONHASHSEED": seed}
    environment.pop("PYTEST_XDIST_WORKER", None)
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [*command, *config.args],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    here = [item.nodeid for item in request.session.items]
    assert request.node.nodeid in here
    assert [line for line in done.stdout.split("\n") if "::" in line] == here
