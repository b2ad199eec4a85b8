"""Silver labels are the links their formulas say, and matchings always."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.evaluation import metrics
from align.learning.silver import cosine, evidence, mutual, sampled
from align.links import Link, read_file
from align.statistics.lexicon import edge_values, estimate
from align.statistics.posteriors import SCALE
from tests.align import toy

VS, VT = 20, 25


def bitext(seed, pairs=15, longest=9):
    return toy.random_corpus(seed, pairs, (VS + 1, VT + 1), longest=longest)


def vectors(seed, size, dimensions=6):
    """Unit vectors; every fifth word has none."""
    drawn = np.random.default_rng(seed).normal(size=(size, dimensions)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn[::5] = 0
    return drawn


def found(labels):
    assert labels.sure.all()
    return [
        list(zip(labels.source[a:b].tolist(), labels.target[a:b].tolist(), strict=True))
        for a, b in zip(labels.offsets[:-1], labels.offsets[1:], strict=True)
    ]


def plain_similarity(block, source_vectors, target_vectors, lexicon, lexical):
    """s of each pair, word by word."""
    _, forward, reverse = edge_values(lexicon, block) if lexicon else (None, None, None)
    edge, result = 0, []
    for i in range(len(block)):
        one = block.block(i, i + 1)
        s = np.zeros((len(one.source.ids), len(one.target.ids)))
        for j, left in enumerate(one.source.ids.tolist()):
            for k, right in enumerate(one.target.ids.tolist()):
                part = float(np.sqrt(forward[edge] * reverse[edge])) if lexicon else 0.0
                there = [
                    vectors is not None and word < len(vectors) and vectors[word].any()
                    for vectors, word in ((source_vectors, left), (target_vectors, right))
                ]
                near = float(source_vectors[left] @ target_vectors[right]) if all(there) else part
                s[j, k] = near + lexical * part
                edge += 1
        result.append(s)
    return result


def plain_mutual(s, neighbours, position, threshold):
    n, m = s.shape
    x = np.zeros((n, m))
    for j in range(n):
        for k in range(m):
            x[j, k] = s[j, k] - position * abs((j + 0.5) / n - (k + 0.5) / m)
            x[j, k] += neighbours * s[j - 1, k - 1] if j and k else 0
            x[j, k] += neighbours * s[j + 1, k + 1] if j + 1 < n and k + 1 < m else 0
    return [
        (j, k)
        for j in range(n)
        for k in range(m)
        if x[j].argmax() == k and x[:, k].argmax() == j and x[j, k] > threshold
    ]


def plain_cosine(s, threshold):
    best: dict[int, int] = {}
    for j, row in enumerate(s):
        if len(row):
            k = int(row.argmax())
            if row[k] > threshold and (k not in best or row[k] > s[best[k], k]):
                best[k] = j
    return sorted((j, k) for k, j in best.items())


@pytest.fixture(scope="module")
def lexicon():
    return estimate(bitext(0, pairs=200), VS, VT)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parts", ["both", "vectors", "lexicon", "nothing"])
def test_mutual_labels_are_those_of_the_formula(seed, parts, lexicon):
    block = bitext(seed + 50)
    given_vectors = (vectors(1, VS), vectors(2, VT)) if parts in ("both", "vectors") else (None, None)
    table = lexicon if parts in ("both", "lexicon") else None
    options = {"lexical": 1.5, "neighbours": 0.3, "position": 0.4, "threshold": 0.05}
    similarity = plain_similarity(block, *given_vectors, table, options.pop("lexical"))
    links = found(mutual(block, *given_vectors, table, lexical=1.5, **options))
    assert links == [plain_mutual(s, **options) for s in similarity]
    assert any(links) == (parts != "nothing")


@pytest.mark.parametrize("seed", range(3))
def test_cosine_labels_are_those_of_the_formula(seed):
    block = bitext(seed + 70)
    sides = vectors(1, VS), vectors(2, VT)
    similarity = plain_similarity(block, *sides, None, 0.0)
    assert found(cosine(block, *sides, threshold=0.2)) == [plain_cosine(s, 0.2) for s in similarity]


@given(st.integers(0, 2**32 - 1), st.floats(-1, 1))
def test_labels_are_matchings_above_the_threshold_only(seed, threshold):
    block, sides = bitext(seed, pairs=4), (vectors(seed, VS), vectors(seed + 1, VT))
    for labels in (cosine(block, *sides, threshold=threshold), mutual(block, *sides, threshold=threshold)):
        for links in found(labels):
            assert len({j for j, _ in links}) == len({k for _, k in links}) == len(links)
    assert not cosine(block, *sides, threshold=1.01).sure.any()


def test_position_tells_equal_words_apart():
    block = Corpus(Sentences.from_lists([[1, 2, 1]]), Sentences.from_lists([[1, 3, 1]]))
    same = np.eye(4, dtype=np.float32)
    assert found(mutual(block, same, same, neighbours=0)) == [[(0, 0), (2, 2)]]


def test_a_neighbour_that_fits_speaks_for_a_link():
    # 0 and 1 fit both target words alike; 2 beside the second of them fits, and decides
    block = Corpus(Sentences.from_lists([[0, 2]]), Sentences.from_lists([[1, 3, 1, 2]]))
    sides = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
    sides[1][1] = sides[0][0]
    assert found(mutual(block, *sides, position=0, neighbours=0)) == [[(0, 0), (1, 3)]]
    assert found(mutual(block, *sides, position=0, neighbours=0.2)) == [[(0, 2), (1, 3)]]


def test_empty_sides_and_unknown_words_have_no_links():
    block = Corpus(Sentences.from_lists([[], [0], [99]]), Sentences.from_lists([[1], [], [99]]))
    same = np.eye(4, dtype=np.float32)
    for labels in (mutual(block, same, same), cosine(block, same, same)):
        assert found(labels) == [[], [], []]
    assert found(mutual(block, np.zeros((4, 0), np.float32), np.zeros((4, 0), np.float32))) == [[], [], []]


def plain_evidence(block, lexicon, counted):
    dice, _, _ = edge_values(lexicon, block)
    edge, bests = 0, []
    for i in range(len(block)):
        source, target = (side.block(i, i + 1).ids.tolist() for side in (block.source, block.target))
        for s in source:
            row = [0.0]
            for t in target:
                counts = lexicon.source_counts[s], lexicon.target_counts[t]
                own = (source.count(s), target.count(t)) if counted else (0, 0)
                joint = round(float(dice[edge]) * sum(counts) / 2) - min(own)
                if dice[edge] > 0 and joint > 0:
                    row.append(2 * joint / (sum(counts) - sum(own)))
                edge += 1
            bests.append(max(row))
    return float(np.mean(bests))


@pytest.mark.parametrize("counted", [False, True])
def test_evidence_leaves_a_pairs_own_counts_out(counted):
    corpus = bitext(3, pairs=60)
    lexicon = estimate(corpus, VS + 1, VT + 1, min_probability=0)
    assert evidence(corpus, lexicon, counted=counted).mean == pytest.approx(
        plain_evidence(corpus, lexicon, counted), rel=1e-5
    )


def test_a_pair_does_not_speak_for_itself():
    one = Corpus(Sentences.from_lists([[0, 1]]), Sentences.from_lists([[0, 1]]))
    lexicon = estimate(one, 2, 2, min_probability=0)
    assert evidence(one, lexicon, counted=False).mean == pytest.approx(1)
    assert evidence(one, lexicon, counted=True).mean == 0
    nothing = Corpus(Sentences.from_lists([]), Sentences.from_lists([]))
    assert evidence(nothing, lexicon, counted=True).mean == 0


def test_evidence_tells_translations_from_chance():
    generator = np.random.default_rng(0)
    text = [generator.zipf(1.5, 12).clip(max=400).tolist() for _ in range(300)]
    source = Sentences.from_lists([[word - 1 for word in line] for line in text])
    shifted = np.roll(np.arange(300), 1)
    ratios = []
    for target in (source, source.take(shifted)):
        corpus = Corpus(source, target)
        lexicon = estimate(corpus, 400, 400)
        chance = Corpus(source, target.take(np.roll(np.arange(300), 150)))
        ratios.append(
            evidence(corpus, lexicon, counted=True).mean / evidence(chance, lexicon, counted=False).mean
        )
    assert ratios[0] > 1.3
    assert ratios[1] < 1.1


def error_rate(source, target, links):
    """AER of mutual labels from the statistics of an annotated text alone."""
    sides, sizes = [], []
    for path in (source, target):
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = [line.lower().split() for line in file]
        counts = Counter(word for line in lines for word in line)
        words = Vocabulary(
            sorted(counts, key=lambda word: (-counts[word], word)), sorted(counts.values())[::-1]
        )
        sides.append(Sentences.from_lists([[words.index[word] for word in line] for line in lines]))
        sizes.append(len(words))
    corpus = Corpus(*sides)
    made = [[Link(j, k) for j, k in pair] for pair in found(mutual(corpus, lexicon=estimate(corpus, *sizes)))]
    return metrics.score(metrics.statistics(made, [pair.links for pair in read_file(links)])).aer


def test_labels_of_the_sample_are_mostly_right_without_vectors():
    folder = Path(__file__).resolve().parents[3] / "data" / "sample"
    assert error_rate(*(folder / f"gold.{name}" for name in ("en", "fr", "align"))) < 0.13


def test_labels_of_the_hansards_are_mostly_right_without_vectors(real_data):
    files = [real_data(f"gold/hansards-test.{name}") for name in ("en", "fr", "align")]
    assert error_rate(*files) < 0.235


class TestSampled:
    """Links that were sampled of the pairs themselves."""

    def posteriors(self, *matrices):
        """Both directions alike, one matrix a pair; None: a pair that was not sampled."""
        shapes = np.array([(1, 1) if matrix is None else np.shape(matrix) for matrix in matrices])
        flat = [np.zeros(1) if matrix is None else np.ravel(matrix) for matrix in matrices]
        both = np.round(np.concatenate(flat) * SCALE).astype(np.uint16)
        there = np.array([matrix is not None for matrix in matrices])
        found = toy.posteriors_of(shapes, both, both)
        return replace(found, sampled=there)

    def block(self, *shapes):
        sides = ([list(range(length)) for length in lengths] for lengths in zip(*shapes, strict=True))
        return Corpus(*map(Sentences.from_lists, sides))

    def test_sure_links_are_a_matching_and_doubtful_ones_are_free(self):
        found = self.posteriors([[0.9, 0.7, 0.0], [0.0, 0.95, 0.3]], None)
        labels = sampled(self.block((2, 3), (1, 1)), found)
        rows = list(zip(labels.source.tolist(), labels.target.tolist(), labels.sure.tolist(), strict=True))
        assert rows == [(0, 0, True), (0, 1, False), (1, 1, True), (1, 2, False)]
        assert labels.counts().tolist() == [2, 0]

    def test_the_threshold_counts(self):
        found = self.posteriors([[0.9, 0.0], [0.0, 0.7]])
        labels = sampled(self.block((2, 2)), found, threshold=0.8)
        assert labels.sure.tolist() == [True, False]
