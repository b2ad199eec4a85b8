"""Systems without what Unix has, simulated, and how long ``import align`` takes."""

import subprocess
import sys

import pytest

from tests.runs import ROOT

# Windows has none of these.
WITHOUT = """
import os, sys
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "register_at_fork", "readv", "getuid", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
"""

IMPORTS = {
    "the library": "from align import Aligner",
    "its commands": "from align.cli import main, links, score, convert, models, serve",
    "the pipeline": "from pipeline.run import command, graph, liaison, runner",
}


def python(code):
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", IMPORTS)
def test_it_can_be_imported_without_what_unix_has(what):
    """Libraries are imported before: what they need themselves is theirs."""
    libraries = (
        "import asyncio, filelock, multiprocessing.pool, numba, pandas, psutil, pyarrow, requests, scipy"
    )
    done = python(f"{libraries}, subprocess, tempfile, threading, nltk\n{WITHOUT}\n{IMPORTS[what]}")
    assert done.returncode == 0, done.stderr


def test_importing_the_library_takes_little():
    """Measured as this process's CPU, the least of three: other processes may take the machine."""
    code = "import time; a = time.process_time(); import align; print(time.process_time() - a)"
    assert min(float(python(code).stdout) for _ in range(3)) < 0.4
