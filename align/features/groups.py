"""The table of feature groups, and the one function that computes them for a block of sentence pairs.

A new group is a module of its own and one row of :data:`GROUPS`: training, scoring, options and models read
the table. Values are scaled by fixed formulas to about [-1, 1], never by the corpus, so that the
regularisation means the same everywhere; then all of them, the bias too, are multiplied by :data:`SCALE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from align.core.ragged import edge_offsets, runs_of
from align.features import chain, context, cosine, frequency, lexical, partner, position, posterior, spelling
from align.features.block import Block, PairBlock, Resources, chosen
from align.features.chain import chain_posteriors
from align.features.edges import Edges, WordFeatures
from align.features.posterior import sampled_posteriors
from align.features.scoring import UNSCORED, Scores, add_rows
from align.features.spelling import likenesses
from align.features.word_features import compute_word_features, join_word_features

BIAS = "bias"

# With it lam = 0.01 is the strength of regularisation that does best on held-out pairs, be it a hundred
# labelled by hand or thousands by statistics (as lam = 0.1 does with values up to 1).
SCALE = np.float32(1 / 3)

# Edges whose features are made at a time: 20,000 to 60,000 take as long, 5,000 a quarter longer.
EDGES_AT_A_TIME = 40_000
_EDGES_A_BLOCK = 1_000_000  # they share what is looked up of their words

# Likely is an edge that the chain or the sampler thinks more probable than this, in either direction.
LIKELY = np.float32(0.001)

# The groups that tell which edges are likely.
_TELLING = {"chain", "posterior"}


class Group(NamedTuple):
    """A named group of features.

    Attributes
    ----------
    meaning : str
        One line.
    names : function
        ``names(resources)``: the names of its columns, each unlike those of all other groups.
    fill : function
        ``fill(block, out)``: writes its features, each a row of ``out`` (float32), for the edges of the
        block that are wanted (:func:`align.features.block.chosen`); they are multiplied by :data:`SCALE`
        later.
    needs : tuple of str
        Which of the :class:`Resources` say something to it: what else is missing leaves it 0.
    default : bool
        Whether it is computed unless other groups are asked for.
    """

    meaning: str
    names: Callable[[Resources], tuple[str, ...]]
    fill: Callable[[Block, np.ndarray], None]
    needs: tuple[str, ...] = ()
    default: bool = True


GROUPS: dict[str, Group] = {
    "cosine": Group(
        "cosine of the two word vectors, how it stands out in its row and column, vector missing",
        cosine.cosine_names,
        cosine.fill_cosine,
        needs=("vectors",),
    ),
    "product": Group(
        "elementwise product of the two word vectors, one feature a dimension",
        cosine.product_names,
        cosine.fill_product,
        needs=("vectors",),
        default=False,
    ),
    "position": Group(
        "distance of the two relative places in their sentences, on the diagonal, both first, both last",
        position.names,
        position.fill,
    ),
    "spelling": Group(
        "same word, number or punctuation, common prefix and letters without accents, cognates",
        spelling.names,
        spelling.fill,
    ),
    "frequency": Group(
        "how frequent each word is, difference of frequencies and ranks, both or one frequent, rare",
        frequency.frequency_names,
        frequency.fill_frequency,
    ),
    "lexical": Group(
        "Dice and Model 1 probabilities both ways, against NULL, as posteriors of the sentence, competition",
        lexical.names,
        lexical.fill,
        needs=("lexicon",),
    ),
    "chain": Group(
        "posteriors both ways of a chain over the sampler's tables, vectors and names, competition",
        chain.names,
        chain.fill,
        needs=("lexicon", "vectors"),
    ),
    "context": Group(
        "chain posteriors of the neighbours on the diagonal, distance to the nearest sure links",
        context.names,
        context.fill,
        needs=("lexicon", "vectors"),
    ),
    "posterior": Group(
        "sampled posteriors both ways, of pairs not sampled by the sampler's tables, competition, neighbours",
        posterior.names,
        posterior.fill,
        needs=("lexicon", "links"),
    ),
    "partner": Group(
        "of words little is known of: the same name, number or sign in the other sentence, or none",
        partner.names,
        partner.fill,
    ),
    "identity": Group(
        "which of the most frequent words either word is: of one language pair, by its nature",
        frequency.identity_names,
        frequency.fill_identity,
        default=False,
    ),
    "concat": Group(
        "the two word vectors side by side; cannot prefer one perfect matching to another",
        cosine.concat_names,
        cosine.fill_concat,
        default=False,
        needs=("vectors",),
    ),
}
DEFAULT_GROUPS = tuple(name for name, group in GROUPS.items() if group.default)


def feature_names(groups: Sequence[str], resources: Resources) -> tuple[str, ...]:
    """Return the names of all columns: the bias, then those of each group."""
    return (BIAS, *(name for group in groups for name in GROUPS[group].names(resources)))


def compute(
    pairs: PairBlock,
    resources: Resources,
    *,
    groups: Sequence[str] = DEFAULT_GROUPS,
    word_groups: Sequence[str] = (),
) -> Edges:
    """Compute the features of every edge of a block of sentence pairs.

    Parameters
    ----------
    pairs : PairBlock
        The sentence pairs.
    resources : Resources
        Statistics, vectors and vocabularies.
    groups : sequence of str
        Names from :data:`GROUPS`.
    word_groups : sequence of str
        Names from :data:`align.features.word_features.WORD_GROUPS`; with none there are no features of
        words.

    Returns
    -------
    Edges
        The bias and the groups' features times :data:`SCALE`, float32, all finite; those of words too. Which
        edges are likely (:func:`likely_edges`).
    """
    names, sizes = feature_names(groups, resources), _sizes(groups, resources)
    shapes = pairs.corpus.shapes()
    offsets = edge_offsets(shapes)
    features = np.empty((int(offsets[-1]), len(names)), dtype=np.float32)
    likely, of_words = np.empty(int(offsets[-1]), dtype=bool), []
    for start, block in _blocks(pairs, resources):
        for first, last, part in _parts(block):
            own = slice(offsets[start + first], offsets[start + last])
            _fill(part, groups, sizes, features[own])
            likely[own] = likely_edges(part, groups)
        of_words += _word_features(block, word_groups)
    words = join_word_features(of_words, word_groups, resources)
    return Edges(shapes, offsets, features, names, words, likely)


def compute_rows(
    pairs: PairBlock, resources: Resources, edges: np.ndarray, *, groups: Sequence[str]
) -> np.ndarray:
    """Return the features that :func:`compute` gives some edges, float32, shape (C, d).

    Parameters
    ----------
    pairs, resources, groups
        As there.
    edges : ndarray of int64, shape (C,)
        Their numbers, ascending.
    """
    sizes, starts = _sizes(groups, resources), edge_offsets(pairs.corpus.shapes())
    features = np.empty((len(edges), 1 + sum(sizes)), dtype=np.float32)
    for start, block in _blocks(pairs, resources):
        for first, last, part in _parts(block):
            begin, end = starts[start + first], starts[start + last]
            rows = slice(*np.searchsorted(edges, [begin, end]).tolist())
            if rows.start < rows.stop:
                _fill(part.picking(edges[rows] - begin), groups, sizes, features[rows])
    return features


def likely_edges(block: Block, groups: Sequence[str]) -> np.ndarray:
    """Return which edges a model of some groups may link, bool, shape (E,): those that something speaks for.

    Likely are edges that the chain (:func:`align.features.chain.chain_posteriors`) or the sampler
    (:func:`align.features.posterior.sampled_posteriors`) thinks more probable than :data:`LIKELY` in either
    direction, and those of words spelt alike (:func:`align.features.spelling.likenesses`). Where the groups,
    or tables, are missing that would tell, all are.

    This is part of what a model is: all that makes links by its scores, or says why, is bound to it. The
    one exception is a positive number that is added to all scores: who gives one wants what is not likely.
    """
    given = block.resources
    if not _TELLING.issubset(groups) or given.lexicon is None or given.links is None:
        return np.ones(int(block.offsets[-1]), dtype=bool)
    likely = block.of_edges(likenesses) > 0
    for posteriors in (block.shared(chain_posteriors), block.shared(sampled_posteriors)):
        likely |= posteriors.forward > LIKELY
        likely |= posteriors.reverse > LIKELY
    return likely


def score_blocks(
    pairs: PairBlock,
    resources: Resources,
    weights: np.ndarray,
    *,
    groups: Sequence[str],
    word_groups: Sequence[str] = (),
    every: bool = False,
) -> Iterator[tuple[int, Scores, Block]]:
    """Yield the scores of many pairs at a time, with the number of the first, without keeping features.

    With them goes the block of these pairs, which knows what was looked up of their words.

    ``weights``, float64, are one a feature of edges and then of words. The scores are, bit by bit, what
    :func:`align.matching.decoding.score` gives for what :func:`compute` gives: other edges than the likely
    ones (:func:`likely_edges`), which are most, have none. With ``every`` all are scored.
    """
    sizes = _sizes(groups, resources)
    own = 1 + sum(sizes)
    for start, block in _blocks(pairs, resources):
        scores = np.full(int(block.offsets[-1]), UNSCORED)
        for first, last, part in _parts(block):
            if not every:
                part = part.picking(np.flatnonzero(likely_edges(part, groups)))
            wanted = part.shared(chosen).edges
            column, sums = 1, np.full(len(wanted), weights[0] * np.float64(SCALE))
            for rows in _filled(part, groups, sizes):
                add_rows(rows, SCALE, weights[column : column + len(rows)], sums)
                column += len(rows)
            scores[block.offsets[first] : block.offsets[last]][wanted] = sums
        of_words = join_word_features(_word_features(block, word_groups), word_groups, resources)
        costs = None if of_words is None else of_words.costs(weights[own:])
        yield start, Scores(block.shapes, block.offsets, scores, costs), block


def _blocks(pairs: PairBlock, resources: Resources) -> Iterator[tuple[int, Block]]:
    """Yield runs of pairs with their words looked up, each with the number of its first pair."""
    for start, stop in runs_of(edge_offsets(pairs.corpus.shapes()), _EDGES_A_BLOCK):
        yield start, Block.of(pairs.block(start, stop), resources)


def _parts(block: Block) -> Iterator[tuple[int, int, Block]]:
    """Yield runs of pairs of a block, from and to, few enough to be filled at a time."""
    for first, last in runs_of(block.offsets, EDGES_AT_A_TIME):
        yield first, last, block.part(first, last)


def _sizes(groups: Sequence[str], resources: Resources) -> list[int]:
    """Return how many features each group has."""
    return [len(GROUPS[group].names(resources)) for group in groups]


def _filled(part: Block, groups: Sequence[str], sizes: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield the features of each group, not yet scaled, (size, E); the next group takes their memory."""
    edges = len(part.shared(chosen).edges)
    memory = np.empty(max(sizes) * edges, dtype=np.float32)
    for group, size in zip(groups, sizes, strict=True):
        out = memory[: size * edges].reshape(size, edges)
        GROUPS[group].fill(part, out)
        yield out


def _fill(part: Block, groups: Sequence[str], sizes: Sequence[int], features: np.ndarray) -> None:
    """Write all features of a few pairs, shape (E, d)."""
    features[:, 0] = SCALE
    column = 1
    for rows in _filled(part, groups, sizes):
        np.multiply(rows.T, SCALE, out=features[:, column : column + len(rows)])
        column += len(rows)


def _word_features(part: Block, word_groups: Sequence[str]) -> list[WordFeatures]:
    """Return the features of the words of a block, in a list that is empty without groups."""
    if not word_groups:
        return []
    found = compute_word_features(part, word_groups)
    found.source[:] *= SCALE
    found.target[:] *= SCALE
    return [found]
