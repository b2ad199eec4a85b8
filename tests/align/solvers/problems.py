"""Small problems that the tests of the solvers share, and their minimum by another method."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from align.problems.matching import MatchingProblem
from align.problems.protocol import Vertex
from align.solvers import SOLVERS


def solve(name, problem, *, origin=None, resume=None, on_pass=None, **options):
    """Run a solver, given its options in one go with all else."""
    return SOLVERS[name](**options).run(problem, origin=origin, resume=resume, on_pass=on_pass)


bcfw, fw, minibatch, subgradient = (
    partial(solve, name) for name in ("bcfw", "fw", "minibatch", "subgradient")
)


def block_away(problem, *, pairwise=False, **options):
    return solve("bcfw-pairwise" if pairwise else "bcfw-away", problem, **options)


def extragradient(problem, *, geometry="euclidean", **options):
    return solve("extragradient-kl" if geometry == "kl" else "extragradient", problem, **options)


@dataclass(frozen=True)
class Edges:
    shapes: np.ndarray
    offsets: np.ndarray
    features: np.ndarray


@dataclass(frozen=True)
class Labels:
    offsets: np.ndarray
    sure: np.ndarray

    def dense(self, shapes):
        return self.sure, np.zeros_like(self.sure)


@dataclass(frozen=True)
class MarkedLabels:
    """Links of all edges: 2 sure, 1 free of cost, 0 none."""

    offsets: np.ndarray
    marks: np.ndarray

    def dense(self, shapes):
        return self.marks == 2, self.marks == 1


def pairs(count, length, d, seed, noise=1.0):
    """Pairs of some ``length`` words whose gold links show in the first features, under noise."""
    generator = np.random.default_rng(seed)
    shapes = generator.integers(max(1, length // 2), length + length // 2 + 1, (count, 2)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    sure = np.zeros(offsets[-1], dtype=bool)
    for (n, m), start in zip(shapes, offsets, strict=False):
        size = min(n, m)
        rows, columns = generator.permutation(n)[:size], generator.permutation(m)[:size]
        keep = generator.random(size) < 0.8
        sure[start + rows[keep] * m + columns[keep]] = True
    features = noise * generator.normal(size=(offsets[-1], d))
    features[:, : d // 2] += sure[:, None]
    features[:, -1] = 1.0
    edges = Edges(shapes, offsets, features.astype(np.float32))
    return MatchingProblem(edges, Labels(np.zeros(count + 1, dtype=np.int64), sure))


class Plain:
    """The same problem without its compiled pass: a solver sees the protocol alone."""

    def __init__(self, problem):
        self.n, self.d, self.nonnegative = problem.n, problem.d, problem.nonnegative
        self.oracle, self.oracles = problem.oracle, problem.oracles


class Listed:
    """A problem whose blocks list their labellings: psi (k, d) and loss (k,), the first of them gold."""

    def __init__(self, psi, loss, nonnegative=None):
        self.psi, self.loss = psi, loss
        self.n, _, self.d = psi.shape
        self.nonnegative = self.d if nonnegative is None else nonnegative

    @classmethod
    def random(cls, n, d, seed, count=6):
        generator = np.random.default_rng(seed)
        psi, loss = generator.normal(size=(n, count, d)), 3 * generator.random((n, count))
        psi[:, 0], loss[:, 0] = 0.0, 0.0
        return cls(psi, loss)

    def oracle(self, w, i):
        best = int(np.argmax(self.loss[i] - self.psi[i] @ w))
        return Vertex(self.psi[i, best], float(self.loss[i, best]))

    def oracles(self, w, block):
        if w.ndim == 2:
            psi, loss = zip(*(self.oracles(each, block) for each in w), strict=True)
            return np.array(psi), np.array(loss)
        best = np.argmax(self.loss[block] - self.psi[block] @ w, axis=1)
        return self.psi[block, best], self.loss[block, best]

    def primal(self, w, lam, origin=0.0):
        return lam / 2 * np.sum((w - origin) ** 2) + (self.loss - self.psi @ w).max(axis=1).mean()


def solved_by_scipy(problem, lam, origin=0.0):
    """The quadratic programme in (w, xi): lam/2 |w - w_0|^2 + mean xi, xi_i >= loss_iy - <w, psi_iy>."""
    n, count, d = problem.psi.shape
    rows = np.concatenate([problem.psi.reshape(n * count, d), np.repeat(np.eye(n), count, axis=0)], axis=1)

    def objective(x):
        moved = x[:d] - origin
        return lam / 2 * moved @ moved + x[d:].mean(), np.concatenate([lam * moved, np.full(n, 1 / n)])

    start = np.concatenate([np.zeros(d), problem.loss.max(axis=1)])
    result = minimize(
        objective,
        start,
        jac=True,
        method="SLSQP",
        constraints=LinearConstraint(rows, lb=problem.loss.ravel()),
        bounds=[(0 if problem.nonnegative <= j < d else None, None) for j in range(d + n)],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert result.success
    return result.x[:d], result.fun


@dataclass(frozen=True)
class WordFeatures:
    source: np.ndarray
    target: np.ndarray


@dataclass(frozen=True)
class FertileEdges(Edges):
    word_features: WordFeatures | None = None


def fertile_pairs(count, length, d, seed):
    """Pairs in which the words whose one feature is 0 have two gold links, under noise."""
    generator = np.random.default_rng(seed)
    shapes = generator.integers(max(2, length // 2), length + length // 2 + 1, (count, 2)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    sure = np.zeros(offsets[-1], dtype=bool)
    words = [np.ones((total, 2), dtype=np.float32) for total in shapes.sum(axis=0)]
    starts = np.cumsum(shapes, axis=0) - shapes
    for (n, m), start, (first, _) in zip(shapes, offsets, starts, strict=False):
        links = sure[start : start + n * m].reshape(n, m)
        links[np.arange(min(n, m)), np.arange(min(n, m))] = True
        if m > n:
            links[n - 1, n] = True
            words[0][first + n - 1, 1] = 0
    features = generator.normal(size=(offsets[-1], d))
    features[:, : d // 2] += 2 * sure[:, None]
    features[:, -1] = 1.0
    edges = FertileEdges(shapes, offsets, features.astype(np.float32), WordFeatures(*words))
    return MatchingProblem(edges, Labels(np.zeros(count + 1, dtype=np.int64), sure), max_fertility=2)


def check_resumed(folder, run, state_type):
    """A run that is stopped and goes on from the file it left is the run made in one go, bit by bit."""
    whole, path = run(), folder / "state.npz"

    def stop(progress):
        progress.state.save(path)
        if progress.row.passes == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(on_pass=stop)
    assert list(folder.iterdir()) == [path]
    resumed = run(resume=state_type.load(path))
    np.testing.assert_array_equal(resumed.weights, whole.weights)
    assert (resumed.averaged, resumed.oracle_calls) == (whole.averaged, whole.oracle_calls)
    for row, other in zip(resumed.history, whole.history, strict=True):
        np.testing.assert_array_equal(row._replace(seconds=0), other._replace(seconds=0))
    assert (np.diff([row.seconds for row in resumed.history]) >= 0).all()


def check_many_at_once(problem, weights, block):
    """Vertices of several blocks under several weights are those asked for singly, to the bit."""
    psi, loss = problem.oracles(weights, block)
    assert psi.shape == (len(weights), len(block), problem.d)
    for r, w in enumerate(weights):
        one_psi, one_loss = problem.oracles(w, block)
        np.testing.assert_array_equal(one_psi, psi[r])
        np.testing.assert_array_equal(one_loss, loss[r])
        for place, i in enumerate(block):
            vertex = problem.oracle(w, int(i))
            np.testing.assert_array_equal(vertex.psi, psi[r, place])
            assert vertex.loss == loss[r, place]
