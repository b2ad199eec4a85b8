"""The heap keeps little of what threads have freed; garbage is looked for among what is new."""

import gc
import subprocess
import sys

import pytest

from align.core import heap
from tests.conftest import ROOT

# Threads free arrays of 0.3 MB of which every eighth stays, twice.
PROGRAM = """
import sys, threading, re
import numpy as np
from align.core import heap
if sys.argv[1] == "settled":
    heap.settle(large=1 << 17, kept=1 << 17)

def resident():
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\\s+(\\d+)", file.read())[1]) // 1024

kept = []

def work():
    np.ones(3 << 20)  # 24 MB freed: from now on glibc takes blocks of that size from the heap
    arrays = [np.ones(40_000) for _ in range(160)]
    kept.append(arrays[::8])

before = resident()
for _ in range(2):
    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc; only glibc has mallopt")
def test_what_threads_have_freed_is_given_back():
    grown = {}
    for how in ("settled", "as it is"):
        command = [sys.executable, "-c", PROGRAM, how]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
        grown[how] = int(told.stdout)
    # 8 times 20 arrays of 0.3 MB are still there: 49 MB.
    assert 45 <= grown["settled"] <= 60
    assert grown["as it is"] > grown["settled"] + 40


def test_garbage_is_looked_for_among_what_is_new():
    class Ring:
        """Refers to itself: only the collector takes it apart."""

        def __init__(self):
            self.own = self

    old = [Ring() for _ in range(5)]
    with heap.left_alone():
        assert not any(isinstance(each, Ring) for each in gc.get_objects())
        del old
        [Ring() for _ in range(3)]
        assert gc.collect() >= 3
    assert gc.get_freeze_count() == 0
    assert gc.collect() >= 5


COMPILED = """
import re
import numba
from align.core import heap

def resident():
    with open("/proc/self/status", encoding="utf-8") as file:
        return int(re.search(r"RssFile:\\s+(\\d+)", file.read())[1]) // 1024

twice = numba.njit(lambda number: 2 * number)
twice(1)
before = resident()
heap.give_code_back("llvmlite")
print(before - resident(), twice(2), numba.njit(lambda number: 3 * number)(3))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone tells what is mapped where")
def test_a_library_works_on_after_its_code_was_given_back():
    command = [sys.executable, "-c", COMPILED]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    given, *numbers = map(int, told.stdout.split())
    assert given > 10  # of some 60 MB
    assert numbers == [4, 9]
