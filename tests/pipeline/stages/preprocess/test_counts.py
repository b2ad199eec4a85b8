"""The counts of a shard against slow ways to the same numbers."""

import numpy as np
import pytest

from align.data.anchors import hash_words
from pipeline.stages.preprocess.counts import (
    correlation,
    hash_pairs,
    length_sums,
    values_of_spans,
)


def hashes(pairs):
    """Hash pairs of word lists, each with the vocabulary of its side in an order of its own."""
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    words = [sorted({word for sentence in side for word in sentence}) for side in sides]
    ids = [
        np.array([known.index(word) for sentence in side for word in sentence], dtype=np.int32)
        for known, side in zip(words, sides, strict=True)
    ]
    return hash_pairs(
        [hash_words(known) for known in words],
        ids,
        [np.array([len(sentence) for sentence in side]) for side in sides],
    )


def test_values_of_spans():
    values = np.arange(10)
    assert values_of_spans(values, np.array([[2, 4], [4, 4], [0, 1]])).tolist() == [2, 3, 0]
    assert values_of_spans(values, np.zeros((0, 2), dtype=np.int64)).tolist() == []


def test_only_equal_pairs_have_equal_hashes():
    pairs = [
        (["a", "b"], ["c"]),
        (["b", "a"], ["c"]),
        (["a"], ["b", "c"]),
        (["a", "b"], ["c"]),
        (["c"], ["a", "b"]),
        (["a", "b", "a"], ["c"]),
        ([], ["a", "b", "c"]),
        (["ab"], ["c"]),
    ]
    found = hashes(pairs).tolist()
    assert found[0] == found[3]
    assert len(set(found)) == len(pairs) - 1
    # Whatever else is hashed with it, a pair has the same hash.
    assert hashes(pairs[:1]).tolist() == found[:1]


def test_correlation_of_the_lengths_of_lines_in_use():
    random = np.random.default_rng(0)
    source, target = random.integers(1, 40, 50), random.integers(1, 40, 50)
    alive = random.random(50) < 0.8
    expected = np.corrcoef(np.log1p(source[alive]), np.log1p(target[alive]))[0, 1]
    sums = length_sums(source, target, alive)
    np.testing.assert_allclose(correlation(sums), expected)
    # Sums of two shards add up to those of the lines of both.
    np.testing.assert_allclose(correlation(sums + sums), expected)


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_too_few_lines_have_no_correlation(lines):
    lengths = np.full(lines, 5)
    assert correlation(length_sums(lengths, lengths, np.ones(lines, dtype=bool))) == 0.0
