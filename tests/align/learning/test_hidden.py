"""Labelled pairs as text that comes later: with words that are not known."""

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import Resources
from align.learning.hidden import hide
from align.links import Link
from align.problems.labels import Labels

KNOWN, LENGTH = 50, 8


def given(count=200):
    """Pairs of words of which each knows its place; all but two of each are linked, two words twice."""
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(KNOWN)]
    ids = [generator.permutation(KNOWN)[:LENGTH].tolist() for _ in range(count)]
    corpus = Corpus(*(Sentences.from_lists(ids) for _ in range(2)))
    counts = np.bincount(np.concatenate(ids), minlength=KNOWN)
    counts[7] = 1
    vocabularies = Vocabulary(words, counts), Vocabulary(words, counts)
    labels = Labels.from_lists([[Link(j, j) for j in range(6)] + [Link(4, 5)]] * count)
    return corpus, labels, Resources(None, None, None, *vocabularies)


OWN = {None, *(f"w{number}" for number in range(KNOWN))}


@pytest.fixture(scope="module")
def hidden():
    corpus, labels, resources = given()
    return corpus, labels, *hide(corpus, labels, resources, seed=1)


def spelt(block):
    """The words of both sides, pair by pair; None for those that are known."""
    sides = (block.corpus.source, block.unknown_source), (block.corpus.target, block.unknown_target)
    return [
        [
            [unknown[word - KNOWN] if word >= KNOWN else None for word in row]
            for row in np.asarray(side.ids).reshape(-1, LENGTH).tolist()
        ]
        for side, unknown in sides
    ]


def test_links_follow_words_that_change_their_places(hidden):
    _, labels, block, moved = hidden
    assert block.posteriors is None
    assert len(moved.source) == len(labels.source)
    sources, targets = spelt(block)
    apart = alike = made = 0
    for pair in range(len(moved)):
        own = slice(moved.offsets[pair], moved.offsets[pair + 1])
        links = list(zip(moved.source[own].tolist(), moved.target[own].tolist(), strict=True))
        assert links == sorted(links)
        assert {(4, 4), (4, 5), (5, 5)} <= set(links)
        strange = [(j, k) for j, k in links if sources[pair][j] not in OWN]
        assert 2 <= len(strange) <= 6
        made += len(strange)
        assert all(j == k for j, k in links if (j, k) not in strange and (j, k) != (4, 5))
        assert not any(targets[pair][k] in OWN for _, k in strange)
        apart += sum(j != k for j, k in strange)
        alike += sum(sources[pair][j] == targets[pair][k] for j, k in strange)
    assert apart > 0.5 * made
    assert alike > 0.4 * made


def test_rare_words_and_some_others_are_unknown(hidden):
    corpus, _, block, _ = hidden
    before, after = (np.asarray(each.source.ids) for each in (corpus, block.corpus))
    gone = after >= KNOWN
    named = np.array([block.unknown_source[max(number - KNOWN, 0)] for number in after.tolist()])
    kept = ~gone | np.isin(named, [*OWN - {None}])  # what no other word was put in the place of
    assert gone[before == 7].all()
    assert 0.1 < gone[kept & (before != 7)].mean() < 0.2
    assert (after[~gone] == before[~gone]).all()
    assert named[gone & kept].tolist() == [f"w{number}" for number in before[gone & kept].tolist()]
    assert (before < KNOWN).all()


def test_a_seed_decides():
    pairs = given(20)
    corpus, labels, resources = pairs
    first, second, third = (hide(*pairs, seed=seed) for seed in (3, 3, 4))
    assert first[0].unknown_target == second[0].unknown_target
    assert np.array_equal(first[0].corpus.source.ids, second[0].corpus.source.ids)
    assert not np.array_equal(first[0].corpus.source.ids, third[0].corpus.source.ids)
    later, own = hide(corpus.block(5, 20), labels.block(5, 20), resources, seed=3, first=5)
    assert spelt(later)[0] == spelt(first[0])[0][5:]
    assert np.array_equal(own.target, first[1].block(5, 20).target)
