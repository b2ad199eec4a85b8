"""Compiled kernels are kept between starts, and never outlive a change of what they call."""

import ast
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import align.core.kernels
import align.problems.compiled

CALLEE = "from align.core.kernels import kernel\n\n@kernel\ndef callee(x):\n    return x + 1\n"
CALLER = """
from align.callee import callee
from align.core.kernels import kernel

@kernel
def caller(x):
    return 10 * callee(x)
"""
PROGRAM = "from align.caller import caller; print(caller(1), sum(caller.stats.cache_hits.values()))"

# Two processes compile one kernel at once: the second begins before the first has entered its code in the
# index, and ends before the first has written it. What a third is given says which code it found.
TWO_AT_ONCE = """
import importlib
import sys

def start():
    sys.modules.pop("align.callee", None)
    return importlib.import_module("align.callee").callee

first, second, third = start(), start(), start()
files, others = first._cache._cache_file, second._cache._cache_file
write = files._save_data

def late(name, data):
    others._load_index = dict
    second(1.5)
    write(name, data)

files._save_data = late
first(1)
print(third(1.5), third(1), *(str(each.signature.return_type) for each in third.overloads.values()))
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "align"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "core").mkdir()
    shutil.copy(align.core.kernels.__file__, folder / "core" / "kernels.py")
    (folder / "callee.py").write_text(CALLEE, encoding="utf-8")
    (folder / "caller.py").write_text(CALLER, encoding="utf-8")
    return folder


def run(package, program=PROGRAM, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=package.parent,
        env={**os.environ, "NUMBA_CACHE_DIR": "", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_machine_code_is_kept_until_what_it_calls_changes(package):
    assert run(package) == ["20", "0"]
    (package / "words.py").write_text("x = 1\n", encoding="utf-8")
    assert run(package) == ["20", "1"], "the machine code was not kept"
    (package / "callee.py").write_text(CALLEE.replace("x + 1", "x + 2"), encoding="utf-8")
    assert run(package) == ["30", "0"]
    kept = [path.name for path in (package / "__pycache__").glob("kernels-*")]
    assert len(kept) == 1, "machine code of an earlier version was left"
    shutil.copy(align.problems.compiled.__file__, package / "compiled.py")
    assert run(package) == ["30", "0"], "what chooses between kernels counts as one"


def test_what_is_not_compiled_yet_is_told(package):
    program = "from align.caller import caller\nfrom align.core.kernels import is_first_start as first\n"
    program += "print(first(), caller(1), first())"
    assert run(package, program) == ["True", "20", "False"]
    assert run(package, program) == ["False", "20", "False"]
    assert run(package, program, NUMBA_CACHE_DIR=str(package / "callee.py")) == ["False", "20", "False"]


def test_another_place_can_be_named(package, tmp_path):
    assert run(package, NUMBA_CACHE_DIR=str(tmp_path / "place")) == ["20", "0"]
    assert list((tmp_path / "place" / "liaison").glob("kernels-*"))
    assert run(package, NUMBA_CACHE_DIR=str(tmp_path / "place")) == ["20", "1"]


def test_machine_code_that_a_power_cut_damaged_is_made_anew(package):
    faults = list(itertools.product(("nbi", "nbc"), ("empty", "half", "zeros")))
    for number in range(len(faults)):
        (package / f"callee{number}.py").write_text(CALLEE, encoding="utf-8")
    modules = ", ".join(f"callee{number}" for number in range(len(faults)))
    program = (
        f"from align import {modules}; kernels = [each.callee for each in ({modules})]\n"
        "print(*(each(1) for each in kernels), *(sum(each.stats.cache_hits.values()) for each in kernels))"
    )
    run(package, program)
    for number, (ending, fault) in enumerate(faults):
        (path,) = (package / "__pycache__").glob(f"kernels-*/*/callee{number}.*.{ending}")
        whole = path.read_bytes()
        assert whole[:1] + whole[-1:] == b"\x80."
        path.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "zeros": bytes(len(whole))}[fault])
    assert run(package, program) == [*"222222", *"000000"]
    assert run(package, program) == [*"222222", *"111111"]


def test_where_nothing_can_be_written_kernels_still_work(package, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    assert run(package, NUMBA_CACHE_DIR=str(blocked)) == ["20", "0"]


def test_processes_that_compile_at_once_do_not_mix_their_code_up(package):
    assert run(package, TWO_AT_ONCE) == ["2.5", "2", "float64", "int64"]


def test_every_kernel_is_made_by_the_decorator():
    for path in Path(align.core.kernels.__file__).parents[1].rglob("*.py"):
        if path.name != "kernels.py":
            text = path.read_text(encoding="utf-8")
            assert "njit" not in text, f"{path}: use align.core.kernels.kernel"


def test_the_first_kernel_loads_no_library_that_it_does_not_need(package):
    """Code that multiplies matrices has what it needs all the same."""
    program = """
import sys
import numpy as np
from align.caller import caller
caller(1)
print("scipy.linalg" in sys.modules)
import numba
print(int(numba.njit(lambda x: np.cov(x) + x @ x)(np.eye(2))[0, 0] * 2))
"""
    assert run(package, program) == ["False", "3"]


def has_slice(tree):
    return any(isinstance(each, ast.Slice) for each in ast.walk(tree))


# Of these no run with default options calls a kernel.
MAY_BE_SLOW_TO_COMPILE = {"fertility_projections.py", "quadratic.py"}


def test_no_kernel_gives_a_part_of_an_array_to_another():
    """For the message of an error that cannot be, numba then compiles texts and numbers: two seconds more."""
    found = []
    for path in Path(align.core.kernels.__file__).parents[1].rglob("*.py"):
        if path.name in MAY_BE_SLOW_TO_COMPILE:
            continue
        for function in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(function, ast.FunctionDef):
                continue
            if not any(ast.unparse(each).startswith("kernel") for each in function.decorator_list):
                continue
            found += [
                f"{path.name}:{node.lineno}: {ast.unparse(node)}; write a loop"
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and has_slice(node.value)
                if any(isinstance(to, ast.Subscript) and has_slice(to.slice) for to in node.targets)
            ]
    assert not found, "\n".join(found)
