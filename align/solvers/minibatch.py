"""Block-coordinate Frank-Wolfe with the oracles of many blocks at once, in parallel threads.

The blocks of a minibatch ask their oracles at the same w, which threads can do side by side; then the blocks
move: each by its own exact step, one after the other, or all by one step that is best along their joint
direction. Either way the dual never falls, and the result does not depend on the number of threads. In all
else it is :class:`~align.solvers.block.BlockFrankWolfe`, its cache of vertices included.

References
----------
.. [1] Y.-X. Wang, V. Sadhanala, W. Dai, W. Neiswanger, S. Sra and E. P. Xing, "Parallel and distributed
   block-coordinate Frank-Wolfe algorithms", ICML 2016. https://proceedings.mlr.press/v48/wangd16.html
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from align.core.kernels import kernel
from align.problems.objective import exact_step
from align.problems.protocol import Problem, step_oracles
from align.solvers.block import (
    BlockFrankWolfe,
    Blocks,
    BlockState,
    average,
    close_pass,
    move,
    remember,
    stamp_of,
    step,
)
from align.solvers.block_order import BLOCK_ORDERS
from align.solvers.dual import planned
from align.solvers.options import at_least, flag, one_of


@dataclass(frozen=True, kw_only=True)
class Minibatch(BlockFrankWolfe):
    """Block-coordinate Frank-Wolfe with the oracles of a minibatch in parallel.

    Parameters
    ----------
    batch : int
        Pairs that ask their oracles at the same weights, >= 1. With 1 this is bcfw.
    joint : bool
        Whether the pairs of a minibatch make one step together, else one after the other.
    """

    name = "minibatch"

    batch: int = at_least(1, 32)
    joint: bool = flag(False)
    block_order: str = one_of(*BLOCK_ORDERS)

    def one_pass(self, problem: Problem, state: BlockState) -> None:
        """Take the steps of all minibatches, then as many of the cache as pay."""
        order, _ = planned(state, self.block_order, problem.n)
        blocks, met, stamp = state.blocks(self.lam), 0.0, stamp_of(state.passes)
        in_order = step_oracles(problem)
        ask = in_order or problem.oracles
        take = _joint_step if self.joint else _block_steps
        with ThreadPoolExecutor(self.jobs) as threads:
            for start in range(0, problem.n, self.batch):
                chosen = order[start : start + self.batch]
                parts = [part for part in np.array_split(chosen, self.jobs) if len(part)]
                # threads only pay where there is something to share
                share = threads.map if len(parts) > 1 and in_order is None else map
                found = list(share(partial(ask, state.w), parts))
                psi, loss = (np.concatenate(each) for each in zip(*found, strict=True))
                met += take(chosen, psi, loss, state.passes * problem.n + start, stamp, blocks)
        close_pass(state, order, met, blocks)


@kernel
def _block_steps(
    chosen: np.ndarray, psi: np.ndarray, loss: np.ndarray, k: int, stamp: int, blocks: Blocks
) -> float:
    """Move each block towards its vertex, psi (b, d) and loss (b,); returns the sum of the gaps met."""
    met = 0.0
    for place in range(len(chosen)):
        met += step(chosen[place], psi[place], loss[place], k + place, stamp, blocks)
    return met


@kernel
def _joint_step(
    chosen: np.ndarray, psi: np.ndarray, loss: np.ndarray, k: int, stamp: int, blocks: Blocks
) -> float:
    """Move all blocks by one step; returns their gap. A block drawn twice counts once."""
    n, d, lam = len(blocks.ell_blocks), len(blocks.w), blocks.lam
    w_from, w_to, ell_from, ell_to = np.zeros(d), np.zeros(d), 0.0, 0.0
    met, first = np.zeros(n, dtype=np.bool_), np.zeros(len(chosen), dtype=np.bool_)
    for place in range(len(chosen)):
        i = chosen[place]
        first[place] = not met[i]
        if first[place]:
            met[i] = True
            w_from += blocks.w_blocks[i]
            ell_from += blocks.ell_blocks[i]
            w_to += psi[place] / (lam * n)
            ell_to += loss[place] / n
    gamma, gap = exact_step(blocks.w, w_from, ell_from, w_to, ell_to, lam, 1.0)
    for place in range(len(chosen)):
        i, w_s, ell_s = chosen[place], psi[place] / (lam * n), loss[place] / n
        if first[place]:
            move(i, w_s, ell_s, gamma, blocks)
        remember(i, w_s, ell_s, stamp, blocks)
        average(k + place, blocks)
    return max(gap, 0.0)
