"""Labels from links made by hand.

They are often no labelling that a model can give: a word has more links, or a surface word such as *du*
stands for two analysis tokens. Of the sure links the largest such set among analysis tokens is kept as the
gold labelling (:mod:`align.problems.labels`); the other sure links, and the possible ones, are free:
predicting them costs nothing, nor does leaving them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from align.core.ragged import edge_offsets
from align.data.corpus import Corpus
from align.features.edges import Edges
from align.features.groups import SCALE
from align.links import Link
from align.matching.fertility import solve
from align.problems.labels import Labels

# Known weights leave their place the less the fewer pairs ask for it: with lam = 7 / N, in these bounds.
ADAPTED_PAIRS, ADAPTED = 7.0, (0.01, 0.1)

# Links beyond a matching are learnt from where the chain finds them so likely.
_LEAST = 0.05


def adapted_lam(pairs: int) -> float:
    """Return the strength of regularisation where known weights are adapted to so many pairs, >= 1."""
    return float(min(max(ADAPTED_PAIRS / pairs, ADAPTED[0]), ADAPTED[1]))


def labels_of(links: Sequence[Sequence[Link]], corpus: Corpus, edges: Edges, *, max_fertility: int) -> Labels:
    """Turn links made by hand into labels as :func:`from_gold` does, by what the features tell.

    Similarity is Dice; links beyond the matching are sure only where the chain finds them likely.

    Parameters
    ----------
    links : sequence of list of Link
        The links of each of N pairs, over surface tokens.
    corpus : Corpus
        The N pairs.
    edges : Edges
        Their features.
    max_fertility : int
        Links that a word may have, >= 1.
    """
    return from_gold(
        links,
        corpus,
        similarity=_column(edges, "dice"),
        max_fertility=max_fertility,
        probability=_column(edges, "chain"),
        least=_LEAST,
    )


def _column(edges: Edges, name: str) -> np.ndarray | None:
    """Return a feature in [0, 1] as it is before scaling, None where there is no such feature."""
    if name not in edges.names:
        return None
    return np.clip(edges.features[:, edges.names.index(name)] / SCALE, 0.0, 1.0)


def from_gold(
    links: Sequence[Sequence[Link]],
    block: Corpus,
    *,
    similarity: np.ndarray | None = None,
    max_fertility: int = 1,
    probability: np.ndarray | None = None,
    least: float = 0.0,
) -> Labels:
    """Turn links made by hand, over surface tokens, into labels over analysis tokens.

    A link between surface tokens is a link between any of their analysis tokens: all combinations are
    candidates. Of the candidates of sure links the largest matching is kept as sure; among the largest ones
    that with the highest total similarity, then that nearest to the diagonal. All others become free.

    Where words may have K > 1 links, this matching comes first, so that the parts of a split word get
    partners of their own. Then each sure link of which no combination is in it adds one, of the tokens with
    the fewest links: a link of *du* to *of* alone makes one label, *de* - *of*, and no word with two links.
    Of all these the largest set with at most K links a word is sure. With ``least`` > 0 a link beyond the
    matching is sure only if one of its words has none there and it is likely enough: links that nothing
    speaks for (those between all words of two phrases) would teach more harm than good.

    Parameters
    ----------
    links : sequence of list of Link
        The links of each of N pairs.
    block : Corpus
        The N pairs; ``parents`` lead to the surface tokens.
    similarity : ndarray of float, shape (E,), optional
        How well the tokens of each edge go together, in [0, 1], pair after pair, row by row:
        for example Dice.
    max_fertility : int
        Links K that a word may have, >= 1.
    probability : ndarray of float, shape (E,), optional
        How likely each edge is, in [0, 1]. Default: certain.
    least : float
        With K > 1, the probability that a link beyond the matching needs, in [0, 1]; 0: all are taken.

    Raises
    ------
    ValueError
        If there is not one list of links a pair.
    """
    if len(links) != len(block):
        raise ValueError(f"gold: links of {len(links)} pairs, text of {len(block)}")
    shapes = block.shapes()
    starts = edge_offsets(shapes)
    labelled = []
    for i, pair in enumerate(links):
        scores = _closeness(*shapes[i])
        if similarity is not None:
            # so small that it decides between equal similarities only
            alike = np.asarray(similarity[starts[i] : starts[i + 1]], dtype=np.float64)
            scores = (np.clip(alike, 0, 1).reshape(shapes[i]) + 1e-6 * scores) / (1 + 1e-6)
        likely = np.ones(shapes[i], dtype=bool)
        if probability is not None:
            likely = probability[starts[i] : starts[i + 1]].reshape(shapes[i]) >= least
        one = block.block(i, i + 1)
        further = _Further(max_fertility, likely, least > 0)
        labelled.append(_label(pair, one.source.parents, one.target.parents, scores, further))
    return Labels.from_lists(labelled)


def largest_matching(cells: Sequence[tuple[int, int]], scores: np.ndarray) -> set[tuple[int, int]]:
    """Return the largest matching among cells (j, k); of several, that of the best ``scores``, (n, m)."""
    from scipy.optimize import linear_sum_assignment  # takes half a second to load

    allowed = np.zeros(scores.shape, dtype=bool)
    for cell in cells:
        allowed[cell] = True
    # all scores together weigh less than one more link
    weights = np.where(allowed, 1 + scores / (2 * min(scores.shape) + 1), 0)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return {(int(j), int(k)) for j, k in zip(rows, columns, strict=True) if allowed[j, k]}


def largest_set(
    cells: Sequence[tuple[int, int]], scores: np.ndarray, max_fertility: int
) -> set[tuple[int, int]]:
    """Return the largest set of cells, at most ``max_fertility`` in a row or column; of several, the best."""
    theta = np.zeros(scores.shape)
    for cell in cells:
        # all scores together weigh less than one more link
        theta[cell] = 1 + scores[cell] / (2 * len(cells) + 1)
    shapes, offsets, (n, m) = np.array([scores.shape]), np.array([0, scores.size]), scores.shape
    links = solve(theta.ravel(), shapes, offsets, np.zeros(n), np.zeros(m), max_fertility=max_fertility)
    return {(int(j), int(k)) for j, k in np.argwhere(links.reshape(scores.shape))}


class _Further(NamedTuple):
    """Which links beyond the matching may be sure: at most so many a word, likely ones, of lone words."""

    max_fertility: int
    likely: np.ndarray
    lone: bool


def _label(
    links: Sequence[Link],
    source_parents: np.ndarray,
    target_parents: np.ndarray,
    scores: np.ndarray,
    further: _Further,
) -> list[Link]:
    """Return the labels of one pair."""
    source, target = _children(source_parents), _children(target_parents)
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    combinations = []
    for link in links:
        cells = {(j, k) for j in source.get(link.source, ()) for k in target.get(link.target, ())}
        (sure if link.sure else possible).update(cells)
        if link.sure and cells:
            combinations.append(cells)
    kept = largest_matching(sorted(sure), scores) if sure else set()
    if sure and further.max_fertility > 1:
        more = _represented(combinations, kept, scores) - kept
        if further.lone:
            rows, columns = {j for j, _ in kept}, {k for _, k in kept}
            more = {(j, k) for j, k in more if further.likely[j, k] and not (j in rows and k in columns)}
        kept = largest_set(sorted(kept | more), scores, further.max_fertility)
    return [Link(*cell, cell in kept) for cell in sorted(sure | possible)]


def _represented(
    combinations: Sequence[set[tuple[int, int]]], kept: set[tuple[int, int]], scores: np.ndarray
) -> set[tuple[int, int]]:
    """Add to ``kept`` one cell of each set of cells that has none there, of words with few links first."""
    found = set(kept)
    rows, columns = np.zeros(scores.shape[0], dtype=np.int64), np.zeros(scores.shape[1], dtype=np.int64)
    for j, k in found:
        rows[j] += 1
        columns[k] += 1
    for cells in sorted(combinations, key=sorted):
        if not found.isdisjoint(cells):
            continue
        best = min(sorted(cells), key=lambda cell: (rows[cell[0]] + columns[cell[1]], -scores[cell]))
        found.add(best)
        rows[best[0]] += 1
        columns[best[1]] += 1
    return found


def _children(parents: np.ndarray) -> dict[int, list[int]]:
    """Return the analysis tokens of each surface token."""
    children: dict[int, list[int]] = {}
    for token, parent in enumerate(parents.tolist()):
        children.setdefault(parent, []).append(token)
    return children


def _closeness(n: int, m: int) -> np.ndarray:
    """Return 1 less the distance of each cell to the diagonal, shape (n, m), in [0, 1]."""
    rows, columns = (np.arange(n) + 0.5) / max(n, 1), (np.arange(m) + 0.5) / max(m, 1)
    return 1 - np.abs(rows[:, None] - columns[None, :])
