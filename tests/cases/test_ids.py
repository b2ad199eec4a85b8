"""Every case has a test that is named after it: ``test_c01_...`` is one of C01.

A: lines, separators, encodings. B: tokens and languages. C: vectors. D: sentences and matching. E: gold and
what is measured against it. F: corpora, disks, reruns. G: found on Liaison itself.
"""

import ast
import re
from pathlib import Path

CASES = {
    "A": "01 02 04 06 07 08 09 10 12 14 15 16 17 18 20 21",
    "B": "01 02 03 05 06 07 10 12 13 14",
    "C": "01 03 04 06 08 09 11 12 13 14 16 17 18 19 20 21 22",
    "D": "01 02 04 05 08 09 11 12 13 15 16 17",
    "E": "01 03 04 07 08 09 11 12 13 14 15",
    "F": "01 02 03 04 06 07 08 09 10 11 12 14 15 16 17 18 21 22 23 25",
    "G": " ".join(f"{number:02}" for number in range(1, 36)),
}

# Those that have no test yet: an id goes from here as its test comes.
WITHOUT: dict[str, str] = {}


def in_full(numbers):
    return {letter + number for letter, each in numbers.items() for number in each.split(" ")}


IDS, NOT_YET = in_full(CASES), in_full(WITHOUT)


def ids_with_tests():
    found = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.name if isinstance(node, ast.FunctionDef) else ""
            if of_case := re.match(r"test_([a-g]\d\d)_", name):
                found.add(of_case[1].upper())
    return found


def test_every_case_has_a_test():
    missing = sorted(IDS - NOT_YET - ids_with_tests())
    assert not missing, f"no test in tests/cases is named after {' '.join(missing)}"


def test_those_that_have_none_yet_have_none():
    there = sorted(NOT_YET & ids_with_tests())
    assert not there, f"{' '.join(there)}: there are tests by now; take them out of NOT_YET"


def test_no_test_is_named_after_a_case_that_is_none():
    assert ids_with_tests() <= IDS
    assert NOT_YET < IDS
