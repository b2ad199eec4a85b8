"""Shards cover all and are of about equal work; threads return what functions return, in order."""

from itertools import pairwise

import numpy as np
import pytest

from align.statistics.mapper import Threads, cut, writable


def test_shards_cover_all_and_are_of_about_equal_work():
    work = np.concatenate([[0], np.cumsum(np.r_[np.full(10, 1), 50, np.full(89, 1)])])
    shards = cut(work, 4)
    assert shards[0][0] == 0
    assert shards[-1][1] == 100
    assert all(left[1] == right[0] for left, right in pairwise(shards))
    assert max(work[last] - work[first] for first, last in shards) <= work[-1] / 4 + 50
    assert cut(np.zeros(4, dtype=np.int64), 3) == ((0, 3),)


@pytest.mark.parametrize("jobs", [1, 3])
def test_threads_keep_the_order(jobs):
    threads = Threads(jobs)
    assert threads.map(divmod, [(7, 2), (9, 4), (5, 5)]) == [(3, 1), (2, 1), (1, 0)]
    offsets = np.array([0, 2, 2, 5])
    filled = threads.fill(lambda value, part: part.fill(value), [(1,), (2,), (3,)], offsets)
    assert filled.tolist() == [1, 1, 3, 3, 3]


def test_what_can_only_be_read_is_copied_to_be_changed():
    values = np.arange(3)
    assert writable(values) is values
    values.flags.writeable = False
    writable(values)[0] = 7
    assert values[0] == 0
