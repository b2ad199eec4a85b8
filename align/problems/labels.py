"""What training is told about sentence pairs: the links that are right, and those that cost nothing.

The gold labelling y_i of a pair has to be one that the model can give, for only then is the structured hinge
loss H_i(w) >= 0 (:mod:`align.problems.problem`): a matching, or a set of links with at most K a word. Links
made by hand are often neither: a word has more, or a surface word such as *du* stands for two analysis
tokens. Of the sure links the largest such set among analysis tokens is kept as y_i; the other sure links, and
the possible ones, are free: predicting them costs nothing, nor does leaving them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.ragged import edge_offsets, offsets_of, rows_at
from align.data.corpus import Corpus
from align.links import Link
from align.matching.fertility import solve


@dataclass(frozen=True)
class Labels:
    """Labelled links of N sentence pairs; indices are those of analysis tokens within the pair.

    Attributes
    ----------
    offsets : ndarray of int64, shape (N + 1,)
        The links of pair i are ``offsets[i]`` to ``offsets[i + 1]``.
    source, target : ndarray of int32, shape (L,)
        The linked tokens, sorted within a pair, no link twice.
    sure : ndarray of bool, shape (L,)
        True for the links of y_i, a matching where words have one link; False for links free of cost.
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    sure: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def counts(self) -> np.ndarray:
        """Return the number of sure links of each pair, int64, shape (N,)."""
        return np.diff(np.concatenate([[0], np.cumsum(self.sure, dtype=np.int64)])[self.offsets])

    def dense(self, shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels edge by edge.

        Parameters
        ----------
        shapes : ndarray of int32, shape (N, 2)
            Tokens (n_i, m_i) of each pair.

        Returns
        -------
        gold, free : ndarray of bool, shape (E,)
            E = sum n_i m_i, pair after pair, row by row.

        Raises
        ------
        ValueError
            If the numbers of pairs differ or a link lies outside its pair.
        """
        if len(shapes) != len(self):
            raise ValueError(f"labels: of {len(self)} pairs, not {len(shapes)}")
        n, m = shapes[:, 0].astype(np.int64), shapes[:, 1].astype(np.int64)
        starts = edge_offsets(shapes)
        pair = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        if (self.source >= n[pair]).any() or (self.target >= m[pair]).any():
            raise ValueError("labels: a link lies outside its pair")
        edges = starts[:-1][pair] + self.source * m[pair] + self.target
        gold, free = np.zeros(starts[-1], dtype=bool), np.zeros(starts[-1], dtype=bool)
        gold[edges[self.sure]] = True
        free[edges[~self.sure]] = True
        return gold, free

    def block(self, start: int, stop: int) -> Labels:
        """Return pairs ``start`` to ``stop`` (exclusive) without copying the links."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return Labels(
            self.offsets[start : stop + 1] - first,
            self.source[first:last],
            self.target[first:last],
            self.sure[first:last],
        )

    def take(self, chosen: np.ndarray) -> Labels:
        """Return the pairs with the given indices (int array, any order) as a copy."""
        offsets, where = rows_at(self.offsets, chosen)
        return Labels(offsets, self.source[where], self.target[where], self.sure[where])

    @classmethod
    def join(cls, parts: Sequence[Labels]) -> Labels:
        """Put several runs of pairs one after the other."""
        parts = [cls.from_lists([]), *parts]
        offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
        return cls(
            offsets,
            np.concatenate([part.source for part in parts]),
            np.concatenate([part.target for part in parts]),
            np.concatenate([part.sure for part in parts]),
        )

    @classmethod
    def from_lists(cls, links: Sequence[Sequence[Link]]) -> Labels:
        """Build from one list of links a pair, over analysis tokens; scores are not kept."""
        offsets = offsets_of([len(pair) for pair in links])
        flat = [link for pair in links for link in sorted(pair)]
        return cls(
            offsets,
            np.array([link.source for link in flat], dtype=np.int32),
            np.array([link.target for link in flat], dtype=np.int32),
            np.array([link.sure for link in flat], dtype=bool),
        )

    @classmethod
    def from_edges(cls, linked: np.ndarray, shapes: np.ndarray) -> Labels:
        """Build from matchings given edge by edge, bool (E,), of pairs with ``shapes`` (N, 2): all sure."""
        m = shapes[:, 1].astype(np.int64)
        starts = edge_offsets(shapes)
        edges = np.flatnonzero(linked)
        pair = np.searchsorted(starts, edges, side="right") - 1
        source, target = np.divmod(edges - starts[pair], m[pair])
        return cls(
            np.searchsorted(edges, starts),
            source.astype(np.int32),
            target.astype(np.int32),
            np.ones(len(edges), dtype=bool),
        )

    def save(self, folder: Path) -> None:
        """Write ``labels.*.npy``, one file a field, into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            save_array(folder / f"labels.{field.name}.npy", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Path) -> Labels:
        """Read what :meth:`save` wrote."""
        return cls(*(load_array(folder / f"labels.{field.name}.npy") for field in fields(cls)))


def from_gold(
    links: Sequence[Sequence[Link]],
    block: Corpus,
    *,
    similarity: np.ndarray | None = None,
    most: int = 1,
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
    most : int
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
    shapes = np.stack([block.source.lengths(), block.target.lengths()], axis=1)
    starts = np.concatenate([[0], np.cumsum(shapes[:, 0] * shapes[:, 1])])
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
        further = _Further(most, likely, least > 0)
        labelled.append(_label(pair, one.source.parents, one.target.parents, scores, further))
    return Labels.from_lists(labelled)


def largest_matching(cells: Sequence[tuple[int, int]], scores: np.ndarray) -> set[tuple[int, int]]:
    """Return the largest matching among cells (j, k); of several, that with the highest total score.

    Parameters
    ----------
    cells : sequence of (int, int)
        The cells that may be linked.
    scores : ndarray of float64, shape (n, m)
        In [0, 1].
    """
    from scipy.optimize import linear_sum_assignment  # takes half a second to load

    allowed = np.zeros(scores.shape, dtype=bool)
    for cell in cells:
        allowed[cell] = True
    # all scores together weigh less than one more link
    weights = np.where(allowed, 1 + scores / (2 * min(scores.shape) + 1), 0)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return {(int(j), int(k)) for j, k in zip(rows, columns, strict=True) if allowed[j, k]}


def largest_set(cells: Sequence[tuple[int, int]], scores: np.ndarray, most: int) -> set[tuple[int, int]]:
    """Return the largest set of cells with at most ``most`` in a row or column, preferring high scores.

    Parameters
    ----------
    cells : sequence of (int, int)
        The cells that may be linked.
    scores : ndarray of float64, shape (n, m)
        In [0, 1].
    most : int
        At least 1.
    """
    theta = np.zeros(scores.shape)
    for cell in cells:
        # all scores together weigh less than one more link
        theta[cell] = 1 + scores[cell] / (2 * len(cells) + 1)
    links = solve(
        theta.ravel(),
        np.array([scores.shape]),
        np.array([0, scores.size]),
        np.zeros(scores.shape[0]),
        np.zeros(scores.shape[1]),
        most=most,
    )
    return {(int(j), int(k)) for j, k in np.argwhere(links.reshape(scores.shape))}


class _Further(NamedTuple):
    """Which links beyond the matching may be sure: at most so many a word, likely ones, of lone words."""

    most: int
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
    if sure and further.most > 1:
        more = _represented(combinations, kept, scores) - kept
        if further.lone:
            rows, columns = {j for j, _ in kept}, {k for _, k in kept}
            more = {(j, k) for j, k in more if further.likely[j, k] and not (j in rows and k in columns)}
        kept = largest_set(sorted(kept | more), scores, further.most)
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
