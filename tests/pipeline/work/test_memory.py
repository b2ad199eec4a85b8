"""What a stage left is given back."""

import gc
import subprocess
import sys
import weakref
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pipeline.work.memory import give_back
from pipeline.work.resources import resident_memory

ROOT = Path(__file__).resolve().parents[3]

# The modules that preprocess loads while it has the words of the corpus in memory.
LATE = """
import sys
from pipeline.run.command import main
words = ["--workdir", sys.argv[1], "--jobs", "1", "--quiet", "--stage"]
assert main([*words, "download"]) == 0
before = set(sys.modules)
assert main([*words, "preprocess"]) == 0
print(*sorted(set(sys.modules) - before))
"""

# Exit handlers are called from the last to the first, and before the interpreter collects.
LAST = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 1000))
from pipeline.run.command import main
assert main(["--list"]) == 0
print(gc.get_freeze_count() > 1000)
"""


class Kept:
    """Something that refers to itself."""

    def __init__(self):
        self.own = self


@pytest.fixture
def module(monkeypatch):
    found = ModuleType("pipeline.test_stage")
    found.kept = lru_cache(maxsize=1)(lambda name: Kept())
    monkeypatch.setitem(sys.modules, found.__name__, found)
    return found


def test_caches_of_the_stage_are_forgotten(module):
    gc.disable()
    try:
        reference = weakref.ref(module.kept("x"))
        give_back(module.__name__)
        assert reference() is None
    finally:
        gc.enable()


def test_caches_of_modules_named_after_the_stage_are_forgotten(module, monkeypatch):
    other = ModuleType("pipeline.test_stages")
    other.kept = lru_cache(maxsize=1)(lambda name: Kept())
    monkeypatch.setitem(sys.modules, other.__name__, other)
    part = ModuleType("pipeline.test_stage_part")
    part.kept = module.kept
    del module.kept
    monkeypatch.setitem(sys.modules, part.__name__, part)
    reference, kept = weakref.ref(part.kept("x")), weakref.ref(other.kept("x"))
    give_back(module.__name__)
    assert reference() is None
    assert kept() is not None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc is known to keep so much")
def test_freed_memory_goes_back_to_the_system(module):
    """Small pieces freed below one still in use stay with the process otherwise."""
    before = resident_memory()
    pieces = [np.ones(1000) for _ in range(20_000)]
    last = np.ones(1000)
    full = resident_memory() - before
    del pieces
    give_back(module.__name__)
    assert full > 140e6
    assert resident_memory() - before < 30e6
    assert last.sum() == 1000


def test_nothing_is_loaded_among_the_words_of_the_corpus(tmp_path):
    """A module loaded there keeps megabytes of freed memory with the process."""
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.split() == []


def test_at_the_end_nothing_is_collected():
    told = subprocess.run(
        [sys.executable, "-c", LAST], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert told.stdout.split("\n")[-3:] == ["False", "True", ""]
