"""A model small enough to know by heart: twelve words of English and French, a few weights set by hand."""

import numpy as np

from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import DEFAULT_GROUPS, DEFAULT_WORD_GROUPS, Resources, feature_names, word_feature_names
from align.features.groups import SCALE
from align.learning.calibration import Calibration
from align.model.folder import Model
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import LEAST, Posteriors
from align.statistics.posteriors import SCALE as POSTERIOR_SCALE
from align.text.processor import TextProcessor

PAIRS = [
    (".", "."), ("the", "le"), ("house", "maison"), ("is", "est"), ("red", "rouge"), ("i", "je"),
    ("see", "vois"), ("of", "de"), ("dog", "chien"), ("big", "grand"), ("not", "pas"), ("member", "membre"),
]  # fmt: skip
WEIGHTS = {
    "bias": -1.0, "forward": 2.0, "reverse": 2.0, "distance": -0.5, "same_word": 3.0, "same_number": 3.0,
    "same_punctuation": 1.0, "left_anchor_straight": 0.1, "cosine": 0.25,
}  # fmt: skip
DIMENSIONS = 5


# Of the features of words, where a word may have several links.
WORD_WEIGHTS = {"extra.source.always": 0.5, "extra.target.always": 0.25, "extra.target.content": 0.1}


def random_corpus(seed, pairs, sizes, *, longest=7):
    """Return pairs of random words, so many different ones a side; sentences are shorter than ``longest``."""
    generator = np.random.default_rng(seed)
    sides = (
        [generator.integers(0, size, generator.integers(0, longest)).tolist() for _ in range(pairs)]
        for size in sizes
    )
    return Corpus(*map(Sentences.from_lists, sides))


def posteriors_of(shapes, forward, reverse):
    """Return what is kept of the posteriors of every edge, uint16 both ways, all pairs being sampled."""
    starts, lowest = edge_offsets(shapes), round(LEAST * POSTERIOR_SCALE)
    kept = np.flatnonzero((forward >= lowest) | (reverse >= lowest))
    offsets = np.searchsorted(kept, starts).astype(np.int64)
    edges = (kept - np.repeat(starts[:-1], np.diff(offsets))).astype(np.int32)
    return Posteriors(offsets, edges, forward[kept], reverse[kept], np.ones(len(shapes), dtype=bool))


def toy_model(*, profile="expand", tokenizer="rules", groups=DEFAULT_GROUPS, fertility=1):
    """Return the model; word i of one language is the translation of word i of the other."""
    count = len(PAIRS)
    counts = np.arange(count, 0, -1) * 10
    source = Vocabulary([pair[0] for pair in PAIRS], counts)
    target = Vocabulary([pair[1] for pair in PAIRS], counts)
    probability = np.full(count, 0.8, dtype=np.float32)
    null = np.full(count, 0.01, dtype=np.float32)
    words = np.arange(count + 1, dtype=np.int64)
    lexicon = Lexicon(
        words, words[:-1].astype(np.int32), probability, probability, probability, null, null, counts, counts
    )
    vectors = np.random.default_rng(3).normal(size=(count, DIMENSIONS))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    resources = Resources(lexicon, vectors, vectors, source, target)
    word_groups = DEFAULT_WORD_GROUPS if fertility > 1 else ()
    names = feature_names(groups, resources) + word_feature_names(word_groups, resources)
    weights = WEIGHTS | WORD_WEIGHTS
    return Model(
        weights=np.array([weights.get(name, 0.0) for name in names]) / SCALE,
        names=names,
        groups=groups,
        resources=resources,
        text={
            side: TextProcessor(language, profile=profile, tokenizer=tokenizer).settings()
            for side, language in (("source", "en"), ("target", "fr"))
        },
        calibration=Calibration(1.5, 0.25, -0.75),
        options={"lam": 0.01},
        provenance={"corpus": "toy", "pairs": 3},
        fertility=fertility,
        word_groups=word_groups,
    )
