"""In which order a pass takes the blocks.

``gaps`` draws blocks with probability in proportion to their gaps as they were last met: blocks that are far
from their best are visited more often (A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania and
S. Lacoste-Julien, "Minding the gaps for block Frank-Wolfe optimization of structured SVMs", ICML 2016).
Gaps change with every step, so those last met grow old: every tenth pass, the first among them,
takes each block once and so renews all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from align.core.kernels import kernel

BLOCK_ORDERS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "permutation": lambda generator, n: generator.permutation(n),
    "uniform": lambda generator, n: generator.integers(n, size=n),
    "cyclic": lambda generator, n: np.arange(n),
}
# Passes from one renewal of all gaps to the next.
_RENEWAL = 10


def plan(
    block_order: str, generator: np.random.Generator, passes: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`next_block` needs for the pass after ``passes`` passes.

    Returns
    -------
    order : ndarray of int64, shape (n,)
        The blocks; where they are drawn by their gaps, room for them.
    chances : ndarray of float64, shape (n,) or (0,)
        Uniform numbers in [0, 1) to draw with.
    """
    if block_order == "gaps" and passes % _RENEWAL:
        return np.zeros(n, dtype=np.int64), generator.random(n)
    order = BLOCK_ORDERS["permutation" if block_order == "gaps" else block_order](generator, n)
    return order.astype(np.int64), np.zeros(0)


@kernel
def next_block(place: int, order: np.ndarray, chances: np.ndarray, tree: np.ndarray) -> int:
    """Return the block to take in this place of the pass, from 0; one that is drawn is put into ``order``."""
    if len(chances):
        order[place] = _drawn(tree, len(order), chances[place])
    return int(order[place])


@kernel
def gap_tree(gaps: np.ndarray) -> np.ndarray:
    """Return a binary tree of sums, node k above 2 k and 2 k + 1, the root 1, with ``gaps`` as its leaves."""
    size = 1
    while size < len(gaps):
        size *= 2
    tree = np.zeros(2 * size)
    tree[size : size + len(gaps)] = gaps
    for node in range(size - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    return tree


@kernel
def renew(tree: np.ndarray, i: int, gap: float) -> None:
    """Give block i another gap."""
    node = len(tree) // 2 + i
    tree[node] = gap
    while node > 1:
        node //= 2
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@kernel
def _drawn(tree: np.ndarray, n: int, chance: float) -> int:
    """Return the block at the share ``chance`` of the sum of all gaps; any one where all gaps are 0."""
    if not tree[1] > 0.0:
        return min(int(chance * n), n - 1)
    target, node = chance * tree[1], 1
    while node < len(tree) // 2:
        node *= 2
        if target >= tree[node] and tree[node + 1] > 0.0:
            target -= tree[node]
            node += 1
    return node - len(tree) // 2
