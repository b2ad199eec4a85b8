"""The benchmark of solvers with many pairs: one fit, and the rows."""

import argparse
import sys

import numpy as np
import pytest

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.features import Edges
from align.links import Link
from align.problems.labels import Labels
from align.problems.matching import MatchingProblem
from benchmarks import many_pairs


@pytest.fixture
def made(monkeypatch):
    generator = np.random.default_rng(0)
    shapes = np.full((12, 2), 4, dtype=np.int32)
    offsets = edge_offsets(shapes)
    features = generator.normal(size=(offsets[-1], 3)).astype(np.float32)
    labels = Labels.from_lists([[Link(place, place) for place in range(3)] for _ in range(12)])
    problem = MatchingProblem(Edges(shapes, offsets, features, ("a", "b", "c")), labels)
    monkeypatch.setattr(many_pairs, "alignment_problem", lambda featurize, label: problem)
    return problem


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by Linux")
@pytest.mark.parametrize("name", many_pairs.RUNS)
def test_every_run_is_measured(made, tmp_path, name):
    found = many_pairs.fitted(name, tmp_path, tmp_path, seed=0)
    assert (found["n"], found["d"], found["features"]) == (12, 3, made.data.features.nbytes)
    assert found["memory"] >= found["before"] > 0
    gaps = found["gaps"]
    assert list(gaps) == list(many_pairs.SHOWN)
    assert all(gap is not None and gap > -1e-12 for gap in gaps.values())
    assert gaps[20] < gaps[1]
    assert found["seconds"] > 0
    row = many_pairs.line(name, found)
    assert row["solver"] == name
    assert row["gap after 20"].endswith(" %")


def test_wrong_options_are_told(tmp_path):
    def arguments(**other):
        return argparse.Namespace(**{"fit": None, "config": None, "pairs": 5, "runs": None} | other)

    with pytest.raises(InputError, match="--config, --pairs: give the configuration of a corpus"):
        many_pairs.run(arguments())
    with pytest.raises(InputError, match="--runs: 'simplex' is none of bcfw; "):
        many_pairs.run(arguments(config=tmp_path / "a.toml", runs="bcfw; simplex"))
    (tmp_path / "a.toml").write_text("[corpus]\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.toml: .*give a configuration with a corpus\.name"):
        many_pairs.featurized(arguments(config=tmp_path / "a.toml"), {})
