"""What training is told about sentence pairs: the links that are right, and those that cost nothing.

The gold labelling y_i of a pair has to be one that the model can give, for only then is the structured hinge
loss H_i(w) >= 0 (:mod:`align.problems.protocol`): a matching, or a set of links with at most K a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.ragged import edge_offsets, offsets_of, rows_at
from align.links import Link


@dataclass(frozen=True)
class Labels:
    """Labelled links of N sentence pairs; those of pair i are ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: np.ndarray  # int64, shape (N + 1,)
    source: np.ndarray  # int32, shape (L,): analysis tokens within the pair, sorted, no link twice
    target: np.ndarray  # as source
    sure: np.ndarray  # bool, shape (L,): links of y_i, a matching where words have one link; others are free

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
        links = (values[first:last] for values in (self.source, self.target, self.sure))
        return Labels(self.offsets[start : stop + 1] - first, *links)

    def take(self, chosen: np.ndarray) -> Labels:
        """Return the pairs with the given indices (int array, any order) as a copy."""
        offsets, where = rows_at(self.offsets, chosen)
        return Labels(offsets, self.source[where], self.target[where], self.sure[where])

    @classmethod
    def join(cls, parts: Sequence[Labels]) -> Labels:
        """Put several runs of pairs one after the other."""
        parts = [cls.from_lists([]), *parts]
        offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
        links = ("source", "target", "sure")
        return cls(offsets, *(np.concatenate([getattr(part, name) for part in parts]) for name in links))

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
        offsets, sure = np.searchsorted(edges, starts), np.ones(len(edges), dtype=bool)
        return cls(offsets, source.astype(np.int32), target.astype(np.int32), sure)

    def save(self, folder: Path) -> None:
        """Write ``labels.*.npy``, one file a field, into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            save_array(folder / f"labels.{field.name}.npy", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Path) -> Labels:
        """Read what :meth:`save` wrote."""
        return cls(*(load_array(folder / f"labels.{field.name}.npy") for field in fields(cls)))
