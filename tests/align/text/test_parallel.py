"""Long pairs to parallel parts."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.text.parallel import LongSide, Part, match, split_pair

COSTS = {(1, 1): 0.89, (1, 0): 0.0099, (0, 1): 0.0099, (2, 1): 0.089, (1, 2): 0.089, (2, 2): 0.011}


def side(*sentences):
    """A side of given sentences (texts of tokens)."""
    tokens = [sentence.split() for sentence in sentences]
    ends = list(itertools.accumulate(map(len, tokens)))
    flat = [token for sentence in tokens for token in sentence]
    return LongSide(flat, [1] * len(flat), ends)


def price(groups, source, target):
    """The cost of a matching, from the formula."""
    ratio = sum(target) / sum(source)
    i = j = total = 0
    for take in groups:
        one, other = sum(source[i : i + take[0]]), sum(target[j : j + take[1]])
        i, j = i + take[0], j + take[1]
        delta = abs(other - ratio * one) / math.sqrt(6.8 * (one + other / ratio) / 2)
        total -= math.log(COSTS[take]) + math.log(max(math.erfc(delta / math.sqrt(2)), 1e-300))
    return total


def every_matching(n, m):
    if n == m == 0:
        yield []
    for take in COSTS:
        if take[0] <= n and take[1] <= m:
            for rest in every_matching(n - take[0], m - take[1]):
                yield [take, *rest]


sizes = st.lists(st.integers(1, 120), min_size=1, max_size=4)


@given(sizes, sizes)
def test_the_cheapest_of_all_matchings_is_found(source, target):
    best = min(price(groups, source, target) for groups in every_matching(len(source), len(target)))
    assert price(match(source, target), source, target) == pytest.approx(best)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ([100, 20, 60], [110, 22, 66], [(1, 1)] * 3),
        ([100, 20, 60], [132, 66], [(2, 1), (1, 1)]),
        ([120, 60], [100, 20, 60], [(1, 2), (1, 1)]),
        ([], [10, 20], [(0, 1), (0, 1)]),
        ([10], [], [(1, 0)]),
        ([], [], []),
    ],
)
def test_matching_by_length(source, target, expected):
    assert match(source, target) == expected


def test_thousands_of_sentences_take_no_square():
    assert match([50] * 600, [60] * 600) == [(1, 1)] * 600
    assert sum(take[1] for take in match([50] * 300, [50] * 350)) == 350


def test_sentences_are_put_together_up_to_the_limit():
    source = side("a b c .", "d e .", "f g h i .")
    target = side("A B C .", "D E .", "F G H I .")
    assert split_pair(source, target, limit=7) == [Part((0, 7), (0, 7)), Part((7, 12), (7, 12))]
    assert split_pair(source, target, limit=5) == [
        Part((0, 4), (0, 4)),
        Part((4, 7), (4, 7)),
        Part((7, 12), (7, 12)),
    ]


def test_a_sentence_over_the_limit_is_split_at_its_marks():
    source = side("alpha beta gamma , delta epsilon ; zeta eta theta .")
    target = side("alpha beta gamma , delta epsilon ; zeta eta theta .")
    parts = split_pair(source, target, limit=4)
    assert parts == [Part((0, 4), (0, 4)), Part((4, 7), (4, 7)), Part((7, 11), (7, 11))]


def test_marks_in_a_row_end_one_clause():
    source = side("a b , » c d e")
    assert split_pair(source, source, limit=4) == [Part((0, 4), (0, 4)), Part((4, 7), (4, 7))]


def test_what_cannot_be_split_is_given_whole():
    long = side(" ".join(["word"] * 9))
    assert split_pair(long, side("mot mot"), limit=5) == [Part((0, 9), (0, 2))]


def test_weights_count_against_the_limit():
    source = LongSide(["du", ".", "au", "."], [2, 1, 2, 1], [2, 4])
    target = side("of .", "to .")
    assert split_pair(source, target, limit=3) == [Part((0, 2), (0, 2)), Part((2, 4), (2, 4))]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.integers(1, 12),
)
def test_the_parts_cover_the_pair_in_order(source, target, limit):
    sides = [side(*(" ".join(["w"] * (size - 1) + [","]) for size in sizes)) for sizes in (source, target)]
    parts = split_pair(*sides, limit=limit)
    for place, total in ((0, sum(source)), (1, sum(target))):
        ends = [0, *(part[place][1] for part in parts)]
        assert [part[place][0] for part in parts] == ends[:-1]
        assert ends[-1] == total
