"""Faults put into a text: what is wrong then, and how what was found is judged."""

import json

import numpy as np
import pytest

from align.data.shifted_lines import Stretch
from benchmarks import shifts
from tests.align.data.line_signs import translations


def test_faults_are_what_they_are_said_to_be():
    generator = np.random.default_rng(0)
    kinds = set()
    for _ in range(60):
        rows = np.arange(500, 1500)
        fault = shifts.make_fault(rows, generator)
        kinds.add(fault.kind)
        assert len(fault.source) == len(fault.target) <= len(rows)
        wrong = np.zeros(len(fault.source), dtype=bool)
        for stretch in fault.stretches:
            wrong[stretch.first : stretch.stop] = True
            if stretch.shift is not None:
                i = np.arange(stretch.first, stretch.stop)
                i = i[(i + stretch.shift >= 0) & (i + stretch.shift < len(rows) - 3)]
                right = fault.source[i] == fault.target[i + stretch.shift]
                # A line that is missing has no partner.
                assert np.count_nonzero(~right) <= abs(stretch.shift) * (fault.kind != "swapped")
        assert (fault.source[~wrong] == fault.target[~wrong]).all()
        assert 100 <= fault.lines <= 500
    assert kinds == set(shifts.KINDS)


def test_a_fault_is_found_where_the_larger_part_of_every_stretch_is():
    both = np.arange(1000)
    fault = shifts.Fault("swapped", both, both, [Stretch(100, 200, 50), Stretch(200, 300, -50)])

    def found(*stretches):
        trial = shifts.judge(fault, [Stretch(*each) for each in stretches])
        return trial.found, trial.shift, trial.away

    assert found((100, 200, 50), (200, 300, -50)) == (True, True, 0)
    assert found((90, 302, None)) == (True, False, 10)
    assert found((100, 250, 50)) == (False, False, 50)
    assert found() == (False, False, -1)


def test_alarms_at_one_place_are_told_once():
    assert shifts.merged_places([(50, 60), (5, 9), (8, 30), (6, 7)]) == [(5, 30), (50, 60)]


def test_the_command(command, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.benchmarks.conftest.FAST", [])
    paths = []
    for name, lines in zip(("en", "fr"), translations(1500), strict=True):
        paths.append(tmp_path / name)
        paths[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words = ["--corpus", *paths, "--pairs", "800", "--rounds", "5"]
    printed, out = command(shifts, *words)
    assert "| all | 5 | 5 |" in printed
    assert "0 of 5 samples as they are have an alarm.\n" in printed
    told = json.loads((out / "shifts.json").read_text(encoding="utf-8"))
    assert len(told["trials"]) == 5
    with pytest.raises(SystemExit, match="2"):
        command(shifts, *words, "--pairs", "3000")
