"""Bonuses for consecutive links in the benchmark: their features, and what is learnt with them."""

import numpy as np

from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import Edges, Resources
from align.features.groups import SCALE
from align.links import Link
from align.problems.labels import Labels
from benchmarks.models import Training
from benchmarks.quadratic import SETS, Gold, bonus_features, measure, without

OPTIONS = {"cost_fn": 3.0, "cost_fp": 1.0, "lam": 0.01, "tolerance": 1e-3, "seed": 0}
RESOURCES = Resources(None, None, None, Vocabulary(["a"], np.array([1])), Vocabulary(["a"], np.array([1])))


def gold(count=12, words=6):
    """Pairs linked along the diagonal; every second link looks right by itself, the others do not."""
    generator = np.random.default_rng(0)
    shapes = np.full((count, 2), words, dtype=np.int32)
    diagonal = np.tile(np.eye(words).ravel(), count)
    plain = np.tile(np.diag(np.arange(words) % 2 == 0).astype(float).ravel(), count)
    noise = generator.normal(size=len(plain)) * 0.3
    features = np.stack([np.ones(len(plain)), plain + noise], axis=1).astype(np.float32) * SCALE
    edges = Edges(shapes, edge_offsets(shapes), features, ("bias", "likely"))
    links = [[Link(j, j) for j in range(words)] for _ in range(count)]
    assert diagonal.sum() == count * words
    ids = [list(range(words)) for _ in range(count)]
    corpus = Corpus(Sentences.from_lists(ids), Sentences.from_lists(ids))
    texts = tuple((f"s{pair}", f"t{pair}") for pair in range(count))
    nothing = np.zeros(0, dtype=bool)
    labels = Labels.from_lists(links)
    training = Training(
        edges, labels, np.arange(count), OPTIONS, ("spelling",), (), texts, (nothing, nothing)
    )
    parts = [np.arange(count // 2), np.arange(count // 2, count)]
    return Gold("made", training, corpus, links, parts, RESOURCES)


def test_the_bonus_finds_links_that_only_their_neighbours_tell():
    made = gold()
    edges = made.training.edges
    plain, quadratic = (measure(made, edges, bonus_features(edges, names)) for names in ((), ("always",)))
    # the columns of the counts: links, sure, sure matched
    assert plain.counts[:, 1].tolist() == quadratic.counts[:, 1].tolist() == [6] * 12
    assert quadratic.counts[:, 2].sum() > plain.counts[:, 2].sum() + 10
    assert quadratic.q[0] > 0.0
    assert len(plain.q) == 0
    assert plain.certified == 12
    assert 0 < quadratic.certified <= 12
    assert max(plain.gap, quadratic.gap) <= 1e-3


def test_features_of_a_bonus_are_the_mean_of_both_links():
    shapes = np.array([[2, 3], [0, 4], [2, 2]], dtype=np.int32)
    values = np.arange(10, dtype=np.float32)
    edges = Edges(shapes, edge_offsets(shapes), np.stack([values, -values], axis=1), ("x", "y"))
    phi = bonus_features(edges, ("always", "x"))
    assert phi[:, 0].tolist() == [SCALE] * 10
    # (0, 0) with (1, 1) and (0, 1) with (1, 2); then (0, 0) with (1, 1)
    assert phi[[0, 1, 6], 1].tolist() == [2.0, 3.0, 7.5]
    assert bonus_features(edges, ()).shape == (10, 0)


def test_features_are_left_out_by_group_or_name():
    made = gold()
    kept = without(made.training.edges, {"bias"})
    assert kept.names == ("likely",)
    np.testing.assert_array_equal(kept.features[:, 0], made.training.edges.features[:, 1])
    names = made.names(SETS["without context and sampled neighbours"])
    assert {"left_anchor_near", "window", "sampled_next"} <= names
    assert "sampled" not in names
    assert {"chain", "sampled", "sampled_next"} <= made.names(("chain", "posterior"))
