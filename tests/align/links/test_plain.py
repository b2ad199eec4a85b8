"""Links written by the kernel are those that are written one by one."""

from itertools import pairwise

import numpy as np
import pytest

from align.links import Link, format_pharaoh
from align.links.plain import pharaoh_lines


@pytest.mark.parametrize("most", [1, 10, 11, 100, 101, 1_000, 2**31])
def test_they_are_what_is_written_one_by_one(most):
    generator = np.random.default_rng(most)
    offsets = np.concatenate([[0], np.cumsum(generator.integers(0, 6, 60))])
    source, target = generator.integers(0, most, (2, offsets[-1])).astype(np.int32)
    if len(source):
        source[3] = target[5] = most - 1
    lines = [
        format_pharaoh(Link(int(j), int(k)) for j, k in zip(source[a:b], target[a:b], strict=True))
        for a, b in pairwise(offsets)
    ]
    assert pharaoh_lines(offsets, source, target).decode("ascii") == "".join(f"{line}\n" for line in lines)


def test_pairs_without_links_and_no_pairs():
    none = np.zeros(0, dtype=np.int32)
    assert pharaoh_lines(np.zeros(4, dtype=np.int64), none, none) == b"\n\n\n"
    assert pharaoh_lines(np.zeros(1, dtype=np.int64), none, none) == b""
