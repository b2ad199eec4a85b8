"""Stretches of lines that do not stand beside their translations, against a slow plain search."""

import random
from itertools import pairwise

import numpy as np
import pytest

from align.data import shifted_lines
from align.data.anchors import joined
from align.data.shifted_lines import CHANGE, NEAR, Stretch, decode, find_stretches, scan
from tests.align.data.line_signs import found, signs, translations


def evidence(arrays, i, j):
    """Return e(i, j) as the module's docstring has it."""
    source, target, table, anchors, others, offsets, other_offsets, match, missing = arrays
    if not (0 <= j < len(target) and source[i] and target[j]):
        return 0.0
    there = set(others[other_offsets[j] : other_offsets[j + 1]].tolist())
    told = sum(
        float(match[a]) if int(anchors[a]) in there else float(missing[0])
        for a in range(offsets[i], offsets[i + 1])
    )
    return float(table[source[i], target[j]]) + min(max(told, -4.0), 4.0)


def slow_decode(arrays, shifts):
    """Return the best total over all sequences of states, by a table of all changes; strangers come last."""
    here = shifts.index(0)
    totals = [0.0 if state == here else -CHANGE for state in range(len(shifts) + 1)]
    for i in range(len(arrays[0])):
        totals = [
            max(total - CHANGE * (state != before) for before, total in enumerate(totals))
            + (evidence(arrays, i, i + shifts[state]) if state < len(shifts) else 0.0)
            for state in range(len(shifts) + 1)
        ]
    return max(totals)


def total_of(arrays, shifts, states):
    """Return what a sequence of states is worth."""
    states = [shifts.index(0), *states.tolist()]
    worth = -CHANGE * sum(one != other for one, other in pairwise(states))
    for i, state in enumerate(states[1:]):
        worth += evidence(arrays, i, i + shifts[state]) if state < len(shifts) else 0.0
    return worth


@pytest.mark.parametrize("seed", range(4))
def test_the_best_sequence_is_that_of_a_slow_search(seed):
    source, target = translations(160, seed)
    rng = random.Random(seed)
    first = rng.randrange(20, 60)
    target = target[:first] + target[first + 2 :] + ["mot", ""]
    target[90:150] = rng.sample(target[90:150], 60)
    shifts = [-3, -2, -1, 0, 1, 5]
    arrays = shifted_lines._arrays(signs(source, target), np.arange(-NEAR, NEAR + 1))
    states, told, usual = decode(arrays, np.array(shifts), 3, CHANGE)
    assert set(states.tolist()) == {1, 3, 6}
    assert total_of(arrays, shifts, states) == pytest.approx(slow_decode(arrays, shifts), abs=1e-3)
    for i, state in enumerate(states.tolist()):
        expected = evidence(arrays, i, i + shifts[state]) if state < len(shifts) else 0.0
        assert told[i] == pytest.approx(expected, abs=1e-5)
        assert usual[i] == pytest.approx(evidence(arrays, i, i), abs=1e-5)


def test_the_table_of_lengths_is_the_formula():
    random = np.random.default_rng(0)
    source = random.integers(40, 90, 3000).astype(np.uint8)
    target = (source + np.rint(random.normal(4, 3, 3000))).astype(np.uint8)
    table = shifted_lines.length_table(source, target, np.arange(-NEAR, NEAR + 1))
    # Of a translation, of a far length, of a line out of use.
    assert table[60, 64] > 1
    assert table[60, 64] > table[60, 70] > table[60, 80]
    assert table[60, 110] == pytest.approx(np.log(0.1), abs=0.05)
    assert not table[0].any()
    assert not table[:, 0].any()
    # Over the target's frequencies the ratio of two probabilities has the mean 1.
    frequency = np.bincount(target, minlength=256) / 3000
    assert np.exp(table[60].astype(float)) @ frequency == pytest.approx(1, abs=0.1)


def test_translations_have_no_stretch():
    assert found(*translations(6000)) == []


@pytest.mark.parametrize("lines", [0, 1, 10, 24, 40])
def test_few_lines_are_no_text_to_judge(lines):
    source, target = translations(lines)
    assert found(source, target[::-1]) == []


def test_lines_that_are_all_alike_tell_nothing():
    assert found(["coffee"] * 300, ["un café"] * 300) == []
    assert found(["a b", "c d e f g h"] * 200, ["x y", "u v w x y z"] * 200) == []
    assert found([""] * 100, ["x"] * 100) == []


def test_windows_of_a_long_text_give_what_one_does():
    source, target = translations(9000, 3)
    target[2000:7001] = [*target[2001:7001], "mot"]
    blocks = [
        signs(source[start : start + 500], target[start : start + 500]) for start in range(0, 9000, 500)
    ]
    whole = find_stretches(joined(blocks))
    assert [each.shift for each in whole] == [-1]
    for window in (1, 2000, 4500, 8999):
        parts = scan(blocks, window=window)
        assert [each.shift for each in parts] == [-1], window
        assert max(abs(parts[0].first - whole[0].first), abs(parts[0].stop - whole[0].stop)) <= 2
    assert scan([]) == []


def test_stretches_that_touch_at_a_seam_are_one():
    kept = [Stretch(0, 10, 1)]
    shifted_lines._extend(kept, [Stretch(0, 5, 1), Stretch(5, 9, None), Stretch(12, 20, 2)], 8, 10, 22)
    assert kept == [Stretch(0, 13, 1), Stretch(13, 17, None), Stretch(20, 22, 2)]
