"""What block-coordinate Frank-Wolfe keeps between two passes, and the file it is saved in."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.objective import projection
from align.oracle import Arrays
from align.problem import Problem
from align.solvers.fit import Row


@dataclass
class State:
    """The state of :func:`~align.solvers.block.bcfw`; the solver changes it in place.

    Attributes
    ----------
    options : dict
        The options it was made with and depends on: lam, sampling, averaging, cache.
    generator : dict
        State of the random generator.
    nonnegative : int
        Weights from this one on may not be negative.
    origin : ndarray of float64, shape (d,)
        w_0.
    v : ndarray of float64, shape (d,)
        ``origin`` and the sum of ``w_blocks``.
    w : ndarray of float64, shape (d,)
        The iterate: v with the weights that may not be negative cut at 0.
    v_average : ndarray of float64, shape (d,)
        Average of v over the oracle's steps k = 0, 1, ..., with weight in proportion to k + 1.
    ells : ndarray of float64, shape (2,)
        ell of the iterate and of the average.
    w_blocks, ell_blocks : ndarray of float64, shapes (n, d) and (n,)
        w_i and ell_i.
    w_cache, ell_cache : ndarray of float64, shapes (n, cache, d) and (n, cache)
        Vertices (w_s, ell_s) that the oracle gave for each block.
    stamps : ndarray of int64, shape (n, cache)
        When each of them was used last; 0: the place is free.
    passes, oracle_calls : int
    seconds : float
    history : list of Row
    """

    options: dict[str, Any]
    generator: dict[str, Any]
    nonnegative: int
    origin: np.ndarray
    v: np.ndarray
    w: np.ndarray
    v_average: np.ndarray
    ells: np.ndarray
    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    w_cache: np.ndarray
    ell_cache: np.ndarray
    stamps: np.ndarray
    passes: int
    oracle_calls: int
    seconds: float
    history: list[Row]

    @classmethod
    def start(cls, problem: Problem, origin: np.ndarray, *, seed: int, **options: Any) -> State:
        """Return the start: w = w_0, all mass on the gold labellings; ``options`` as in the attribute."""
        n, d, cache = problem.n, problem.d, options["cache"]
        stamps = np.zeros((n, cache), dtype=np.int64)
        stamps[:, :1] = 1  # the vertex of the gold labelling is (0, 0)
        return cls(
            options=options,
            generator=dict(np.random.default_rng(seed).bit_generator.state),
            nonnegative=problem.nonnegative,
            origin=origin,
            v=origin.copy(),
            w=origin.copy(),
            v_average=origin.copy(),
            ells=np.zeros(2),
            w_blocks=np.zeros((n, d)),
            ell_blocks=np.zeros(n),
            w_cache=np.zeros((n, cache, d)),
            ell_cache=np.zeros((n, cache)),
            stamps=stamps,
            passes=0,
            oracle_calls=0,
            seconds=0.0,
            history=[],
        )

    @property
    def iterates(self) -> Arrays:
        """Return the arrays that a step changes, in the order the kernels take them."""
        return self.v, self.w, self.v_average, self.ells, self.w_blocks, self.ell_blocks

    @property
    def vertices(self) -> Arrays:
        """Return the cache's arrays, in the order the kernels take them."""
        return self.w_cache, self.ell_cache, self.stamps

    def check(self, problem: Problem, origin: np.ndarray, **options: Any) -> None:
        """Raise ValueError if the state was made for another problem's size or with other options."""
        n, d = self.w_blocks.shape
        mine = {"n": n, "d": d, "nonnegative": self.nonnegative, **self.options}
        asked = {"n": problem.n, "d": problem.d, "nonnegative": problem.nonnegative, **options}
        if mine != asked:
            raise ValueError(f"bcfw: the state is of a run with {mine}, asked is {asked}; start anew")
        if not np.array_equal(self.origin, origin):
            raise ValueError("bcfw: the state is of a run with another origin; start anew")

    def save(self, path: Path) -> None:
        """Write the state to one file, which appears whole or not at all."""
        record = json.dumps({name: getattr(self, name) for name in _PLAIN})
        temporary = path.with_name(path.name + ".part")
        with open(temporary, "wb") as out:
            np.savez(out, record=np.array(record), **{name: getattr(self, name) for name in _ARRAYS})
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: Path) -> State:
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            If the file is no such state.
        """
        try:
            # opened here: numpy would leave a broken file open
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in _ARRAYS}
                record = json.loads(str(saved["record"]))
            record["history"] = [Row(*row) for row in record["history"]]
            return cls(**arrays, w=projection(arrays["v"], record["nonnegative"]), **record)
        except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: no saved state of bcfw ({error}); remove it") from None


_ARRAYS = (
    "origin", "v", "v_average", "ells", "w_blocks", "ell_blocks", "w_cache", "ell_cache", "stamps"
)  # fmt: skip
_PLAIN = ("options", "nonnegative", "generator", "passes", "oracle_calls", "seconds", "history")
