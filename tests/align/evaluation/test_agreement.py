"""Kappa on published examples and against a plain twin; AER and F1 against the metrics of ``score``."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.evaluation import metrics
from align.evaluation.agreement import FIGURES, agreement, kappa, tables
from align.evaluation.grouped import GROUPS, Grouped
from align.links import Link, parse_pharaoh


def corpus(*lines):
    return [parse_pharaoh(line) for line in lines]


def plain_kappa(says):
    """Cohen's formula from the list of what both say of each cell."""
    total = len(says)
    observed = sum(one == other for one, other in says) / total
    kinds = {kind for both in says for kind in both}
    expected = sum(
        sum(one == kind for one, _ in says) / total * (sum(other == kind for _, other in says) / total)
        for kind in kinds
    )
    return None if expected == 1 else (observed - expected) / (1 - expected)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Cohen 1960, frequencies of 200: p_o = 0.70, p_e = 0.41, kappa = 0.492
        ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.4915254237),
        # two by two: p_o = 0.7, p_e = 0.5; then the same p_o with other margins
        ([[20, 5], [10, 15]], 0.4),
        ([[45, 15], [25, 15]], 0.1304347826),
        ([[25, 35], [5, 35]], 0.2592592593),
        ([[0, 7], [7, 0]], -1.0),
        ([[3, 0], [0, 4]], 1.0),
    ],
)
def test_published_examples(table, expected):
    assert kappa(np.array(table)) == pytest.approx(expected, abs=1e-9)


def test_with_more_cells_without_a_link_kappa_comes_nearer_to_f1():
    """Hripcsak and Rothschild 2005: F1 is its limit."""
    f1 = 2 * 40 / (2 * 40 + 7 + 9)
    away = [f1 - kappa(np.array([[none, 7], [9, 40]])) for none in (50, 500, 5000, 50_000)]
    assert all(more > less > 0 for more, less in pairwise(away))
    assert away[-1] < 2e-4


def test_one_category_alone_has_no_kappa():
    assert np.isnan(kappa(np.array([[9, 0], [0, 0]])))
    assert np.isnan(kappa(np.zeros((2, 2))))
    assert kappa(np.array([[8, 1], [0, 0]])) == 0.0


def test_the_table_of_a_pair():
    found = tables(corpus("0-0 1p1 2-2"), corpus("0-0 1-1 2p2 3p3"), [20])
    assert found.tolist() == [[[16, 1, 0], [0, 0, 1], [0, 1, 1]]]
    # listed twice: sure if it is so once
    twice = [[Link(0, 0, False), Link(0, 0, True), Link(0, 0, False)]]
    assert tables(twice, [[]], [4])[0].tolist() == [[3, 0, 0], [0, 0, 0], [1, 0, 0]]
    with pytest.raises(ValueError, match="1 and 2 pairs of annotators, of 1 that have cells"):
        tables([[]], [[], []], [4])


links = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 4)), st.booleans(), max_size=8).map(
    lambda cells: [Link(*cell, sure) for cell, sure in sorted(cells.items())]
)


@given(st.lists(st.tuples(links, links), max_size=5))
def test_figures_of_random_pairs(pairs):
    first, second = [list(side) for side in zip(*pairs, strict=True)] or ([], [])
    found = agreement(tables(first, second, [20] * len(first)))
    says = [
        tuple(next((1 + link.sure for link in side if link[:2] == (i, j)), 0) for side in (one, other))
        for one, other in pairs
        for i in range(4)
        for j in range(5)
    ]
    assert (found.pairs, found.cells) == (len(pairs), len(says))
    for value, cells in (
        (found.kappa, [(bool(one), bool(other)) for one, other in says]),
        (found.kappa_kinds, says),
    ):
        expected = plain_kappa(cells) if cells else None
        assert value is None if expected is None else value == pytest.approx(expected, abs=1e-9)
    sure = [[[link for link in side if link.sure] for side in sides] for sides in (first, second)]
    everything = [[[Link(*link[:2]) for link in side] for side in sides] for sides in (first, second)]
    assert found.aer_ab == metrics.score(metrics.statistics(second, first)).aer
    assert found.aer_ba == metrics.score(metrics.statistics(first, second)).aer
    assert found.f1 == metrics.score(metrics.statistics(everything[1], everything[0])).f1
    assert found.f1_sure == metrics.score(metrics.statistics(sure[1], sure[0])).f1


def test_intervals_hold_the_figures_and_do_not_depend_on_anything_but_the_seed():
    generator = np.random.default_rng(3)
    cells = [81] * 60
    sides = [
        [
            [Link(i, i, bool(generator.integers(5))) for i in range(9) if generator.integers(6)]
            for _ in range(60)
        ]
        for _ in range(2)
    ]
    counts = tables(*sides, cells)
    found = agreement(counts, samples=400, seed=7)
    assert set(found.intervals) == set(FIGURES)
    for name in FIGURES:
        low, high = found.intervals[name]
        assert low < getattr(found, name) < high
    assert found == agreement(counts, samples=400, seed=7)
    assert found.intervals != agreement(counts, samples=400, seed=8).intervals
    assert agreement(counts).intervals == {}


def test_groups_are_the_pairs_while_there_are_few():
    counts = np.random.default_rng(1).integers(0, 9, (300, 5))
    grouped = Grouped(5)
    for start in range(0, 300, 70):
        grouped.add(counts[start : start + 70])
    assert grouped.pairs == 300
    assert np.array_equal(grouped.rows, counts)


def test_groups_of_many_pairs_give_the_intervals_of_the_pairs():
    generator = np.random.default_rng(5)
    size = 5 * GROUPS + 17
    possible = generator.integers(5, 40, size)
    sure = generator.binomial(possible, 0.7)
    matched = generator.binomial(sure, 0.9)
    counts = np.stack([matched + generator.integers(0, 4, size), sure, matched, matched, possible], axis=1)
    grouped = Grouped(5)
    for start in range(0, size, 999):
        grouped.add(counts[start : start + 999])
    assert len(grouped.rows) == GROUPS
    assert np.array_equal(grouped.rows.sum(axis=0), counts.sum(axis=0))
    widths = []
    for rows in (counts, grouped.rows):
        low, high = metrics.bootstrap(rows, samples=2000).aer
        widths.append(high - low)
        assert low < metrics.score(counts).aer < high
    # the two spreads differ by the noise of 2000 samples and of 4000 groups, a few in a hundred
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
