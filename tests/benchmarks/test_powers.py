"""Fits of growth on made costs whose answer is known."""

import numpy as np
import pytest

from benchmarks.powers import Power, fit, fit_with_constant, last_line

SIZES = [1000, 2000, 4000, 8000, 16000]


def test_a_power_is_found_exactly():
    found = fit(SIZES, [0.002 * n**1.2 for n in SIZES])
    assert found.factor == pytest.approx(0.002)
    assert found.exponent == pytest.approx(1.2)
    assert found.constant == 0


def test_each_run_of_a_size_counts():
    # Both errors of the larger size cancel in logarithms.
    found = fit([10, 10, 1000, 1000], [1, 1, 50, 200])
    assert found.exponent == pytest.approx(1.0)


def test_what_every_run_costs_hides_the_growth_and_is_taken_off():
    costs = [5 + 0.001 * n for n in SIZES]
    assert fit(SIZES, costs).exponent < 0.5
    found = fit_with_constant(SIZES, costs)
    assert found.exponent == pytest.approx(1.0, abs=0.02)
    assert found.constant == pytest.approx(5, rel=0.05)
    assert found.at(1_000_000) == pytest.approx(1005, rel=0.15)


def test_a_constant_that_is_not_there_is_not_found():
    found = fit_with_constant(SIZES, [0.5 * n**0.9 for n in SIZES])
    assert found.exponent == pytest.approx(0.9, abs=0.02)
    assert found.constant == pytest.approx(0, abs=0.02 * 0.5 * 1000**0.9)


def test_no_fit_with_a_constant_of_noise_or_of_few_sizes():
    assert fit_with_constant(SIZES[:3], [5 + 0.001 * n for n in SIZES[:3]]) is None
    assert fit_with_constant(SIZES, [3.0, 9.0, 2.0, 30.0, 4.0]) is None
    assert fit_with_constant(SIZES, [3.0] * 5) is None


@pytest.mark.parametrize(("sizes", "costs"), [([10], [1.0]), ([10, 10], [1.0, 2.0]), ([10, 20], [0.0, 1.0])])
def test_one_size_has_no_growth(sizes, costs):
    assert fit(sizes, costs) is None


def test_the_last_line_goes_through_the_medians_of_the_two_largest_sizes():
    line = last_line([1, 10, 10, 10, 20], [99.0, 4.0, 5.0, 60.0, 7.0])
    assert line.at(10) == pytest.approx(5)
    assert line.at(20) == pytest.approx(7)
    assert line.at(110) == pytest.approx(25)
    assert last_line([10, 20], [5.0, 5.0]) is None
    assert last_line([10], [5.0]) is None


def test_costs_are_numbers_of_any_size():
    power = Power(2.0, 1.0, 3.0)
    assert power.at(np.int64(2)) == 7.0
