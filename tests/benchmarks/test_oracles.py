"""The benchmark of oracles: rows, and the comparison of values."""

import numpy as np
import pytest

from align.core.ragged import edge_offsets
from align.features import Edges
from align.links import Link
from align.matching import linear_program
from align.problems.labels import Labels
from benchmarks import oracles


@pytest.fixture
def pairs():
    generator = np.random.default_rng(0)
    shapes = np.array([[3, 4], [5, 2], [4, 4]], dtype=np.int32)
    offsets = edge_offsets(shapes)
    features = generator.normal(size=(offsets[-1], 2)).astype(np.float32)
    links = [[Link(0, 0), Link(1, 1)], [Link(2, 1)], []]
    return Edges(shapes, offsets, features, ("a", "b")), Labels.from_lists(links)


def test_rows_of_the_oracles(pairs):
    rows = oracles.oracle_rows(*pairs, 1, rounds=2, seed=0)
    assert [row["what"] for row in rows] == [
        "max oracle: assignment", "the same by HiGHS", "bcfw: oracle, step, average",
    ]  # fmt: skip
    assert {row["pairs"] for row in rows} == {2}  # the third has no link
    assert rows[1]["ratio"] == rows[1]["us"] / rows[0]["us"] > 1
    assert oracles.line({"what": "a", "pairs": 2, "us": 12.34, "ratio": 3.0}) == {
        "what": "a", "pairs": "2", "us a pair": "12.3", "ratio": "3.0",
    }  # fmt: skip


def test_rows_of_the_projections(monkeypatch):
    monkeypatch.setattr(oracles, "BLOCK", 2)
    rows = oracles.projection_rows(rounds=1, seed=0)
    assert len(rows) == 6 * len(oracles.SCALES)
    assert rows[0]["ratio"] == 1


def test_values_that_differ_are_seen(monkeypatch):
    monkeypatch.setattr(oracles, "PROBLEMS", 20)
    assert max(oracles.worst_differences(0).values()) < 1e-9
    monkeypatch.setattr(linear_program, "solve", lambda theta, *_, **__: np.zeros(theta.shape, dtype=bool))
    assert min(oracles.worst_differences(0).values()) > 0.1
