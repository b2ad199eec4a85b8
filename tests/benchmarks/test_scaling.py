"""What is made of the runs of several sizes: fits, tables, forecasts, on made costs."""

import pytest

from benchmarks import scaling
from benchmarks.figures import facts

MEBIBYTE = 1 << 20


def runs(cost, memory=lambda n: 100 * MEBIBYTE, sizes=(1000, 2000, 4000, 8000)):
    """Return two runs of each size of one stage, the second a tenth dearer."""
    return [
        {"stage": "align", "pairs": n, "cpu_seconds": k * cost(n), "seconds": k * cost(n), "rss": memory(n)}
        for n in sizes
        for k in (1.0, 1.1)
    ]


def test_sizes_have_the_median_of_their_runs():
    lines = scaling.size_lines(runs(lambda n: n / 100))
    assert [line["pairs"] for line in lines] == ["1000", "2000", "4000", "8000"]
    assert lines[0]["CPU s"] == "10.5 (10.0-11.0)"
    assert lines[0]["pairs/s"] == "95 (91-100)"
    assert lines[0]["RSS MiB"] == "100"


def test_exponents_are_told_for_every_cost():
    (line,) = scaling.fit_lines(scaling.fits_of(runs(lambda n: n / 100, lambda n: n * MEBIBYTE)))
    assert line["CPU s: b"] == "1.00"
    assert line["CPU s: b, start taken off"] == "1.00"
    assert line["RSS MiB: b"] == "1.00"
    few = scaling.fits_of(runs(lambda n: n / 100, sizes=(1000, 2000)))
    assert scaling.fit_lines(few)[0]["CPU s: b, start taken off"] == "n/a"


def fit_of(rows, cost="cpu_seconds"):
    return next(row for row in scaling.fits_of(rows) if row["cost"] == cost)


def test_a_forecast_is_the_largest_of_the_fits():
    straight = fit_of(runs(lambda n: 20 + n / 1000))
    value, kind = scaling.forecast(straight, 2_000_000)
    # A power alone would say 100 or less, because of what every run costs.
    assert straight["plain"].at(2_000_000) < 200
    assert value == pytest.approx(1.05 * 2020, rel=0.1)
    assert kind != "a n^b"
    growing = fit_of(runs(lambda n: (n / 1000) ** 1.5))
    assert scaling.forecast(growing, 2_000_000)[0] == pytest.approx(1.05 * 2000**1.5, rel=0.15)


def test_one_size_has_no_forecast():
    rows = runs(lambda n: 1.0, sizes=(1000,))
    assert scaling.forecast(fit_of(rows), 2_000_000) is None
    assert scaling.forecast_lines(scaling.fits_of(rows))[0]["2M pairs: CPU s"] == "n/a"


def test_memory_that_could_not_be_seen_is_left_out(tmp_path):
    rows = runs(lambda n: n / 100, lambda n: 0)
    assert scaling.size_lines(rows)[0]["RSS MiB"] == ""
    assert fit_of(rows, "rss")["plain"] is None
    scaling.publish(tmp_path, facts(0), rows)
    assert "FORECAST" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert (tmp_path / "scaling.png").stat().st_size > 5000
