"""Features of words against a slow twin; they stay with their pairs whatever is done to a block."""

from itertools import pairwise

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.features import EXTRA_GROUPS, Edges, compute, compute_parts, extra_names, parse_extra_groups
from align.features.groups import SCALE
from align.statistics.posteriors import Posteriors
from tests.align import toy

GROUPS = tuple(EXTRA_GROUPS)
RESOURCES = toy.toy_model().resources
WORDS = [[pair[side] for pair in toy.PAIRS] for side in (0, 1)]
EXTRA = ["unseen"]


def corpus(count=30, seed=1):
    """Sentences of no to eight words, an extra word among them."""
    generator = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        lengths = generator.integers(0, 9, count)
        sides.append(Sentences.from_lists([generator.integers(0, len(toy.PAIRS) + 1, k) for k in lengths]))
    return Corpus(*sides)


def sampled(text, seed=2):
    shapes = np.stack([text.source.lengths(), text.target.lengths()], axis=1)
    both = np.random.default_rng(seed).random((2, int(shapes.prod(axis=1).sum()))) ** 3
    return Posteriors.of(shapes, *(both * 65535).astype(np.uint16))


def computed(text, groups=GROUPS, **options):
    return compute(
        text, RESOURCES, groups=("position",), extra_groups=groups, extra_source=EXTRA, extra_target=EXTRA,
        **options,
    )  # fmt: skip


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
    assert edges.extra.names == extra_names(GROUPS, RESOURCES)
    assert edges.extra.names[:5] == (
        "extra.source.always", "extra.source.unexpected", "extra.source.apart", "extra.source.content",
        "extra.source.other..",
    )  # fmt: skip
    seen = set()
    for i, (n, m) in enumerate(edges.shapes):
        here, extra = slice(*edges.offsets[i : i + 2]), edges.block(i, i + 1).extra
        made = forward[here].reshape(n, m)
        source = twin(text.source.block(i, i + 1).ids, RESOURCES.source_vocabulary, made.tolist())
        np.testing.assert_allclose(extra.source / SCALE, source, atol=1e-5)
        made = reverse[here].reshape(n, m).T
        target = twin(text.target.block(i, i + 1).ids, RESOURCES.target_vocabulary, made.tolist())
        np.testing.assert_allclose(extra.target / SCALE, target, atol=1e-5)
        seen.update(np.sign(target[:, 1]).tolist())
    assert seen == {0.0, 1.0}
    assert min(edges.extra.source.min(), edges.extra.target.min()) >= 0
    assert edges.extra.source.dtype == edges.extra.target.dtype == np.float32


def test_without_posteriors_no_links_are_expected():
    edges = computed(corpus(), ("unexpected", "apart"))
    assert (edges.extra.source == SCALE).all()
    assert (edges.extra.target == SCALE).all()


def test_words_stay_with_their_pairs(monkeypatch, tmp_path):
    text = corpus(40)
    stored = sampled(text)
    whole = computed(text, posteriors=stored)
    monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 100)
    monkeypatch.setattr("align.features.groups._EDGES_A_BLOCK", 300)
    again = computed(text, posteriors=stored)
    parts = [
        edges.take(np.arange(len(edges)))
        for *_, edges in compute_parts(
            text, RESOURCES, groups=("position",), extra_groups=GROUPS, extra_source=EXTRA,
            extra_target=EXTRA, posteriors=stored,
        )
    ]  # fmt: skip
    assert len(parts) > 5
    whole.save(tmp_path)
    chosen = np.array([31, 4, 4, 0])
    for found, expected in (
        (again, whole),
        (Edges.join(parts), whole),
        (Edges.load(tmp_path), whole),
        (whole.take(chosen), Edges.join([whole.block(i, i + 1) for i in chosen])),
        (whole.block(3, 9), computed(text.block(3, 9), posteriors=stored.block(3, 9))),
    ):
        assert np.array_equal(found.extra.source, expected.extra.source)
        assert np.array_equal(found.extra.target, expected.extra.target)
        assert found.extra.names == expected.extra.names
        assert np.array_equal(found.shapes, expected.shapes)
    with pytest.raises(ValueError, match="different features of words"):
        Edges.join([whole, computed(text, ("always",))])
    np.save(tmp_path / "extra.source.npy", whole.extra.source[1:])
    with pytest.raises(InputError, match="features of words are"):
        Edges.load(tmp_path)


def test_without_groups_there_are_none(tmp_path):
    edges = computed(corpus(), ())
    assert edges.extra is None
    edges.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["features.npy", "names.json", "shapes.npy"]
    assert Edges.load(tmp_path).extra is None


def test_groups_are_read_in_the_order_of_the_table():
    assert parse_extra_groups("content, always") == ("always", "content")
    with pytest.raises(InputError, match="extra: 'often' is no group; valid: always, unexpected"):
        parse_extra_groups("always,often")
    with pytest.raises(InputError, match="names no group"):
        parse_extra_groups(" ,")
