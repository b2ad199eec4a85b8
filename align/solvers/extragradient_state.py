"""What the dual extragradient method keeps between two iterations, and the file it is saved in."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.problems.matching import MatchingProblem
from align.solvers.extragradient_metric import Metric
from align.solvers.fit import Row

# What reading a damaged zip file of arrays and JSON may raise.
_UNREADABLE = (OSError, KeyError, TypeError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile)


@dataclass
class State:
    """The state of :func:`~align.solvers.extragradient.extragradient`; the solver changes it in place.

    Attributes
    ----------
    options : dict
        The options it was made with and depends on: lam, ball, geometry, memory, metric.
    n : int
        Pairs.
    constant : float
        c_fn mean |y_i|.
    lipschitz : float
        Lip.
    metric : Metric
        M.
    origin : ndarray of float64, shape (d,)
        w_0.
    w, w_sum : ndarray of float64, shape (d,)
        The last u of weights, and the sum of all.
    s : ndarray of float64, shape (d,)
        The part of s of weights.
    moved : ndarray of float64, shape (d,)
        F z - F y of the last u.
    edges : ndarray of float64, shape (E,) or (0,)
        The part of s of edges, up to the iteration before the last, where it is kept.
    prices : ndarray of float64, shape (2, W)
        Prices of the words of each pair's longer side in the two projections of the last iteration.
    price_starts : ndarray of int64, shape (n + 1,)
        The prices of pair i are ``price_starts[i]`` to ``price_starts[i + 1]``.
    cost, cost_sum : float
        <c, z> of the last u, and the sum of all.
    passes, oracle_calls : int
    seconds : float
    history : list of Row
    """

    options: dict[str, Any]
    n: int
    constant: float
    lipschitz: float
    metric: Metric
    origin: np.ndarray
    w: np.ndarray
    w_sum: np.ndarray
    s: np.ndarray
    moved: np.ndarray
    edges: np.ndarray
    prices: np.ndarray
    price_starts: np.ndarray
    cost: float
    cost_sum: float
    passes: int
    oracle_calls: int
    seconds: float
    history: list[Row]

    @classmethod
    def start(
        cls,
        problem: MatchingProblem,
        origin: np.ndarray,
        options: dict[str, Any],
        metric: Metric,
        *,
        constant: float,
        lipschitz: float,
    ) -> State:
        """Return the start: w = w_0, z uniform."""
        shapes, d = problem.data[2].astype(np.int64), problem.d
        price_starts = np.concatenate([[0], np.cumsum(shapes.max(axis=1))])
        edges = int(shapes.prod(axis=1).sum()) if options["memory"] == "edges" else 0
        return cls(
            options=options,
            n=problem.n,
            constant=constant,
            lipschitz=lipschitz,
            metric=metric,
            origin=origin,
            w=origin.copy(),
            w_sum=np.zeros(d),
            s=np.zeros(d),
            moved=np.zeros(d),
            edges=np.zeros(edges),
            prices=np.zeros((2, price_starts[-1])),
            price_starts=price_starts,
            cost=0.0,
            cost_sum=0.0,
            passes=0,
            oracle_calls=0,
            seconds=0.0,
            history=[],
        )

    def check(self, problem: MatchingProblem, origin: np.ndarray, options: dict[str, Any]) -> None:
        """Raise ValueError if the state was made for another problem's size or with other options."""
        words = int(problem.data[2].max(axis=1).sum())
        mine = {"n": self.n, "d": len(self.w), "words": self.prices.shape[1], **self.options}
        asked = {"n": problem.n, "d": problem.d, "words": words, **options}
        if mine != asked:
            raise ValueError(
                f"extragradient: the state is of a run with {mine}, asked is {asked}; start anew"
            )
        if not np.array_equal(self.origin, origin):
            raise ValueError("extragradient: the state is of a run with another origin; start anew")

    def save(self, path: Path) -> None:
        """Write the state to one file, which appears whole or not at all."""
        record = json.dumps({name: getattr(self, name) for name in _PLAIN} | {"norm": self.metric.norm})
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"axes": self.metric.axes, "units": self.metric.units}
        temporary = path.with_name(path.name + ".part")
        with open(temporary, "wb") as out:
            np.savez(out, record=np.array(record), **arrays)
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
                axes, units = saved["axes"], saved["units"]
                record = json.loads(str(saved["record"]))
            record["history"] = [Row(*row) for row in record["history"]]
            metric = Metric(axes, units, record.pop("norm"))
            return cls(**arrays, metric=metric, **record)
        except _UNREADABLE as error:
            raise ValueError(f"{path}: no saved state of extragradient ({error}); remove it") from None


_ARRAYS = ("origin", "w", "w_sum", "s", "moved", "edges", "prices", "price_starts")
_PLAIN = (
    "options", "n", "constant", "lipschitz", "cost", "cost_sum", "passes", "oracle_calls", "seconds",
    "history",
)  # fmt: skip
