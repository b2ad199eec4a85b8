"""Rates on small problems: what the curves say, and the command."""

import argparse
import csv

import numpy as np
import pytest

from align.core.errors import InputError
from benchmarks import rates


def test_away_steps_are_linear_where_plain_ones_zig_zag():
    curves = rates.zig_zag(1000)
    t, plain = curves["plain"]
    assert t.tolist() == list(range(1001))
    assert plain[-1] > 1e-5
    x, limit = rates.bound(1000)
    assert (plain[x] <= limit).all()
    for variant in ("away", "pairwise"):
        t, values = curves[variant]
        assert t[-1] < 100
        assert values[-1] < 1e-12


def test_what_bounds_the_rates_does():
    curves = rates.zig_zag(3000)
    found = rates.constants(curves)
    assert found["C_f, the largest of 2,000 samples"] == pytest.approx(12)
    assert found["L diam^2 >= C_f"] == pytest.approx(12)
    assert found["product curvature of the three segments, sampled"] == pytest.approx(12, rel=1e-2)
    assert found["pyramidal width"] == pytest.approx(2 / np.sqrt(3))
    assert found["vertex-facet distance"] == pytest.approx(2)
    # of t steps half are good ones: the mean fall is half of rho at least
    falls = [fall for name, fall in found.items() if "mean fall" in name]
    assert len(falls) == 4
    assert min(falls) >= found["rho, of a good step"] / 2
    for name in ("away, g / C", "pairwise, g / C"):
        assert curves[name][1][-1] < 1e-11
    t, plain = curves["plain, g / C"]
    assert (plain[1:] <= 2 * 12 / (t[1:] + 2)).all()


def test_seeing_few_atoms_costs_fewer_looks():
    curves = rates.lasso(300, 0)
    assert len(curves) == len(rates.SAMPLES)
    at = {}
    for name, (looked, gaps) in curves.items():
        assert (np.diff(looked) > 0).all()
        assert gaps[0] == 1
        at[name] = looked[np.flatnonzero(gaps <= 1e-4)[0]]
    every, *some = at.values()
    assert max(some) < every


def test_a_row_tells_where_a_level_is_reached_first():
    found = rates.line("made", (np.array([0, 10, 20, 30]), np.array([1.0, 0.05, 0.2, 1e-3])))
    assert found == {
        "": "made", "1e-01": "10", "1e-02": "30", "1e-03": "30", "1e-04": "-", "1e-06": "-", "1e-08": "-",
    }  # fmt: skip


def test_the_command_leaves_tables_curves_and_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rates, "SAMPLES", (1000, 100))
    rates.run(argparse.Namespace(steps=20, seed=0, out=tmp_path / "out"))
    assert capsys.readouterr().out == (tmp_path / "out" / "rates.md").read_text(encoding="utf-8")
    for name in ("zig-zag", "lasso"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        with open(tmp_path / "out" / f"{name}.csv", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert {row["curve"] for row in rows} >= (
            {"plain", "away"} if name == "zig-zag" else {"100 atoms by chance"}
        )
    with pytest.raises(InputError, match="--steps 0: give 1 or more"):
        rates.run(argparse.Namespace(steps=0, seed=0, out=tmp_path))
