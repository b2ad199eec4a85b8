"""Medians, ratios of rounds and their order."""

import pytest

from benchmarks.repeats import Spread, ratios, turn


def test_a_spread_is_median_smallest_and_largest():
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)
    assert Spread.of([1.0, 2.0]).median == 1.5


@pytest.mark.parametrize(
    ("values", "text"), [([2.0, 1.9, 2.4], "2.0 (1.9-2.4)"), ([2.0], "2.0"), ([2.01, 2.02], "2.0")]
)
def test_a_spread_is_told_once_where_all_are_equal(values, text):
    assert Spread.of(values).text() == text


def test_ratios_are_those_of_the_same_round():
    # Round by round 0.5 and 2, though the medians are equal.
    assert ratios([1.0, 4.0], [2.0, 2.0]) == [0.5, 2.0]


def test_rounds_that_one_side_failed_in_are_left_out():
    assert ratios([1.0, None, 3.0, 4.0], [2.0, 2.0, None, 0.0]) == [0.5]


def test_every_other_round_is_backwards():
    assert turn(["a", "b", "c"], 0) == ["a", "b", "c"]
    assert turn(["a", "b", "c"], 1) == ["c", "b", "a"]
