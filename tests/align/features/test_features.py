"""Each kernel against its slow twin; the table of groups; blocks, unseen words, odd sentences."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import (
    DEFAULT_GROUPS,
    GROUPS,
    Edges,
    PairBlock,
    Resources,
    chain,
    compute,
    compute_rows,
    feature_names,
    frequency,
    likely_edges,
    maps,
    parse_groups,
    score_blocks,
)
from align.features.block import Block
from align.features.groups import SCALE
from align.features.scoring import UNSCORED, score_edges
from align.matching.decoding import score
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import GAPS, OTHERS, Jumps
from align.statistics.lexicon import Lexicon
from align.statistics.sampler import SampledLinks, expected_links
from align.text.numbers import normal_number
from align.text.words import NUMBER, PUNCTUATION, WORD, WordTable, fold_letter
from tests.align import toy
from tests.align.features import twins

SOURCE = [
    "the",
    ",",
    ".",
    "house",
    "of",
    "1,000.50",
    "member",
    "québec",
    "brother",
    "2001",
    "a",
    "x" * 70,
    "oeuvre",
]
TARGET = [
    "le",
    ".",
    ",",
    "de",
    "maison",
    "1.000,50",
    "membre",
    "québec",
    "брат",
    "2002",
    "a",
    "x" * 69,
    "œuvre",
    ";",
]
UNKNOWN_SOURCE, UNKNOWN_TARGET = ["zorro", "7", "…"], ["zorro", "07", "café"]
P = 6


def resources(seed=0):
    generator = np.random.default_rng(seed)

    def unit(count):
        vectors = generator.normal(size=(count, P)) + 0.5
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[3] = 0.0
        return vectors.astype(np.float32)

    cells = generator.random((len(SOURCE), len(TARGET))) < 0.6
    offsets = np.concatenate([[0], np.cumsum(cells.sum(axis=1))]).astype(np.int64)

    def values(count):
        return (generator.random(count) ** 4).astype(np.float32)

    counts = [np.sort(generator.integers(0, 400, size))[::-1] for size in (len(SOURCE), len(TARGET))]
    counts[0][-1] = counts[1][-1] = 0
    lexicon = Lexicon(
        offsets,
        np.nonzero(cells)[1].astype(np.int32),
        *(values(cells.sum()) for _ in range(3)),
        values(len(TARGET)) / 10,
        values(len(SOURCE)) / 10,
        *counts,
    )
    return Resources(
        lexicon,
        unit(len(SOURCE)),
        unit(len(TARGET)),
        Vocabulary(SOURCE, counts[0]),
        Vocabulary(TARGET, counts[1]),
        links_of(lexicon),
    )


def links_of(lexicon, seed=0):
    generator = np.random.default_rng(seed)

    def counts(size):
        return (generator.random(size) ** 4 * 50).astype(np.float32)

    def direction(size, hidden):
        classes = generator.integers(OTHERS, OTHERS + 4, hidden).astype(np.int32)
        jumps = Jumps(counts((OTHERS + 4, GAPS, 15)), classes)
        return SampledLinks(counts(lexicon.cells), counts(size), jumps)

    sizes = len(SOURCE), len(TARGET)
    return expected_links(lexicon, (direction(sizes[1], sizes[0]), direction(*sizes)))


def corpus(count=30, seed=1, longest=9):
    generator = np.random.default_rng(seed)
    sides = []
    for words in (len(SOURCE) + len(UNKNOWN_SOURCE), len(TARGET) + len(UNKNOWN_TARGET)):
        lengths = generator.integers(1, longest, count)
        sides.append(Sentences.from_lists([generator.integers(0, words, length) for length in lengths]))
    return Corpus(*sides)


@dataclass
class Pair:
    """One pair as the twins want it: words and numbers, looked up in dense tables."""

    source_ids: np.ndarray
    target_ids: np.ndarray
    resources: Resources

    def __post_init__(self):
        lexicon, res = self.resources.lexicon, self.resources
        self.n, self.m, self.dimensions = len(self.source_ids), len(self.target_ids), res.dimensions
        self.source = [[*SOURCE, *UNKNOWN_SOURCE][i] for i in self.source_ids]
        self.target = [[*TARGET, *UNKNOWN_TARGET][i] for i in self.target_ids]
        self.totals = res.source_vocabulary.counts.sum(), res.target_vocabulary.counts.sum()
        self.source_counts = self.look_up(res.source_vocabulary.counts, self.source_ids)
        self.target_counts = self.look_up(res.target_vocabulary.counts, self.target_ids)
        none = np.zeros(self.dimensions)
        for side, vectors in (("source", res.source_vectors), ("target", res.target_vectors)):
            known = [] if vectors is None else vectors.astype(float)
            ids = getattr(self, f"{side}_ids")
            setattr(self, f"{side}_vectors", [known[i] if i < len(known) else none for i in ids])
        self.dice, self.forward, self.reverse = np.zeros((3, self.n, self.m))
        self.links_forward, self.links_reverse = np.zeros((2, self.n, self.m))
        self.null_forward, self.null_reverse = np.zeros(self.m), np.zeros(self.n)
        if lexicon is None:
            return
        self.null_forward = self.look_up(lexicon.null_forward, self.target_ids)
        self.null_reverse = self.look_up(lexicon.null_reverse, self.source_ids)
        for j, s in enumerate(self.source_ids):
            row = range(lexicon.offsets[s], lexicon.offsets[s + 1]) if s < len(SOURCE) else ()
            cells = {lexicon.targets[cell]: cell for cell in row}
            for k, t in enumerate(self.target_ids):
                if t in cells:
                    self.dice[j, k] = lexicon.dice[cells[t]]
                    self.forward[j, k] = lexicon.forward[cells[t]]
                    self.reverse[j, k] = lexicon.reverse[cells[t]]
                    if res.links is not None:
                        self.links_forward[j, k] = res.links.forward[cells[t]]
                        self.links_reverse[j, k] = res.links.reverse[cells[t]]

    @staticmethod
    def look_up(table, ids):
        return [float(table[i]) if i < len(table) else 0.0 for i in ids]


def pairs_of(text, given):
    for i in range(len(text)):
        source, target = text.source.block(i, i + 1), text.target.block(i, i + 1)
        yield Pair(source.ids, target.ids, given)


def computed(text, given, groups, **options):
    return compute(pairs_with(text, **options), given, groups=groups)


def pairs_with(text, posteriors=None):
    return PairBlock(text, UNKNOWN_SOURCE, UNKNOWN_TARGET, posteriors)


@pytest.fixture
def all_states(monkeypatch):
    """The chain leaves no state out."""
    monkeypatch.setattr(chain, "UNLIKELY", 0.0)


@pytest.mark.usefixtures("all_states")
class TestTwins:
    @pytest.mark.parametrize("group", GROUPS)
    def test_a_group_is_its_documented_formula(self, group):
        given, text = resources(), corpus()
        edges = computed(text, given, (group,))
        names = GROUPS[group].names(given)
        assert edges.names == ("bias", *names)
        assert (edges.features[:, 0] == SCALE).all()
        for i, pair in enumerate(pairs_of(text, given)):
            expected = twins.TWINS[group](pair).reshape(pair.n * pair.m, len(names))
            found = edges.block(i, i + 1).features[:, 1:] / SCALE
            np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=f"pair {i} of {names}")

    @pytest.mark.parametrize("group", ["cosine", "lexical", "chain", "context"])
    @pytest.mark.parametrize("missing", ["lexicon", "vectors", "both"])
    def test_without_statistics_or_vectors(self, group, missing):
        full = resources()
        given = Resources(
            full.lexicon if missing == "vectors" else None,
            *((full.source_vectors, full.target_vectors) if missing == "lexicon" else (None, None)),
            full.source_vocabulary,
            full.target_vocabulary,
        )
        text = corpus(6)
        edges = computed(text, given, (group,))
        for i, pair in enumerate(pairs_of(text, given)):
            expected = twins.TWINS[group](pair).reshape(pair.n * pair.m, -1)
            np.testing.assert_allclose(edges.block(i, i + 1).features[:, 1:] / SCALE, expected, atol=2e-5)

    def test_only_the_most_frequent_words_are_named(self, monkeypatch):
        monkeypatch.setattr(frequency, "IDENTITIES", 2)
        given, text = resources(), corpus()
        edges = computed(text, given, ("identity",))
        assert edges.names[1:] == (*(f"source.{w}" for w in SOURCE[:2]), *(f"target.{w}" for w in TARGET[:2]))
        for i, pair in enumerate(pairs_of(text, given)):
            all_words = twins.identity(pair)
            both = len(SOURCE[:30])
            expected = all_words[:, :, [0, 1, both, both + 1]].reshape(pair.n * pair.m, 4)
            assert (edges.block(i, i + 1).features[:, 1:] > 0).tolist() == (expected > 0).tolist()

    def test_long_sentences(self):
        """Beyond the reach of windows and caps, and longer than the farthest distance."""
        given, text = resources(), corpus(3, seed=5, longest=60)
        for group in ("position", "context", "chain", "posterior"):
            edges = computed(text, given, (group,))
            for i, pair in enumerate(pairs_of(text, given)):
                expected = twins.TWINS[group](pair).reshape(pair.n * pair.m, -1)
                np.testing.assert_allclose(edges.block(i, i + 1).features[:, 1:] / SCALE, expected, atol=5e-5)


class TestStoredPosteriors:
    def stored(self, text):
        """Posteriors of all pairs but every third."""
        shapes = text.shapes()
        chosen = np.flatnonzero(np.arange(len(text)) % 3)
        generator = np.random.default_rng(3)
        sampled = shapes[chosen]
        forward, reverse = generator.integers(0, 65536, (2, sampled.prod(axis=1).sum())).astype(np.uint16)
        return toy.posteriors_of(sampled, forward, reverse).placed(chosen, len(text))

    def test_they_stand_where_the_pair_was_sampled_and_tables_elsewhere(self):
        text, given = corpus(9), resources()
        stored = self.stored(text)
        tables = computed(text, given, ("posterior",))
        found = computed(text, given, ("posterior",), posteriors=stored)
        forward, reverse = stored.dense(found.shapes)
        for i in range(len(text)):
            here = slice(*found.offsets[i : i + 2])
            rows = found.features[here]
            if i % 3 == 0:
                assert np.array_equal(rows, tables.features[here])
                continue
            joint = np.sqrt(forward[here] * reverse[here])
            for column, expected in ((1, forward[here]), (2, reverse[here]), (3, joint)):
                np.testing.assert_allclose(rows[:, column], expected * SCALE, atol=1e-6)

    def test_a_pair_that_was_counted_does_not_speak_for_its_own_words(self):
        text, given = corpus(9), resources()
        seldom = {
            name: Vocabulary(known.words, np.minimum(known.counts, 2))
            for name, known in vars(given).items()
            if name.endswith("vocabulary")
        }
        given = replace(given, **seldom)
        plain, found = (
            computed(text, given, ("partner",), posteriors=stored) for stored in (None, self.stored(text))
        )
        assert not np.array_equal(plain.features, found.features)
        for i, pair in enumerate(pairs_of(text, given)):
            if i % 3:
                for side in ("source", "target"):
                    words, counts = (
                        list(getattr(pair, f"{side}_ids")),
                        np.array(getattr(pair, f"{side}_counts")),
                    )
                    own = np.array([words.count(word) for word in words])
                    left = np.where(counts <= len(words), np.maximum(counts - own, 0), counts)
                    setattr(pair, f"{side}_counts", left)
            expected = twins.partner(pair).reshape(pair.n * pair.m, -1)
            np.testing.assert_allclose(found.block(i, i + 1).features[:, 1:] / SCALE, expected, atol=2e-5)

    def test_without_tables_the_others_are_zero(self):
        text, given = corpus(9), resources()
        bare = Resources(
            None,
            given.source_vectors,
            given.target_vectors,
            given.source_vocabulary,
            given.target_vocabulary,
        )
        assert not computed(text, bare, ("posterior",)).features[:, 1:].any()
        found = computed(text, bare, ("posterior",), posteriors=self.stored(text))
        assert not found.block(0, 1).features[:, 1:].any()
        assert found.block(1, 2).features[:, 1].any()

    def test_those_of_other_pairs_are_refused(self):
        text = corpus(9)
        stored = self.stored(text)
        with pytest.raises(ValueError, match="posteriors: not those of the pairs given"):
            computed(text, resources(), ("posterior",), posteriors=stored.take(np.arange(9)[::-1]))


class TestCompute:
    def test_values_are_finite_and_of_order_one(self):
        edges = computed(corpus(60), resources(), tuple(GROUPS))
        assert np.isfinite(edges.features).all()
        assert edges.features.min() >= -2.0 * SCALE
        assert edges.features.max() <= 2.5 * SCALE
        assert edges.features.dtype == np.float32
        assert len(set(edges.names)) == len(edges.names) == edges.features.shape[1]

    def test_every_column_is_written(self, monkeypatch):
        """No group leaves a column to what was in memory before."""
        text, given = corpus(5), resources()

        def dirty(shape, dtype=float):
            return np.full(shape, 77.0, dtype=dtype)

        monkeypatch.setattr("align.features.groups.np.empty", dirty)
        assert not (computed(text, given, tuple(GROUPS)).features == 77.0 * SCALE).any()

    def test_a_pair_does_not_depend_on_its_block(self, monkeypatch):
        text, given = corpus(40), resources()
        whole = computed(text, given, DEFAULT_GROUPS)
        monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 100)
        assert np.array_equal(computed(text, given, DEFAULT_GROUPS).features, whole.features)
        monkeypatch.setattr("align.features.groups._EDGES_A_BLOCK", 300)
        assert np.array_equal(computed(text, given, DEFAULT_GROUPS).features, whole.features)
        single = computed(text.block(7, 8), given, DEFAULT_GROUPS)
        assert np.array_equal(single.features, whole.block(7, 8).features)

    @pytest.mark.parametrize("groups", [DEFAULT_GROUPS, tuple(GROUPS)])
    def test_some_edges_alone_have_the_same_features(self, monkeypatch, groups):
        monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 100)
        monkeypatch.setattr("align.features.groups._EDGES_A_BLOCK", 300)
        text, given = corpus(40), resources()
        stored = TestStoredPosteriors().stored(text)
        whole = computed(text, given, groups, posteriors=stored).features
        generator = np.random.default_rng(6)
        for share in (0.0, 0.02, 0.5, 1.0):
            edges = np.flatnonzero(generator.random(len(whole)) < share)
            rows = compute_rows(pairs_with(text, stored), given, edges, groups=groups)
            assert rows.dtype == np.float32
            assert np.array_equal(rows, whole[edges])

    @pytest.mark.parametrize("groups", [DEFAULT_GROUPS, tuple(GROUPS), ("position",)])
    def test_scores_without_features_are_those_of_the_features(self, monkeypatch, groups):
        """Bit by bit: what was trained on is what is predicted with."""
        monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 100)
        monkeypatch.setattr("align.features.groups._EDGES_A_BLOCK", 300)
        text, given = corpus(40), resources()
        weights = np.random.default_rng(2).normal(size=len(feature_names(groups, given)))
        options = {"groups": groups, "every": True}
        parts = [part for _, part, _ in score_blocks(pairs_with(text), given, weights, **options)]
        edges = computed(text, given, groups)
        assert np.array_equal(
            np.concatenate([part.scores for part in parts]), score_edges(edges.features, weights)
        )
        assert np.array_equal(np.concatenate([part.shapes for part in parts]), edges.shapes)
        assert all(part.offsets[-1] == len(part.scores) for part in parts)

    @pytest.mark.parametrize("groups", [DEFAULT_GROUPS, tuple(GROUPS), *((group,) for group in GROUPS)])
    def test_so_are_those_of_more_edges_than_are_filled_at_a_time(self, monkeypatch, groups):
        """Pairs of which some are sampled, one of them larger by itself than what is filled at a time."""
        monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 2_500)
        monkeypatch.setattr("align.features.groups._EDGES_A_BLOCK", 5_000)
        words = np.random.default_rng(4).integers(0, 13, (2, 80))
        large = Corpus(*(Sentences.from_lists([side]) for side in words))
        given, text = resources(), Corpus.join([corpus(60, longest=20), large, corpus(60, longest=20)])
        stored = TestStoredPosteriors().stored(text)
        edges = computed(text, given, groups, posteriors=stored)
        assert np.diff(edges.offsets).max() > 5_000
        assert edges.offsets[-1] > 3 * 5_000
        weights = np.random.default_rng(2).normal(size=len(edges.names))
        pairs = pairs_with(text, stored)
        options = {"groups": groups, "every": True}
        scores = [part.scores for _, part, _ in score_blocks(pairs, given, weights, **options)]
        assert len(scores) > 2
        assert np.array_equal(np.concatenate(scores), score_edges(edges.features, weights))

    def test_likely_edges_have_the_same_scores_and_the_others_none(self, monkeypatch):
        monkeypatch.setattr("align.features.groups.LIKELY", np.float32(0.01))
        monkeypatch.setattr("align.features.groups.EDGES_AT_A_TIME", 100)
        given, text = resources(), corpus(40)
        stored = TestStoredPosteriors().stored(text)
        weights = np.random.default_rng(2).normal(size=len(feature_names(DEFAULT_GROUPS, given)))
        pairs, options = pairs_with(text, stored), {"groups": DEFAULT_GROUPS}
        likely, every = (
            np.concatenate([part.scores for _, part, _ in score_blocks(pairs, given, weights, **more)])
            for more in (options, {**options, "every": True})
        )
        edges = computed(text, given, DEFAULT_GROUPS, posteriors=stored)
        assert 0.1 < edges.likely.mean() < 0.95
        assert np.array_equal(likely, np.where(edges.likely, every, UNSCORED))
        assert np.array_equal(likely, score(edges, weights).scores)
        # The rule, by the features, which are the probabilities.
        told = np.zeros(len(edges.likely), dtype=bool)
        for name in ("forward_chain", "reverse_chain", "forward_sampled", "reverse_sampled"):
            told |= edges.features[:, edges.names.index(name)] / SCALE > 0.01
        told |= edges.features[:, edges.names.index("partner")] > 0
        assert np.array_equal(edges.likely, told)

    def test_all_edges_are_likely_where_no_group_tells(self):
        given, text = resources(), corpus(10)
        for groups, known in (
            (("position",), given),
            (("position", "chain"), given),
            (("position", "posterior"), given),
            (DEFAULT_GROUPS, replace(given, links=None)),  # Model 1 alone
            (DEFAULT_GROUPS, replace(given, links=None, lexicon=None)),
        ):
            assert computed(text, known, groups).likely.all()
            assert likely_edges(Block.of(pairs_with(text), known), groups).all()
        assert not computed(text, given, DEFAULT_GROUPS).likely.all()

    def test_what_is_likely_stays_with_its_edges(self, tmp_path):
        text, given = corpus(20), resources()
        whole = computed(text, given, DEFAULT_GROUPS)
        whole.save(tmp_path)
        chosen = np.array([11, 4, 4, 0])
        single = Edges.join([whole.block(pair, pair + 1) for pair in chosen])
        for found, expected in (
            (Edges.load(tmp_path), whole),
            (whole.take(chosen), single),
            (whole.block(3, 9), computed(text.block(3, 9), given, DEFAULT_GROUPS)),
        ):
            assert np.array_equal(found.likely, expected.likely)
        with pytest.raises(ValueError, match="of some blocks only it is known which edges are likely"):
            Edges.join([whole, replace(whole, likely=None)])
        for wrong in (whole.likely[1:], whole.likely.astype(np.uint8)):
            np.save(tmp_path / "likely.npy", wrong)
            with pytest.raises(InputError, match=r"likely.npy is .*run featurize again"):
                Edges.load(tmp_path)

    def test_both_ways_to_find_words_in_the_statistics_give_the_same(self, monkeypatch):
        text, given = corpus(40), resources()
        found = []
        for cells in (0, 1000):
            monkeypatch.setattr("align.statistics.lexicon.CELLS_A_SEARCH", cells)
            found.append(computed(text, given, ("lexical",)).features)
        assert np.array_equal(*found)
        assert found[0][:, 1].any()

    def test_one_word_and_empty_sentences(self):
        text = Corpus(
            Sentences.from_lists([[3], [], [3, 4], [], [0]]), Sentences.from_lists([[4], [4], [], [], [0, 1]])
        )
        edges = computed(text, resources(), tuple(GROUPS))
        assert edges.shapes.tolist() == [[1, 1], [0, 1], [2, 0], [0, 0], [1, 2]]
        assert edges.offsets.tolist() == [0, 1, 1, 1, 1, 3]
        assert np.isfinite(edges.features).all()

    def test_no_pairs(self):
        text = Corpus(Sentences.from_lists([]), Sentences.from_lists([]))
        assert computed(text, resources(), DEFAULT_GROUPS).features.shape[0] == 0

    @pytest.mark.parametrize("piece", [1, 64, 1 << 21])
    def test_memory_mapped_tables_and_those_in_memory_give_the_same(self, tmp_path, monkeypatch, piece):
        """Also where their pages are given back after every row, after some, and at the end."""
        monkeypatch.setattr("align.core.arrays.MAPPED_FROM", 0)
        monkeypatch.setattr("align.core.mapped._FEW", 0)
        monkeypatch.setattr("align.core.mapped.PIECE", piece)
        given = resources()
        given.lexicon.save(tmp_path)
        given.links.save(tmp_path / "links")
        np.save(tmp_path / "x.npy", given.source_vectors)
        lexicon = Lexicon.load(tmp_path, mapped=True)
        mapped = Resources(
            lexicon,
            np.load(tmp_path / "x.npy", mmap_mode="r", allow_pickle=False),
            given.target_vectors,
            given.source_vocabulary,
            given.target_vocabulary,
            ExpectedLinks.load(tmp_path / "links", lexicon),
        )
        text = corpus(10)
        first, second = (computed(text, each, DEFAULT_GROUPS).features for each in (given, mapped))
        assert np.array_equal(first, second)

    def test_an_id_that_is_no_word_is_refused(self):
        text = Corpus(Sentences.from_lists([[len(SOURCE) + 3]]), Sentences.from_lists([[0]]))
        with pytest.raises(ValueError, match="only 13 words and 3 unknown ones"):
            computed(text, resources(), ("position",))

    def test_the_chain_prefers_the_diagonal(self):
        """Where words say nothing, neighbours do: an unknown word is linked in parallel."""
        words = [f"w{i}" for i in range(5)]
        vocabulary = Vocabulary(words, np.ones(5, dtype=np.int64))
        known = [0, 1, 3, 4]
        probability = np.full(4, 0.9, dtype=np.float32)
        lexicon = Lexicon(
            np.array([0, 1, 2, 2, 3, 4]),
            np.array(known, dtype=np.int32),
            probability,
            probability,
            probability,
            *(np.full(5, 1e-3, dtype=np.float32) for _ in range(2)),
            *(np.ones(5, dtype=np.int64) for _ in range(2)),
        )
        given = Resources(lexicon, None, None, vocabulary, vocabulary)
        text = Corpus(*(Sentences.from_lists([[0, 1, 2, 3, 4]]) for _ in range(2)))
        edges = compute(PairBlock(text), given, groups=("chain", "context"))
        joint = edges.features[:, edges.names.index("chain")].reshape(5, 5)
        assert joint[2].argmax() == 2
        straight = edges.features[:, edges.names.index("left_anchor_straight")].reshape(5, 5)
        assert straight[2].tolist() == [0, 0, SCALE, 0, 0]


class TestRows:
    def test_it_is_the_scaled_logarithm(self):
        values = np.concatenate(
            [np.geomspace(1e-9, 1.0, 5000), [0.0, 1e-40, np.exp(-10), 0.5, 1.0, np.sqrt(0.5)]]
        ).astype(np.float32)
        out = np.empty_like(values)
        maps.scaled_log(values, out)
        expected = [twins.scaled_log(float(value)) for value in values]
        np.testing.assert_allclose(out, expected, atol=2e-7)
        assert out[values == 1.0].tolist() == [1.0, 1.0]


class TestGroups:
    def test_the_table(self):
        assert {
            "cosine",
            "product",
            "position",
            "spelling",
            "frequency",
            "lexical",
            "context",
            "concat",
        } < set(GROUPS)
        assert set(DEFAULT_GROUPS) < set(GROUPS)
        assert all("\n" not in group.meaning and len(group.meaning) < 110 for group in GROUPS.values())

    def test_a_list_of_groups(self):
        assert parse_groups("position, cosine", GROUPS, "groups") == ("cosine", "position")
        assert parse_groups(",".join(GROUPS), GROUPS, "groups") == tuple(GROUPS)

    @pytest.mark.parametrize("text", ["cosin", "cosine,,positio", ""])
    def test_an_unknown_group_is_an_error_that_lists_the_valid_ones(self, text):
        with pytest.raises(InputError, match=re.escape("valid: cosine, product, position")):
            parse_groups(text, GROUPS, "groups")

    def test_names_depend_on_the_dimensions(self):
        given = resources()
        assert len(feature_names(("product",), given)) == 1 + P
        assert len(feature_names(("concat",), given)) == 1 + 2 * P


class TestWords:
    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("10,000", "10000"), ("10.000", "10000"), ("10 000", "10000"), ("10'000", "10000"),
            ("9.8", "9.8"), ("9,8", "9.8"), ("0.5", "0.5"), ("0", "0"), ("007", "7"), ("2001", "2001"),
            ("1,000.50", "1000.5"), ("1.000,50", "1000.5"), ("1,000,000", "1000000"), ("15:30", "15.30"),
            ("2.50", "2.5"), ("2,5", "2.5"), ("3.0", "3"), ("1,00", "1"),
            ("3rd", "3"), ("3e", "3"), ("1.5%", "1.5"), ("x", "x"),
        ],
    )  # fmt: skip
    def test_numbers_in_one_form(self, text, number):
        assert normal_number(text) == number

    @pytest.mark.parametrize(
        ("letter", "plain"),
        [
            ("é", "e"),
            ("œ", "oe"),
            ("ß", "ss"),
            ("ø", "o"),
            ("й", "i"),
            ("щ", "sht"),
            ("θ", "th"),
            ("٣", "3"),
            ("a", "a"),
        ],
    )
    def test_letters_without_accents(self, letter, plain):
        assert fold_letter(letter) == plain

    def test_kinds(self):
        table = WordTable.of(["été", "1er", "«", "c'est", "4x4", "--", "̈", "年"])
        assert table.kinds.tolist() == [
            WORD,
            NUMBER,
            PUNCTUATION,
            WORD,
            NUMBER,
            PUNCTUATION,
            PUNCTUATION,
            WORD,
        ]
        assert (np.diff(table.folded_offsets) > 0).all()

    def test_a_table_of_chosen_words_and_more(self):
        words = ["één", "1.000", "b", "çà", "12"]
        chosen = WordTable.of(words).take(np.array([3, 1])).extended(WordTable.of(["ñandú", "7,5"]))
        fresh = WordTable.of(["çà", "1.000", "ñandú", "7,5"])
        for name in ("codes", "offsets", "folded", "folded_offsets", "kinds"):
            assert np.array_equal(getattr(chosen, name), getattr(fresh, name)), name
        assert WordTable.of([]).kinds.shape == (0,)


class TestResources:
    def test_sizes_must_agree(self):
        given = resources()
        arguments = (given.source_vocabulary, given.target_vocabulary)
        with pytest.raises(ValueError, match="14 source vectors for 13 words"):
            Resources(None, given.target_vectors, given.target_vectors, *arguments)
        with pytest.raises(ValueError, match="vectors on one side only"):
            Resources(None, given.source_vectors, None, *arguments)
        with pytest.raises(ValueError, match="vectors of 6 and 5 dimensions"):
            Resources(None, given.source_vectors, given.target_vectors[:, :5], *arguments)


class TestEdges:
    def edges(self):
        return computed(corpus(8), resources(), ("position", "spelling"))

    def test_saved_and_loaded(self, tmp_path):
        edges = self.edges()
        edges.save(tmp_path / "edges")
        for mapped in (True, False):
            loaded = Edges.load(tmp_path / "edges", mapped=mapped)
            assert loaded.names == edges.names
            assert np.array_equal(loaded.features, edges.features)
            assert np.array_equal(loaded.shapes, edges.shapes)
            assert np.array_equal(loaded.offsets, edges.offsets)

    def test_blocks_and_chosen_pairs(self):
        edges = self.edges()
        assert np.array_equal(Edges.join([edges.block(0, 3), edges.block(3, 8)]).features, edges.features)
        chosen = edges.take(np.array([5, 2]))
        assert np.array_equal(chosen.block(0, 1).features, edges.block(5, 6).features)
        assert np.array_equal(chosen.block(1, 2).features, edges.block(2, 3).features)
        with pytest.raises(ValueError, match="different features"):
            Edges.join([edges, computed(corpus(1), resources(), ("position",))])

    def test_offsets_do_not_overflow(self):
        shapes = np.full((3, 2), 50_000, dtype=np.int32)
        assert edge_offsets(shapes)[-1] == 3 * 50_000**2

    def test_damaged_folders_are_named(self, tmp_path):
        edges = self.edges()
        edges.save(tmp_path)
        np.save(tmp_path / "features.npy", edges.features[:-1])
        with pytest.raises(InputError, match="features are .* run featurize again"):
            Edges.load(tmp_path)
        (tmp_path / "names.json").unlink()
        with pytest.raises(InputError, match="no edges can be read"):
            Edges.load(tmp_path)


def test_scripts_agree_on_names():
    """Cognates are seen across accents and alphabets."""
    given = Resources(
        None,
        None,
        None,
        *(
            Vocabulary(words, np.ones(2, dtype=np.int64))
            for words in (["president", "état"], ["президент", "etat"])
        ),
    )
    text = Corpus(*(Sentences.from_lists([[0, 1]]) for _ in range(2)))
    edges = compute(PairBlock(text), given, groups=("spelling",))
    cognate = edges.features[:, edges.names.index("common_letters")].reshape(2, 2)
    assert cognate[0, 0] > 0.85 * SCALE
    assert cognate[1, 1] == SCALE
