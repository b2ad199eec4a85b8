"""The hidden Markov model against enumeration; its likelihood, agreement, dictionaries, odd sentences."""

from itertools import product

import numpy as np
import pytest

from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.statistics import lexicon, markov, markov_kernels
from align.statistics.markov import Priors
from align.statistics.sampler import Known, shapes_of


def bitext(seed, pairs, *, words=12, longest=6):
    """Pairs in which word i translates word i, in nearly the same order; some words are lost."""
    generator = np.random.default_rng(seed)
    sides = [], []
    for _ in range(pairs):
        line = generator.integers(0, words, generator.integers(1, longest))
        other = line[generator.random(len(line)) < 0.9].tolist()
        if len(other) > 1 and generator.random() < 0.3:
            other[:2] = other[1::-1]
        sides[0].append(line.tolist())
        sides[1].append(other)
    return Corpus(*(Sentences.from_lists(side) for side in sides))


def model1(corpus, words=12, least=0.0):
    return lexicon.estimate(corpus, words, words, min_probability=least)


def enumerated(hidden, observed, table, null, jumps, null_probability):
    """Sum over all places and all choices of NULL; returns what the kernel does, in dense arrays."""
    n, m, centre = len(hidden), len(observed), len(jumps) // 2
    posterior, none = np.zeros((n, m)), np.zeros(m)
    seen, chances = np.zeros(len(jumps)), np.zeros(len(jumps))
    total = 0.0

    def whole(i):
        return sum(jumps[centre + j - i] for j in range(n))

    for places in product(range(n), repeat=m):
        for nulls in product([False, True], repeat=m):
            probability, moves = 1.0, []
            for k in range(m):
                before = places[k - 1] if k else -1
                if nulls[k]:
                    probability *= null_probability * null[observed[k]]
                    if k:
                        probability *= places[k] == before
                else:
                    probability *= (1 - null_probability) * table[hidden[places[k]], observed[k]]
                if not nulls[k] or k == 0:  # NULL has a place of its own before the first word only
                    probability *= jumps[centre + places[k] - before] / whole(before)
                    moves.append((before, places[k]))
            total += probability
            for k in range(m):
                if nulls[k]:
                    none[k] += probability
                else:
                    posterior[places[k], k] += probability
            for before, place in moves:
                seen[centre + place - before] += probability
                for j in range(n):
                    chances[centre + j - before] += probability / whole(before)
    return posterior / total, none / total, seen / total, chances / total, np.log(total)


@pytest.mark.parametrize("forward", [True, False])
def test_expectations_are_those_of_all_alignments(forward):
    generator = np.random.default_rng(2)
    corpus = Corpus(
        Sentences.from_lists([[0, 1, 2], [3], [], [1, 1]]),
        Sentences.from_lists([[2, 0, 1], [0, 1], [1], [2]]),
    )
    hidden, observed = (corpus.source, corpus.target) if forward else (corpus.target, corpus.source)
    table, null = generator.random((4, 4)), generator.random(4)
    jumps = generator.random(2 * 5 + 1)
    missing = generator.random(4)
    has_cell = generator.random((4, 4)) < 0.7
    table = np.where(has_cell, table, missing[:, None])
    shapes = shapes_of(corpus)
    edges = edge_offsets(shapes)
    cells = []
    for pair in range(len(corpus)):
        for s in corpus.source.block(pair, pair + 1).ids:
            for t in corpus.target.block(pair, pair + 1).ids:
                where = (s, t) if forward else (t, s)
                cells.append(where[0] * 4 + where[1] if has_cell[where] else -1)
    posterior, none = np.zeros(int(edges[-1]), dtype=np.float32), np.zeros(len(observed.ids))
    seen, chances = np.zeros(len(jumps)), np.zeros(len(jumps))
    likelihood = markov_kernels.expect(
        *(hidden.ids, hidden.offsets, observed.ids, observed.offsets, edges, np.array(cells), forward),
        *(table.ravel(), missing, null, jumps, 0.3, posterior, none, seen, chances),
    )
    expected = [
        enumerated(
            hidden.block(p, p + 1).ids, observed.block(p, p + 1).ids, table, null, jumps, 0.3
        )
        for p in range(len(corpus))
        if len(hidden.block(p, p + 1).ids)
    ]  # fmt: skip
    matrices = [each[0] if forward else each[0].T for each in expected]
    np.testing.assert_allclose(posterior, np.concatenate([each.ravel() for each in matrices]), atol=1e-6)
    silent = np.concatenate([each[1] for each in expected])
    if forward:  # the third target word of one token has no source words
        assert none[5] == 1.0
        none = np.delete(none, 5)
    np.testing.assert_allclose(none, silent, atol=1e-12)
    np.testing.assert_allclose(seen, sum(each[2] for each in expected), atol=1e-8)
    np.testing.assert_allclose(chances, sum(each[3] for each in expected), atol=1e-8)
    assert likelihood == pytest.approx(sum(each[4] for each in expected))


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_never_falls(seed):
    """Without priors and agreement each round of EM, the step of the jumps too, can only gain."""
    generator = np.random.default_rng(seed)
    lines = [
        [generator.integers(0, 6, generator.integers(1, 9)).tolist() for _ in range(40)] for _ in range(2)
    ]
    corpus = Corpus(*map(Sentences.from_lists, lines))
    priors = Priors(lexical=1e-30, null_lexical=1e-30, jump=0.0)
    rounds = []
    markov.train(
        corpus,
        model1(corpus),
        rounds=25,
        agreement=False,
        priors=priors,
        on_round=lambda *both: rounds.append(both),
    )
    gains = np.diff(np.array(rounds), axis=0)
    assert gains.min() > -1e-6
    assert gains[0].min() > 0.1


def test_directions_that_agree_share_their_links():
    generator = np.random.default_rng(0)
    corpus = Corpus(Sentences.from_lists([[0, 1, 2], [], [3]]), Sentences.from_lists([[0, 1], [1], []]))
    shapes = shapes_of(corpus)
    forward = generator.dirichlet(np.ones(4), 2)  # of each target word, NULL last
    reverse = generator.dirichlet(np.ones(3), 3)
    one, other = forward[:, :3].T.astype(np.float32).ravel(), reverse[:, :2].astype(np.float32).ravel()
    null, null_reverse = np.append(forward[:, 3], 1.0), np.append(reverse[:, 2], 1.0)
    both = one.reshape(3, 2) * other.reshape(3, 2)
    ahead = np.vstack([both, forward[:, 3] * np.maximum(1 - other.reshape(3, 2).sum(axis=0), 0)])
    back = np.column_stack([both, reverse[:, 2] * np.maximum(1 - one.reshape(3, 2).sum(axis=1), 0)])
    markov_kernels.agree(
        *(shapes, edge_offsets(shapes), corpus.source.offsets, corpus.target.offsets),
        *(one, other, null, null_reverse),
    )
    ahead, back = ahead / ahead.sum(axis=0), back / back.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(one.reshape(3, 2), ahead[:3], atol=1e-6)
    np.testing.assert_allclose(null, [*ahead[3], 1.0], atol=1e-6)
    np.testing.assert_allclose(other.reshape(3, 2), back[:, :2], atol=1e-6)
    np.testing.assert_allclose(null_reverse, [*back[:, 2], 1.0], atol=1e-6)


@pytest.mark.parametrize("agreement", [True, False])
def test_a_planted_dictionary_and_its_jumps_are_found(agreement):
    corpus = bitext(0, 300, words=40, longest=9)
    forward, reverse = markov.train(corpus, model1(corpus, 40), agreement=agreement)
    tables = model1(corpus, 40)
    for direction in (forward, reverse):
        table = np.zeros((40, 40))
        table[tables.sources(), tables.targets] = direction.links
        assert (table.argmax(axis=1) == np.arange(40)).all()
        assert direction.jumps.argmax() == len(direction.jumps) // 2 + 1
    words = len(corpus.target.ids)
    assert forward.links.sum() + forward.null_links.sum() == pytest.approx(words, rel=1e-4)


def test_the_same_for_any_number_of_jobs(monkeypatch):
    monkeypatch.setattr(markov, "_BLOCK", 7)
    corpus = bitext(3, 60)
    tables = model1(corpus, least=1e-3)
    first, second = (markov.train(corpus, tables, jobs=jobs) for jobs in (1, 3))
    for one, two in zip(first, second, strict=True):
        for name in ("links", "null_links", "jumps"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_what_is_known_counts():
    """Two words that always stand together: what is known says which is which."""
    corpus = Corpus(*(Sentences.from_lists([[0, 1]] * 20) for _ in range(2)))
    tables = model1(corpus, 2)
    crossed = np.where(tables.sources() != tables.targets, 50.0, 0.0).astype(np.float32)
    known = Known(crossed, np.full(2, 50.0, dtype=np.float32), np.zeros(2, dtype=np.float32))
    for direction in markov.train(corpus, tables, known=(known, known)):
        assert direction.links[crossed > 0].min() > 10 * direction.links[crossed == 0].max()
    for direction in markov.train(corpus, tables):
        assert direction.links[crossed > 0].max() < direction.links[crossed == 0].min()


def test_empty_and_long_sentences_and_words_without_cells():
    generator = np.random.default_rng(0)
    long = generator.integers(0, 50, 400).tolist()
    sides = [[], [1], [2], [], long, [3]], [[], [], [2], [4], long[:350], [3] * 8]
    corpus = Corpus(*(Sentences.from_lists(side) for side in sides))
    tables = model1(corpus, 50, least=0.05)
    for direction in markov.train(corpus, tables, rounds=2):
        for name in ("links", "null_links", "jumps"):
            assert np.isfinite(getattr(direction, name)).all()
    nothing = Corpus(*(Sentences.from_lists([]) for _ in range(2)))
    assert all(len(each.links) == 0 for each in markov.train(nothing, model1(nothing, 0)))
