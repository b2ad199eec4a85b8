"""Features of words against a slow twin; they stay with their pairs whatever is done to a block."""

from itertools import pairwise

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.features import (
    WORD_GROUPS,
    Edges,
    PairBlock,
    compute,
    parse_groups,
    word_feature_names,
)  # fmt: skip
from align.features.groups import SCALE
from tests.align import toy

GROUPS = tuple(WORD_GROUPS)
RESOURCES = toy.toy_model().resources
WORDS = [[pair[side] for pair in toy.PAIRS] for side in (0, 1)]
UNKNOWN = ["unseen"]


def corpus(count=30, seed=1):
    """Sentences of no to eight words, an unknown word among them."""
    generator = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        lengths = generator.integers(0, 9, count)
        sides.append(Sentences.from_lists([generator.integers(0, len(toy.PAIRS) + 1, k) for k in lengths]))
    return Corpus(*sides)


def sampled(text, seed=2):
    shapes = text.shapes()
    both = np.random.default_rng(seed).random((2, int(shapes.prod(axis=1).sum()))) ** 3
    return toy.posteriors_of(shapes, *(both * 65535).astype(np.uint16))


def computed(text, groups=GROUPS, **options):
    pairs = PairBlock(text, UNKNOWN, UNKNOWN, **options)
    return compute(pairs, RESOURCES, groups=("position",), word_groups=groups)


def twin(words, vocabulary, made):
    """Features of the words of one side of a pair; ``made`` (words, others): what each has made."""
    rows = []
    for word, f in zip(words, made, strict=True):
        expected = sum(f)
        both = max([min(a, b) for a, b in pairwise(f)], default=0)
        frequency = vocabulary.counts[word] / vocabulary.counts.sum() if word < len(vocabulary) else 0
        others = [1.0 if word != other else 0.0 for other in range(min(30, len(vocabulary)))]
        unexpected = 1 - min(max(expected - 1, 0), 1)
        rows.append([1, unexpected, 1 - both, frequency < 0.002, *others])
    return np.array(rows, dtype=float).reshape(len(words), 4 + min(30, len(vocabulary)))


def test_features_of_words_are_their_documented_formulas():
    text = corpus()
    stored = sampled(text)
    edges = computed(text, posteriors=stored)
    forward, reverse = stored.dense(edges.shapes)
    assert edges.word_features.names == word_feature_names(GROUPS, RESOURCES)
    assert edges.word_features.names[:5] == (
        "extra.source.always", "extra.source.unexpected", "extra.source.apart", "extra.source.content",
        "extra.source.other..",
    )  # fmt: skip
    seen = set()
    for i, (n, m) in enumerate(edges.shapes):
        here, extra = slice(*edges.offsets[i : i + 2]), edges.block(i, i + 1).word_features
        made = forward[here].reshape(n, m)
        source = twin(text.source.block(i, i + 1).ids, RESOURCES.source_vocabulary, made.tolist())
        np.testing.assert_allclose(extra.source / SCALE, source, atol=1e-5)
        made = reverse[here].reshape(n, m).T
        target = twin(text.target.block(i, i + 1).ids, RESOURCES.target_vocabulary, made.tolist())
        np.testing.assert_allclose(extra.target / SCALE, target, atol=1e-5)
        seen.update(np.sign(target[:, 1]).tolist())
    assert seen == {0.0, 1.0}
    assert min(edges.word_features.source.min(), edges.word_features.target.min()) >= 0
    assert edges.word_features.source.dtype == edges.word_features.target.dtype == np.float32


def test_without_posteriors_no_links_are_expected():
    edges = computed(corpus(), ("unexpected", "apart"))
    assert (edges.word_features.source == SCALE).all()
    assert (edges.word_features.target == SCALE).all()


def test_words_stay_with_their_pairs(monkeypatch, tmp_path):
    text = corpus(40)
    stored = sampled(text)
    whole = computed(text, posteriors=stored)
    monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 100)
    monkeypatch.setattr("align.features.groups._EDGES_A_BLOCK", 300)
    again = computed(text, posteriors=stored)
    parts = [whole.block(start, start + 8) for start in range(0, 40, 8)]
    whole.save(tmp_path)
    chosen = np.array([31, 4, 4, 0])
    for found, expected in (
        (again, whole),
        (Edges.join(parts), whole),
        (Edges.load(tmp_path), whole),
        (whole.take(chosen), Edges.join([whole.block(i, i + 1) for i in chosen])),
        (whole.block(3, 9), computed(text.block(3, 9), posteriors=stored.block(3, 9))),
    ):
        assert np.array_equal(found.word_features.source, expected.word_features.source)
        assert np.array_equal(found.word_features.target, expected.word_features.target)
        assert found.word_features.names == expected.word_features.names
        assert np.array_equal(found.shapes, expected.shapes)
    with pytest.raises(ValueError, match="different features of words"):
        Edges.join([whole, computed(text, ("always",))])
    np.save(tmp_path / "extra.source.npy", whole.word_features.source[1:])
    with pytest.raises(InputError, match="features of words are"):
        Edges.load(tmp_path)


def test_without_groups_there_are_none(tmp_path):
    edges = computed(corpus(), ())
    assert edges.word_features is None
    edges.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("features.npy", "likely.npy", "names.json", "shapes.npy")
    ]
    assert Edges.load(tmp_path).word_features is None


def test_groups_are_read_in_the_order_of_the_table():
    assert parse_groups("content, always", WORD_GROUPS, "extra") == ("always", "content")
    with pytest.raises(InputError, match="extra: 'often' is no feature group; valid: always, unexpected"):
        parse_groups("always,often", WORD_GROUPS, "extra")
    with pytest.raises(InputError, match="names no feature group"):
        parse_groups(" ,", WORD_GROUPS, "extra")
