"""No stage but download, and no command that aligns, uses the network."""

import os
import subprocess
import sys

import pytest

from tests.runs import ROOT, words

# Python runs this at its start, in every process of a run.
BLOCKED = """
import socket

class Blocked(socket.socket):
    def __init__(self, family=-1, *rest, **named):
        if family not in (getattr(socket, "AF_UNIX", None),):
            raise RuntimeError("the network was asked for")
        super().__init__(family, *rest, **named)

def refuse(*_, **__):
    raise RuntimeError("the network was asked for")

socket.socket = Blocked
socket.create_connection = socket.getaddrinfo = socket.gethostbyname = refuse
"""


@pytest.fixture
def blocked(tmp_path):
    """Return a function that runs words with a Python whose sockets refuse."""
    folder = tmp_path / "start"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}

    def run(*said, **given):
        return subprocess.run(
            [sys.executable, *map(str, said)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            **given,
        )

    return run


def test_sockets_are_blocked_in_these_tests(blocked):
    found = blocked("-c", "import socket; socket.socket()")
    assert "the network was asked for" in found.stderr


@pytest.mark.slow
def test_no_stage_but_download_and_no_command_uses_the_network(blocked, tmp_path):
    """The embedded sample needs no download: all stages run without a socket, on two processes."""
    found = blocked(*words("work", "--jobs", "2"), timeout=290)
    assert found.returncode == 0, found.stderr
    assert "AER " in found.stdout
    model = tmp_path / "work" / "sample" / "latest" / "train"
    found = blocked("-m", "align", "links", "--model", model, input="the house\tla maison\n", timeout=100)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip()
