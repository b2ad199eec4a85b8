import numpy as np
import pytest

from align.core.errors import InputError
from pipeline.work.usage import Meter, default_memory, parse_size, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 * 2**30), ("512m", 512 * 2**20), ("1.5GiB", 3 * 2**29), ("100kb", 102400), ("1000000", 10**6)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "0", "-1G", "4X", "lots", "nan", "inf"])
def test_odd_sizes_are_refused(text):
    with pytest.raises(InputError, match="--memory .*: no size; give for example 4G"):
        parse_size(text)


def test_sizes_are_shown_short():
    assert show_size(10) == "10 B"
    assert show_size(1.5 * 2**30) == "1.5 GB"
    assert show_size(3 * 2**40) == "3.0 TB"


def test_default_memory_is_below_the_machines():
    assert 2**28 < default_memory() < 2**46


def test_peak_memory_is_of_the_stretch_measured():
    big = np.ones(30_000_000)
    del big
    meter = Meter()
    before = meter.read().peak_memory
    held = np.ones(10_000_000)
    used = meter.read()
    assert 60e6 < used.peak_memory - before < 120e6
    assert held.sum() == 1e7
    assert used.seconds > 0
    assert used.cpu_seconds >= 0
