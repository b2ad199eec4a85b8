"""A structured problem of one's own, from nothing to a certificate: which three of eight items are chosen.

    python docs/examples/best_items.py

A shop shows eight items, a customer takes three. A labelling y is a set of three of the eight, its features
the sum of those of its items, its loss the number of items in it that were not taken; the oracle sorts. This
prints:

    bcfw-pairwise: converged after 6 passes
    primal 1.1876, the minimum is at least 1.1872
    primal from the oracle alone: 1.1876
    items guessed right: 82% (learnt), 38% (any three)
"""

import numpy as np

from align.problems.protocol import Vertex
from align.solvers import SOLVERS


class BestItems:
    """Blocks of 8 items with features x (n, 8, p); the gold labelling of each is a set of 3, y (n, 8)."""

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.n, self.d = len(x), x.shape[2]
        self.nonnegative = self.d  # all weights are free

    def best(self, theta):
        """Return the set of three that maximises the sum of its theta, (8,)."""
        return np.isin(np.arange(len(theta)), np.argsort(-theta, kind="stable")[:3])

    def oracle(self, w, i):
        """Return psi = F(y_i) - F(y) and the loss of the set y that maximises loss + score."""
        found = self.best(self.x[i] @ w + ~self.y[i])
        psi = self.x[i][self.y[i]].sum(axis=0) - self.x[i][found].sum(axis=0)
        return Vertex(psi, float((found & ~self.y[i]).sum()))

    def oracles(self, w, block):
        """Return the same of several blocks, under one weight vector or several."""
        if w.ndim == 2:
            return tuple(map(np.array, zip(*(self.oracles(own, block) for own in w), strict=True)))
        return tuple(map(np.array, zip(*(self.oracle(w, i) for i in block), strict=True)))


generator, lam = np.random.default_rng(0), 0.01
x, taste = generator.normal(size=(500, 8, 6)), generator.normal(size=6)
y = np.argsort(np.argsort(-(x @ taste + generator.normal(size=(500, 8))), axis=1), axis=1) < 3
problem, others = BestItems(x[:400], y[:400]), BestItems(x[400:], y[400:])

fit = SOLVERS["bcfw-pairwise"](lam=lam, tolerance=1e-3).run(problem)
print(f"bcfw-pairwise: {fit.status} after {fit.passes} passes")

# The certificate: no weights have a primal below primal - gap. One has to trust the oracle, not the solver.
print(f"primal {fit.primal:.4f}, the minimum is at least {fit.primal - fit.gap:.4f}")
psi, loss = problem.oracles(fit.weights, range(problem.n))
primal = lam / 2 * fit.weights @ fit.weights + (loss - psi @ fit.weights).mean()
print(f"primal from the oracle alone: {primal:.4f}")

guessed = np.array([others.best(shown @ fit.weights) for shown in others.x])
right = (guessed & others.y).sum() / others.y.sum()
print(f"items guessed right: {right:.0%} (learnt), {3 / 8:.0%} (any three)")
