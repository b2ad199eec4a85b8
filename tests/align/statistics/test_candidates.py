"""The words that may be linked: against a slow twin, in blocks of any size, the same in both directions."""

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics import candidates
from align.statistics.lexicon import estimate

WORDS = 25


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
                    away = ((j + 0.5) / n - (k + 0.5) / m) * max(n, m) / candidates.WIDTH
                    share = (made + candidates.PRIOR) / (count + candidates.PRIOR * WORDS)
                    scores[side, j, k] = share / (1 + away * away)
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
    assert len(found) == len(own.places) == len(set(found))
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


def test_blocks_change_nothing(monkeypatch):
    corpus = bitext(60)
    lexicon = estimate(corpus, WORDS, WORDS)
    whole = candidates.find(corpus, lexicon)
    monkeypatch.setattr(candidates, "_BLOCK", 7)
    for one, other in zip(whole, candidates.find(corpus, lexicon), strict=True):
        for values, others in zip(one, other, strict=True):
            assert np.array_equal(values, others)


def test_nothing():
    empty = Corpus(*(Sentences.from_lists([]) for _ in range(2)))
    for own in candidates.find(empty, estimate(bitext(9), WORDS, WORDS)):
        assert (len(own.places), own.offsets.tolist()) == (0, [0])
