"""What a solver keeps between two passes: the checkpoint that a killed run goes on from."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from align.core.files import byte_file
from align.problems.objective import PIECE, Value
from align.problems.protocol import Problem
from align.solvers.fit import Row

# What reading a damaged zip file of arrays and JSON may raise.
_UNREADABLE = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile)

# Of arrays with more bytes the fingerprint has a checksum, and so many rows, evenly spread.
_WHOLE, _ROWS = 2**26, 4096

_NONE_MET = Value(math.inf, -math.inf, math.inf)


@dataclass(kw_only=True)
class State:
    """What all solvers keep; each adds fields of its own, arrays or what JSON can hold. It changes in place.

    Attributes
    ----------
    made_for : dict
        The solver, the options that its iterates depend on, and the size of the problem.
    origin : ndarray of float64, shape (d,)
        w_0.
    w : ndarray of float64, shape (d,)
        The iterate.
    passes, oracle_calls : int
    seconds : float
    history : list of Row
    best : ndarray of float64, shape (d,)
        The weights of the lowest primal measured so far.
    best_averaged : bool
        Whether they are an average of the iterates.
    best_value : Value
        Their primal, dual and gap.
    errors : list of [int, float]
        Of a run with an early stop, pass and error of each pass that was judged; ``best`` is then what had
        the lowest.
    fingerprint : str
        Of the problem's data (:func:`fingerprint`), where the state may be saved.
    """

    made_for: dict[str, Any]
    origin: np.ndarray
    w: np.ndarray
    passes: int = 0
    oracle_calls: int = 0
    seconds: float = 0.0
    history: list[Row]
    best: np.ndarray
    best_averaged: bool = False
    best_value: Value = _NONE_MET
    errors: list[list[float]] = field(default_factory=list)
    fingerprint: str = ""

    def check(self, made_for: dict[str, Any], found: str, origin: np.ndarray) -> None:
        """Raise ValueError if the state was made for something else, by other data or from another origin."""
        name = made_for["solver"]
        if self.made_for != made_for:
            raise ValueError(
                f"{name}: the state is of a run with {self.made_for}, asked is {made_for}; start anew"
            )
        if self.fingerprint != found:
            raise ValueError(f"{name}: the state is of a run on other data; start anew")
        if not np.array_equal(self.origin, origin):
            raise ValueError(f"{name}: the state is of a run with another origin; start anew")

    def save(self, path: Path) -> None:
        """Write the state to one file, which appears whole or not at all."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        arrays = {name: value for name, value in kept.items() if isinstance(value, np.ndarray)}
        record = json.dumps({name: value for name, value in kept.items() if name not in arrays})
        temporary = path.with_name(path.name + ".part")
        with byte_file(temporary) as out:
            np.savez(out, allow_pickle=False, record=np.array(record), **arrays)
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            If the file is no state of such a solver.
        """
        try:
            # opened here: numpy would leave a broken file open
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files if name != "record"}
                record = json.loads(str(saved["record"]))
            record["history"] = [Row(*row) for row in record["history"]]
            record["best_value"] = Value(*record["best_value"])
            return cls(**arrays, **record)
        except _UNREADABLE as error:
            raise ValueError(f"{path}: no saved state of this solver ({error}); remove it") from None


def fingerprint(problem: Problem) -> str:
    """Return a hash of the arrays that a problem's kernels read, all of them.

    Of a problem without kernels it is that of the vertices of all blocks, at w = 0 and at random weights.
    """
    found = hashlib.blake2b(digest_size=16)
    data = getattr(problem, "data", None)
    known = isinstance(data, tuple) and all(isinstance(values, np.ndarray) for values in data)
    arrays: Iterable[np.ndarray] = cast(Any, data) if known else _vertices(problem)
    for values in arrays:
        found.update(f"{values.dtype} {values.shape}".encode())
        if values.nbytes <= _WHOLE:
            found.update(values.tobytes())
            continue
        # several times as fast as a cryptographic hash
        rows = max(1, _WHOLE * len(values) // values.nbytes)
        checksum = 0
        for start in range(0, len(values), rows):
            checksum = zlib.crc32(values[start : start + rows].tobytes(), checksum)
        found.update(checksum.to_bytes(4))
        found.update(values[:: -(-len(values) // _ROWS)].tobytes())
    return found.hexdigest()


def _vertices(problem: Problem) -> Iterator[np.ndarray]:
    """Yield psi and loss of the vertices of all blocks at two weight vectors, one pass of the oracle each."""
    weights = np.stack([np.zeros(problem.d), np.random.default_rng(0).random(problem.d)])
    for start in range(0, problem.n, PIECE):
        block = np.arange(start, min(start + PIECE, problem.n), dtype=np.int64)
        for values in problem.oracles(weights, block):
            yield np.asarray(values)
