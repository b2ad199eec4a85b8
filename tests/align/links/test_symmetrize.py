"""Symmetrization against the pseudo-code of its inventors, run over the whole table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.links import read_file, swapped
from align.links.symmetrize import METHODS, NEIGHBOURS, symmetrize

cells = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=18)


def combined(forward, reverse, *, method):
    return symmetrize(forward=forward, reverse=reverse, method=method)


def by_the_book(forward, reverse, method, size=7):
    """The published pseudo-code: loops over every cell of the table until nothing changes."""
    chosen, union = forward & reverse, forward | reverse

    def linked(*, source=None, target=None):
        return any(j == source or k == target for j, k in chosen)

    def grow():
        changed = True
        while changed:
            changed = False
            for j in range(size):
                for k in range(size):
                    if (j, k) not in chosen:
                        continue
                    for down, right in NEIGHBOURS:
                        new = (j + down, k + right)
                        free = not linked(source=new[0]) or not linked(target=new[1])
                        if free and new in union:
                            chosen.add(new)
                            changed = True

    def final(side, *, both):
        for j in range(size):
            for k in range(size):
                free = [not linked(source=j), not linked(target=k)]
                if (j, k) in side and (all(free) if both else any(free)):
                    chosen.add((j, k))

    if method == "union":
        return sorted(union)
    if method != "intersect":
        grow()
    if "final" in method:
        final(forward, both=method.endswith("and"))
        final(reverse, both=method.endswith("and"))
    return sorted(chosen)


@pytest.mark.parametrize("method", METHODS)
@given(forward=cells, reverse=cells)
def test_the_same_as_by_the_book(method, forward, reverse):
    assert combined(forward, reverse, method=method) == by_the_book(forward, reverse, method)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersect", [(0, 0), (3, 3)]),
        ("union", [(0, 0), (0, 1), (1, 1), (1, 4), (3, 3), (5, 0), (6, 6)]),
        # 0-1 touches 0-0 and frees target 1; 1-1 touches both, and source 1 is still free.
        ("grow-diag", [(0, 0), (0, 1), (1, 1), (3, 3)]),
        ("grow-diag-final", [(0, 0), (0, 1), (1, 1), (1, 4), (3, 3), (5, 0), (6, 6)]),
        ("grow-diag-final-and", [(0, 0), (0, 1), (1, 1), (3, 3), (6, 6)]),
    ],
)
def test_a_pair_worked_by_hand(method, expected):
    forward = {(0, 0), (0, 1), (3, 3), (1, 4), (6, 6)}
    reverse = {(0, 0), (1, 1), (3, 3), (5, 0)}
    assert combined(forward, reverse, method=method) == expected


@pytest.mark.parametrize("method", METHODS)
def test_no_links(method):
    assert combined([], [], method=method) == []
    only = combined([(0, 1)], [], method=method)
    assert only == ([] if method in {"intersect", "grow-diag"} else [(0, 1)])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("method", METHODS)
def test_large_indices_and_long_chains_end_soon(method):
    """Once a heuristic that scanned n x m cells, or swept once a link, did not end on such input."""
    far = [(0, 0), (10**9 - 1, 10**9 - 1)]
    assert combined(far, far, method=method) == far
    climb = [(j, 0) for j in range(20_000)]
    assert climb[-1] in combined(climb, climb[-1:], method=method)


def test_an_unknown_method():
    with pytest.raises(ValueError, match="no method 'grow'; choose one of intersect, union, grow-diag"):
        combined([], [], method="grow")


def test_the_published_intersection_of_mgiza(real_data):
    forward, reverse, published = (
        [pair.links for pair in read_file(real_data(f"gold/native/enfr.giza.{name}.talp"))]
        for name in ("forward", "reverse", "intersection")
    )
    for one, other, both in zip(forward, map(swapped, reverse), published, strict=True):
        found = combined([link[:2] for link in one], [link[:2] for link in other], method="intersect")
        assert found == [link[:2] for link in both]
