"""The features of all word pairs of a block of sentence pairs, as arrays."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.errors import InputError
from align.core.files import text_file
from align.core.ragged import SIDES, edge_offsets, rows_at, word_offsets
from align.features.scoring import score_edges

_REMEDY = "run featurize again, with --force"


@dataclass(frozen=True)
class WordFeatures:
    """One row of features a word, from which the cost of its links after the first follows.

    Attributes
    ----------
    source, target : ndarray of float32, shapes (sum n_i, ds) and (sum m_i, dt)
        Features of the words of each side, >= 0, pair after pair.
    names : tuple of str
        Names of the ds + dt features.
    """

    source: np.ndarray
    target: np.ndarray
    names: tuple[str, ...]

    def costs(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cost of each source and each target word, float64, given ds + dt weights."""
        own = self.source.shape[1]
        return score_edges(self.source, weights[:own]), score_edges(self.target, weights[own:])

    def rows(self, source: np.ndarray, target: np.ndarray) -> WordFeatures:
        """Return chosen rows of both sides as a copy."""
        return WordFeatures(self.source[source], self.target[target], self.names)


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
    word_features : WordFeatures or None
        Features of the words, where they may have several links.
    likely : ndarray of bool, shape (E,), or None
        Which of the edges a model may link (:func:`align.features.groups.likely_edges`); None: all. To learn,
        all are counted.
    """

    shapes: np.ndarray
    offsets: np.ndarray
    features: np.ndarray
    names: tuple[str, ...]
    word_features: WordFeatures | None = None
    likely: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.shapes)

    def block(self, start: int, stop: int) -> Edges:
        """Return pairs ``start`` to ``stop`` (exclusive); features are a view."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        offsets = self.offsets[start : stop + 1] - first
        words = self.word_features
        if words is not None:
            (a, b), (c, d) = (starts[[start, stop]] for starts in word_offsets(self.shapes))
            words = WordFeatures(words.source[a:b], words.target[c:d], words.names)
        likely = None if self.likely is None else self.likely[first:last]
        return Edges(self.shapes[start:stop], offsets, self.features[first:last], self.names, words, likely)

    def take(self, chosen: np.ndarray) -> Edges:
        """Return the pairs with the given indices (int array, any order) as a copy."""
        offsets, where = rows_at(self.offsets, chosen)
        words = self.word_features
        if words is not None:
            words = words.rows(*(rows_at(starts, chosen)[1] for starts in word_offsets(self.shapes)))
        likely = None if self.likely is None else self.likely[where]
        return Edges(self.shapes[chosen], offsets, self.features[where], self.names, words, likely)

    @classmethod
    def join(cls, parts: Sequence[Edges]) -> Edges:
        """Put the pairs of several blocks, at least one, one after the other.

        Raises
        ------
        ValueError
            If the blocks have different features, or of some only it is known which edges are likely.
        """
        if len({part.names for part in parts}) != 1:
            raise ValueError("edges: the blocks have different features")
        shapes = np.concatenate([part.shapes for part in parts])
        features = np.concatenate([part.features for part in parts])
        found = [part.word_features for part in parts if part.word_features is not None]
        words = None
        if found:
            if len(found) != len(parts) or len({each.names for each in found}) != 1:
                raise ValueError("edges: the blocks have different features of words")
            source, target = (np.concatenate([getattr(each, side) for each in found]) for side in SIDES)
            words = WordFeatures(source, target, found[0].names)
        known = [part.likely for part in parts if part.likely is not None]
        if known and len(known) != len(parts):
            raise ValueError("edges: of some blocks only it is known which edges are likely")
        likely = np.concatenate(known) if known else None
        return cls(shapes, edge_offsets(shapes), features, parts[0].names, words, likely)

    def save(self, folder: Path) -> None:
        """Write ``shapes.npy``, ``features.npy`` and ``names.json`` into ``folder``, made if missing.

        With features of words also ``extra.source.npy``, ``extra.target.npy`` and ``extra.names.json``; where
        it is known which edges are likely, ``likely.npy``.
        """
        words = self.word_features
        save_description(folder, self.shapes, self.names, () if words is None else words.names)
        save_array(folder / "features.npy", self.features)
        if self.likely is not None:
            save_array(folder / "likely.npy", self.likely)
        if words is not None:
            for side in SIDES:
                save_array(folder / f"extra.{side}.npy", getattr(words, side))

    @classmethod
    def load(cls, folder: Path, *, mapped: bool = True) -> Edges:
        """Read what :meth:`save` wrote; ``mapped`` leaves the features on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing or the sizes do not agree.
        """
        names = _read_names(folder / "names.json")
        shapes = load_array(folder / "shapes.npy", remedy=_REMEDY)
        features = load_array(folder / "features.npy", mapped=mapped, remedy=_REMEDY)
        offsets = edge_offsets(shapes)
        if features.shape != (offsets[-1], len(names)):
            expected = (int(offsets[-1]), len(names))
            raise InputError(f"{folder}: features are {features.shape}, expected {expected}; {_REMEDY}")
        words = (
            _load_word_features(folder, shapes, mapped) if (folder / "extra.names.json").exists() else None
        )
        likely = None
        if (folder / "likely.npy").exists():
            likely = load_array(folder / "likely.npy", mapped=mapped, remedy=_REMEDY)
            if likely.shape != features.shape[:1] or likely.dtype != np.bool_:
                found = f"{likely.dtype} {likely.shape}"
                raise InputError(f"{folder}: likely.npy is {found} of {len(features)} edges; {_REMEDY}")
        return cls(shapes, offsets, features, names, words, likely)


def _load_word_features(folder: Path, shapes: np.ndarray, mapped: bool) -> WordFeatures:
    names = _read_names(folder / "extra.names.json")
    sides = [load_array(folder / f"extra.{side}.npy", mapped=mapped, remedy=_REMEDY) for side in SIDES]
    counts = shapes.sum(axis=0, dtype=np.int64).tolist()
    found = [list(side.shape) for side in sides]
    if any(len(shape) != 2 for shape in found) or found != [
        [counts[0], found[0][1]],
        [counts[1], len(names) - found[0][1]],
    ]:
        raise InputError(f"{folder}: features of words are {found}, of {counts} words; {_REMEDY}")
    return WordFeatures(sides[0], sides[1], names)


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"{path.parent}: no edges can be read ({error}); {_REMEDY}") from None


def save_description(
    folder: Path, shapes: np.ndarray, names: Sequence[str], of_words: Sequence[str] = ()
) -> None:
    """Write what :meth:`Edges.save` writes but the features, into ``folder``, made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    save_array(folder / "shapes.npy", shapes)
    for file, listed in (("names.json", names), ("extra.names.json", of_words)):
        if listed or file == "names.json":
            text = json.dumps(list(listed), ensure_ascii=False, indent=0) + "\n"
            with text_file(folder / file) as out:
                out.write(text)


def parse_groups(text: str, table: Collection[str], option: str) -> tuple[str, ...]:
    """Read a comma list of group names; the order of the table is kept whatever the list's order.

    Raises
    ------
    InputError
        If a name is not in the table or the list is empty; ``option`` is named as the place of the list.
    """
    asked = [name.strip() for name in text.split(",") if name.strip()]
    for name in asked:
        if name not in table:
            raise InputError(f"{option}: {name!r} is no feature group; valid: {', '.join(table)}")
    if not asked:
        raise InputError(f"{option}: {text!r} names no feature group; valid: {', '.join(table)}")
    return tuple(name for name in table if name in asked)
