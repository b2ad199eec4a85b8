"""Finding the place where two texts stop being parallel."""

import numpy as np
import pytest

from align.data import line_counts
from align.data.line_counts import LengthTrace


def lengths(seed, count):
    generator = np.random.default_rng(seed)
    source = generator.lognormal(4, 0.7, count).astype(int) + 1
    target = (source * generator.lognormal(0.1, 0.25, count)).astype(int) + 1
    return source.tolist(), target.tolist()


def suspicion(source, target):
    trace = LengthTrace()
    for pair in zip(source, target, strict=False):
        trace.add(*pair)
    return trace.suspicion(len(source) - len(target))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("place", [3, 200, 700, 950])
@pytest.mark.parametrize("missing", [1, 4])
def test_missing_lines_are_found_on_either_side(seed, place, missing):
    source, target = lengths(seed, 1000)
    cut = target[:place] + target[place + missing :]
    assert suspicion(source, cut) == pytest.approx(place + 1, abs=12)
    assert suspicion(cut, source) == pytest.approx(place + 1, abs=12)


def test_a_surplus_at_the_end_has_no_place():
    source, target = lengths(0, 1000)
    assert suspicion(source, target[:-3]) is None
    assert suspicion([5], []) is None
    assert suspicion([5, 6, 7], [5]) is None


def test_long_texts_are_kept_in_blocks(monkeypatch):
    monkeypatch.setattr(line_counts, "CAPACITY", 1024)
    source, target = lengths(1, 40_000)
    place = suspicion(source, target[:23_000] + target[23_001:])
    assert place == pytest.approx(23_001, abs=3 * line_counts.BLOCK)
    assert suspicion(source, target[:-1]) is None


def test_empty_lines_do_no_harm():
    assert suspicion([0] * 100, [0] * 99) is None
