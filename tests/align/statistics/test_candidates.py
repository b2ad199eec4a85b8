"""The words that may be linked: against a slow twin, for any number of jobs, the same in both directions."""

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics import candidates
from align.statistics.lexicon import estimate

WORDS = 25
LEXICAL, WIDTH = 0.03, 2.0


def bitext(pairs, seed=0):
    generator = np.random.default_rng(seed)
    source = [generator.integers(0, WORDS, generator.integers(0, 12)).tolist() for _ in range(pairs)]
    target = [[*line[::-1], *generator.integers(0, WORDS, generator.integers(0, 3))] for line in source]
    return Corpus(Sentences.from_lists(source), Sentences.from_lists(target))


def twin(corpus, lexicon, least):
    """The set of candidates (pair, j, k, cell) by the formula."""
    cells = {
        pair: cell for cell, pair in enumerate(zip(lexicon.sources().tolist(), lexicon.targets, strict=True))
    }
    found = set()
    for pair in range(len(corpus)):
        block = corpus.block(pair, pair + 1)
        n, m = len(block.source.ids), len(block.target.ids)
        scores = np.zeros((2, n, m))
        for j, s in enumerate(block.source.ids.tolist()):
            for k, t in enumerate(block.target.ids.tolist()):
                cell = cells.get((s, t))
                for side, (table, count) in enumerate(
                    ((lexicon.forward, lexicon.source_counts[s]), (lexicon.reverse, lexicon.target_counts[t]))
                ):
                    made = 0.0 if cell is None else table[cell] * count
                    away = ((j + 0.5) / n - (k + 0.5) / m) * max(n, m) / WIDTH
                    scores[side, j, k] = (made + LEXICAL) / (count + LEXICAL * WORDS) / (1 + away * away)
        kept = (scores[0] >= least * scores[0].sum(axis=0)) | (
            scores[1] >= least * scores[1].sum(axis=1)[:, None]
        )
        for j, k in zip(*np.nonzero(kept), strict=True):
            words = int(block.source.ids[j]), int(block.target.ids[k])
            found.add((pair, int(j), int(k), cells.get(words, lexicon.cells)))
    return found


def listed(corpus, own, side):
    """The same set from one direction; the places of each token ascend."""
    observed = (corpus.target, corpus.source)[side]
    found = []
    for pair in range(len(corpus)):
        for at, token in enumerate(range(observed.offsets[pair], observed.offsets[pair + 1])):
            here = slice(own.offsets[token], own.offsets[token + 1])
            places = own.places[here].tolist()
            assert places == sorted(places)
            for place, cell in zip(places, own.cells[here].tolist(), strict=True):
                found.append((pair, *((place, at) if side == 0 else (at, place)), cell))
    assert len(found) == len(own) == len(set(found))
    return set(found)


@pytest.mark.parametrize("least", [0.0, 0.02, 0.2])
def test_they_are_their_formula_and_the_same_in_both_directions(least):
    corpus = bitext(60)
    lexicon = estimate(bitext(50), WORDS, WORDS, min_probability=1e-3)
    expected = twin(corpus, lexicon, least)
    edges = int((corpus.source.lengths() * corpus.target.lengths()).sum())
    assert (len(expected) == edges) == (least == 0)
    assert lexicon.cells in {cell for *_, cell in expected}
    for side, own in enumerate(candidates.find(corpus, lexicon, least=least)):
        assert listed(corpus, own, side) == expected


def test_blocks_and_jobs_change_nothing(monkeypatch):
    corpus = bitext(60)
    lexicon = estimate(corpus, WORDS, WORDS)
    whole = candidates.find(corpus, lexicon)
    monkeypatch.setattr(candidates, "_BLOCK", 7)
    for jobs in (1, 3):
        for one, other in zip(whole, candidates.find(corpus, lexicon, jobs=jobs), strict=True):
            for name in ("offsets", "places", "cells"):
                assert np.array_equal(getattr(one, name), getattr(other, name))


def test_nothing():
    empty = Corpus(*(Sentences.from_lists([]) for _ in range(2)))
    for own in candidates.find(empty, estimate(bitext(9), WORDS, WORDS)):
        assert (len(own), own.offsets.tolist()) == (0, [0])
