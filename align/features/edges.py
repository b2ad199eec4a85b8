"""The features of all word pairs of a block of sentence pairs, as arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.arrays import load_array, save_array
from align.errors import InputError

_REMEDY = "run featurize again, with --force"


@dataclass(frozen=True)
class Edges:
    """One row of features an edge, that is a possible link of a source and a target word.

    Edge (j, k) of pair i is row ``offsets[i] + j * m_i + k``.

    Attributes
    ----------
    shapes : ndarray of int32, shape (N, 2)
        Numbers of source words n_i and target words m_i of each pair.
    offsets : ndarray of int64, shape (N + 1,)
        The edges of pair i are rows ``offsets[i]:offsets[i + 1]``.
    features : ndarray of float32, shape (E, d)
        Feature values.
    names : tuple of str
        Names of the d features.
    """

    shapes: np.ndarray
    offsets: np.ndarray
    features: np.ndarray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.shapes)

    def block(self, start: int, stop: int) -> Edges:
        """Return pairs ``start`` to ``stop`` (exclusive); features are a view."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        offsets = self.offsets[start : stop + 1] - first
        return Edges(self.shapes[start:stop], offsets, self.features[first:last], self.names)

    def take(self, chosen: np.ndarray) -> Edges:
        """Return the pairs with the given indices (int array, any order) as a copy."""
        rows = [np.arange(self.offsets[pair], self.offsets[pair + 1]) for pair in chosen]
        where = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        shapes = self.shapes[chosen]
        return Edges(shapes, edge_offsets(shapes), self.features[where], self.names)

    @classmethod
    def join(cls, parts: Sequence[Edges]) -> Edges:
        """Put the pairs of several blocks, at least one, one after the other.

        Raises
        ------
        ValueError
            If the blocks have different features.
        """
        if len({part.names for part in parts}) != 1:
            raise ValueError("edges: the blocks have different features")
        shapes = np.concatenate([part.shapes for part in parts])
        features = np.concatenate([part.features for part in parts])
        return cls(shapes, edge_offsets(shapes), features, parts[0].names)

    def save(self, folder: Path) -> None:
        """Write ``shapes.npy``, ``features.npy`` and ``names.json`` into ``folder``, made if missing."""
        save_description(folder, self.shapes, self.names)
        save_array(folder / "features.npy", self.features)

    @classmethod
    def load(cls, folder: Path, *, mapped: bool = True) -> Edges:
        """Read what :meth:`save` wrote; ``mapped`` leaves the features on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing or the sizes do not agree.
        """
        try:
            names = tuple(json.loads((folder / "names.json").read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: no edges can be read ({error}); {_REMEDY}") from None
        shapes = load_array(folder / "shapes.npy", remedy=_REMEDY)
        features = load_array(folder / "features.npy", mapped=mapped, remedy=_REMEDY)
        offsets = edge_offsets(shapes)
        if features.shape != (offsets[-1], len(names)):
            expected = (int(offsets[-1]), len(names))
            raise InputError(f"{folder}: features are {features.shape}, expected {expected}; {_REMEDY}")
        return cls(shapes, offsets, features, names)


def save_description(folder: Path, shapes: np.ndarray, names: Sequence[str]) -> None:
    """Write what :meth:`Edges.save` writes but the features, into ``folder``, made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    save_array(folder / "shapes.npy", shapes)
    text = json.dumps(list(names), ensure_ascii=False, indent=0) + "\n"
    (folder / "names.json").write_text(text, encoding="utf-8", newline="\n")


def edge_offsets(shapes: np.ndarray) -> np.ndarray:
    """Return where the edges of each pair begin, int64, shape (N + 1,), given shapes (N, 2)."""
    offsets = np.zeros(len(shapes) + 1, dtype=np.int64)
    np.cumsum(shapes[:, 0].astype(np.int64) * shapes[:, 1], out=offsets[1:])
    return offsets
