"""Which of three is the odd one out: triplets of embedded objects as a structured problem.

A triplet has three embeddings e_1, e_2, e_3 in R^p, of faces say, and somebody said which two are most alike
([1]_). The labelling is the odd one, a vertex y of the simplex {z >= 0, z_1 + z_2 + z_3 = 1}; with the pair
(a, b) that is left when k is taken out,

    <w, F y> = sum_k y_k sum_j w_j s_j(e_a, e_b),

s_j the similarity in dimension j: -(e_aj - e_bj)^2, so that w is a weighting of the squared distance, which
w >= 0 makes a metric; or e_aj e_bj, a weighting of the inner product. The loss is 1 for a wrong odd one.

Guessing at random is right once in three: there are 3 = "3 choose 2" pairs, not 6.

References
----------
.. [1] R. Vemulapalli and A. Agarwala, "A compact embedding for facial expression similarity", CVPR 2019.
   https://arxiv.org/abs/1811.11283
"""

from __future__ import annotations

import csv
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError
from align.core.kernels import kernel
from align.problems.compiled import CompiledProblem, register
from align.problems.polytopes import SimplexPolytope

SIMILARITIES = ("distance", "product")

# The columns before the annotations: three faces with address and box each, and the kind of triplet.
_FACES, _FACE_COLUMNS = 3, 5
_ANNOTATIONS = _FACES * _FACE_COLUMNS + 1


class Triplets(NamedTuple):
    """Triplets on whose odd one most annotators agree."""

    embeddings: np.ndarray  # float64, shape (n, 3, p)
    odd: np.ndarray  # int64, shape (n,): the odd one, 0 to 2
    lines: np.ndarray  # int64, shape (n,): their lines in the file, from 1
    undecided: int  # triplets left out: no odd one has more votes than each other


class TripletData(NamedTuple):
    """What the kernels read."""

    similarities: np.ndarray  # float64, shape (n, 3, d): column j of F_i' for each choice of the odd one
    odd: np.ndarray  # int64, shape (n,)


class TripletProblem(CompiledProblem):
    """Triplets as a structured problem.

    Parameters
    ----------
    embeddings : ndarray of float, shape (n, 3, p)
        Finite.
    odd : ndarray of int, shape (n,)
        The odd one of each, 0 to 2.
    similarity : str
        ``distance`` or ``product``, as above.
    metric : bool
        Whether weights may not be negative.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    def __init__(
        self, embeddings: np.ndarray, odd: np.ndarray, *, similarity: str = "distance", metric: bool = False
    ) -> None:
        if similarity not in SIMILARITIES:
            raise ValueError(f"triplets: similarity {similarity!r}; give one of {', '.join(SIMILARITIES)}")
        odd = np.array(odd, dtype=np.int64)
        similarities = _similarities(embeddings, similarity)
        if odd.shape != (len(similarities),) or not len(odd) or not np.isin(odd, (0, 1, 2)).all():
            raise ValueError(
                f"triplets: {len(similarities)} triplets, odd ones of shape {odd.shape}; "
                "give as many, 0 to 2, at least one"
            )
        self.n, self.d = len(odd), similarities.shape[2]
        self.nonnegative = 0 if metric else self.d
        self.data = TripletData(similarities, odd)
        self._similarity = similarity

    @cached_property
    def polytope(self) -> SimplexPolytope:
        """The product of the simplices, as of :class:`~align.problems.protocol.Polytope`."""
        gold = np.eye(3)[self.data.odd].ravel()
        return SimplexPolytope(self.data.similarities.reshape(-1, self.d), 1.0 - gold, gold, labels=3)

    def predict(self, w: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
        """Return the odd one of each of ``embeddings``, float (N, 3, p), under w, (d,): int64, shape (N,)."""
        similarities = _similarities(embeddings, self._similarity)
        if similarities.shape[2] != self.d or w.shape != (self.d,):
            raise ValueError(
                f"triplets: {similarities.shape[2]} dimensions, weights {w.shape}; give those of training, "
                f"{self.d}"
            )
        return np.asarray((similarities @ w).argmax(axis=1), dtype=np.int64)


def read_triplets(table: Path, embeddings: Path) -> Triplets:
    """Read triplets in the layout of the facial expression comparison data, with given embeddings.

    ``table`` has a line a triplet, without a heading, values parted by commas: for each of three faces the
    address of the image and the box of the face (left, right, top, bottom, as shares of width and height in
    [0, 1]); the kind of triplet; then for each annotator a name and a vote, 1, 2 or 3: the face that is the
    odd one out. The images are not read: ``embeddings`` is an ``.npy`` file of the faces of the same lines.

    Parameters
    ----------
    table : Path
        UTF-8.
    embeddings : Path
        float, shape (lines, 3, p).

    Returns
    -------
    Triplets

    Raises
    ------
    InputError
        If a file is missing or broken, a line is not as told, or the files have not as many triplets.
    """
    votes = _read_votes(table)
    found = load_array(embeddings, remedy="give an .npy file of shape (triplets, 3, p)")
    if found.ndim != 3 or found.shape[1] != _FACES or not found.shape[2] or found.dtype.kind != "f":
        raise InputError(
            f"{embeddings}: an array of {found.dtype}, shape {found.shape}; give floats of shape "
            "(triplets, 3, p)"
        )
    if len(found) != len(votes):
        raise InputError(
            f"{embeddings}: embeddings of {len(found)} triplets, {table} has {len(votes)}; give as many"
        )
    if not np.isfinite(found).all():
        raise InputError(f"{embeddings}: a value is NaN or infinite; embed the faces again")
    decided = np.array([_majority(own) for own in votes], dtype=np.int64)
    kept = np.flatnonzero(decided >= 0)
    if not len(kept):
        raise InputError(f"{table}: no triplet on whose odd one most annotators agree; give more votes")
    return Triplets(found[kept].astype(np.float64), decided[kept], kept + 1, len(votes) - len(kept))


def _read_votes(table: Path) -> list[list[int]]:
    """Return the votes of each line, 0 to 2."""
    try:
        with open(table, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{table}: {error}; give a UTF-8 table of triplets") from None
    if not rows:
        raise InputError(f"{table}: no triplets; give a line each")
    return [_votes(row, f"{table}, line {line}") for line, row in enumerate(rows, 1)]


def _votes(row: list[str], where: str) -> list[int]:
    """Check a line and return its votes."""
    while row and not row[-1].strip():  # programs that write tables fill short lines up
        row = row[:-1]
    if len(row) < _ANNOTATIONS + 2 or len(row) % 2:
        raise InputError(
            f"{where}: {len(row)} values; give {_ANNOTATIONS} of the faces and kind, then a name and a vote "
            "of each annotator"
        )
    for face in range(_FACES):
        for value in row[face * _FACE_COLUMNS + 1 : (face + 1) * _FACE_COLUMNS]:
            if not _is_share(value):
                raise InputError(f"{where}: {value!r} in the box of face {face + 1}; give shares in [0, 1]")
    for vote in row[_ANNOTATIONS + 1 :: 2]:
        if vote.strip() not in ("1", "2", "3"):
            raise InputError(f"{where}: the vote {vote!r}; give 1, 2 or 3")
    return [int(vote) - 1 for vote in row[_ANNOTATIONS + 1 :: 2]]


def _is_share(text: str) -> bool:
    try:
        return 0.0 <= float(text) <= 1.0
    except ValueError:
        return False


def _majority(votes: list[int]) -> int:
    """Return what has more votes than each other choice, or -1."""
    first, *others = Counter(votes).most_common(2)
    return -1 if others and others[0][1] == first[1] else first[0]


def _similarities(embeddings: np.ndarray, similarity: str) -> np.ndarray:
    """Return the similarity of the other two, by dimension, for each choice of the odd one."""
    e = np.asarray(embeddings, dtype=np.float64)
    if e.ndim != 3 or e.shape[1] != _FACES or not e.shape[2] or not np.isfinite(e).all():
        raise ValueError(f"triplets: embeddings of shape {e.shape}; give finite ones (n, 3, p), p >= 1")
    first, second = e[:, [1, 0, 0]], e[:, [2, 2, 1]]
    return np.ascontiguousarray(first * second if similarity == "product" else -((first - second) ** 2))


@kernel
def _workspace(data: TripletData) -> None:
    """Return nothing: a triplet needs no memory."""


@kernel
def _vertex(data: TripletData, w: np.ndarray, i: int, psi: np.ndarray, work: None) -> float:
    """Solve the max oracle of triplet i: fill ``psi`` (d,), return the loss; ties: the least odd one."""
    known, best, top = data.odd[i], 0, -np.inf
    for k in range(3):
        value = 0.0 if k == known else 1.0
        for j in range(len(w)):
            value += w[j] * data.similarities[i, k, j]
        if not np.isfinite(value):
            raise ValueError("oracle: a score is NaN or infinite; give finite weights")
        if value > top:
            best, top = k, value
    for j in range(len(w)):
        psi[j] = data.similarities[i, known, j] - data.similarities[i, best, j]
    return 0.0 if best == known else 1.0


register(TripletData, workspace=_workspace, vertex=_vertex)
