"""What a solver keeps between two passes, and the file it is saved in."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from align.problems.objective import projection
from align.problems.protocol import Problem
from align.solvers.fit import Row

# What reading a damaged zip file of arrays and JSON may raise.
_UNREADABLE = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile)


@dataclass(kw_only=True)
class State:
    """What all Frank-Wolfe solvers keep; each adds arrays of its own. A solver changes its state in place.

    Attributes
    ----------
    options : dict
        The options it was made with and depends on, ``solver`` and ``lam`` among them.
    generator : dict
        State of the random generator.
    n, d, nonnegative : int
        Size of the problem; weights from ``nonnegative`` on may not be negative.
    origin : ndarray of float64, shape (d,)
        w_0.
    v : ndarray of float64, shape (d,)
        ``origin`` and the sum of all w_i.
    w : ndarray of float64, shape (d,)
        The iterate: v with the weights that may not be negative cut at 0. Not saved.
    ells : ndarray of float64, shape (2,)
        ell of the iterate and of the average, where there is one.
    passes, oracle_calls : int
    seconds : float
    history : list of Row
    """

    options: dict[str, Any]
    generator: dict[str, Any]
    n: int
    d: int
    nonnegative: int
    origin: np.ndarray
    v: np.ndarray
    w: np.ndarray
    ells: np.ndarray
    passes: int
    oracle_calls: int
    seconds: float
    history: list[Row]

    @classmethod
    def new(
        cls, problem: Problem, origin: np.ndarray, seed: int, options: dict[str, Any], **arrays: np.ndarray
    ) -> Self:
        """Return the start, w = w_0 with all mass on the gold labellings; ``arrays`` are the solver's own."""
        return cls(
            options=options,
            generator=dict(np.random.default_rng(seed).bit_generator.state),
            n=problem.n,
            d=problem.d,
            nonnegative=problem.nonnegative,
            origin=origin,
            v=origin.copy(),
            w=origin.copy(),
            ells=np.zeros(2),
            passes=0,
            oracle_calls=0,
            seconds=0.0,
            history=[],
            **arrays,
        )

    def check(self, problem: Problem, origin: np.ndarray, **options: Any) -> None:
        """Raise ValueError if the state was made for another problem's size or with other options."""
        mine = {"n": self.n, "d": self.d, "nonnegative": self.nonnegative, **self.options}
        asked = {"n": problem.n, "d": problem.d, "nonnegative": problem.nonnegative, **options}
        name = options["solver"]
        if mine != asked:
            raise ValueError(f"{name}: the state is of a run with {mine}, asked is {asked}; start anew")
        if not np.array_equal(self.origin, origin):
            raise ValueError(f"{name}: the state is of a run with another origin; start anew")

    def save(self, path: Path) -> None:
        """Write the state to one file, which appears whole or not at all."""
        kept = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "w"}
        arrays = {name: value for name, value in kept.items() if isinstance(value, np.ndarray)}
        record = json.dumps({name: value for name, value in kept.items() if name not in arrays})
        temporary = path.with_name(path.name + ".part")
        with open(temporary, "wb") as out:
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
            return cls(**arrays, w=projection(arrays["v"], record["nonnegative"]), **record)
        except _UNREADABLE as error:
            raise ValueError(f"{path}: no saved state of this solver ({error}); remove it") from None
