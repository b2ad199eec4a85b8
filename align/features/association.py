"""Bitext statistics of each edge: Dice and IBM Model 1, looked up in the lexicon.

With p(t|s) of Model 1 [1]_, the posterior that target word k of a sentence came from source word j is
p(t_k|s_j) / (sum over j' of p(t_k|s_j') + p(t_k|NULL)); likewise the other way.

References
----------
.. [1] Brown, Della Pietra, Della Pietra and Mercer 1993, "The Mathematics of Statistical Machine
   Translation", equation 17.
.. [2] Taskar, Lacoste-Julien and Klein 2005, "A Discriminative Matching Approach to Word Alignment":
   Dice and its competition as features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from align.features import competition
from align.features.resources import Resources
from align.kernels import kernel

if TYPE_CHECKING:
    from align.features.block import Block, Side
    from align.lexicon import Lexicon

_NAMES = (
    "dice",
    "forward",
    "reverse",
    "forward_log",
    "reverse_log",
    "geometric",
    "forward_over_null",
    "reverse_over_null",
    "forward_posterior",
    "reverse_posterior",
    "joint",
    "joint_log",
)
LOWEST_LOG = -10.0


@dataclass(frozen=True)
class Association:
    """What the lexicon says of each edge of a block.

    Attributes
    ----------
    dice, forward, reverse : ndarray of float32, shape (E,)
        Dice coefficient, p(target|source) and p(source|target); 0 for pairs that were never seen.
    null_forward : ndarray of float32, shape (U_target,)
        p(target word|NULL) of each of the block's target words.
    null_reverse : ndarray of float32, shape (U_source,)
        p(source word|NULL) of each of the block's source words.
    """

    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray


def look_up(block: Block) -> Association:
    """Find the statistics of each edge of a block; all 0 where there is no lexicon."""
    source, target = block.source, block.target
    lexicon = block.resources.lexicon
    if lexicon is None:
        none = np.zeros(int(block.offsets[-1]), dtype=np.float32)
        return Association(none, none, none, of_words(target, None), of_words(source, None))
    dice, forward, reverse = of_edges(block, lexicon, (lexicon.dice, lexicon.forward, lexicon.reverse))
    return Association(
        dice,
        forward,
        reverse,
        of_words(target, lexicon.null_forward),
        of_words(source, lexicon.null_reverse),
    )


def of_edges(
    block: Block, lexicon: Lexicon, tables: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values of three tables (float32, one value a cell) for each edge, 0 without a cell."""
    source, target = block.source, block.target
    found = tuple(np.zeros(int(block.offsets[-1]), dtype=np.float32) for _ in tables)
    _look_up(
        block.shapes,
        block.offsets,
        source.tokens,
        source.starts,
        source.words[: source.known],
        target.tokens,
        target.starts,
        target.words,
        _read_only(lexicon.offsets),
        _read_only(lexicon.targets),
        *map(_read_only, tables),
        *found,
    )
    return found[0], found[1], found[2]


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``lexical``."""
    return (*_NAMES, *competition.names("dice"), *competition.names("joint"))


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``lexical``.

    Probabilities stand as they are and as max(ln p, -10) / 10 + 1, in [0, 1]; ``geometric`` is
    sqrt(p(t|s) p(s|t)); ``forward_over_null`` is p(t|s) / (p(t|s) + p(t|NULL)); ``joint`` is the geometric
    mean of the two posteriors and ``joint_log`` the scaled logarithm of their product.
    """
    found = block.association
    joint = np.empty(len(found.dice), dtype=np.float32)
    _lexical(
        block.shapes,
        block.offsets,
        found.dice,
        found.forward,
        found.reverse,
        found.null_forward[block.target.tokens],
        block.target.starts,
        found.null_reverse[block.source.tokens],
        block.source.starts,
        joint,
        features,
        column,
    )
    column += len(_NAMES)
    competition.compete(found.dice, block.shapes, block.offsets, features, column)
    competition.compete(joint, block.shapes, block.offsets, features, column + len(competition.SUFFIXES))


def of_words(side: Side, table: np.ndarray | None) -> np.ndarray:
    """Return a vocabulary's table for the words of a block, 0 for extra words."""
    values = np.zeros(len(side.words), dtype=np.float32)
    if table is not None:
        values[: side.known] = table[side.words[: side.known]]
    return values


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view: memory-mapped and other arrays then share one compiled kernel."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@kernel(error_model="numpy")
def _look_up(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source,
    source_starts,
    source_words,
    target,
    target_starts,
    target_words,
    rows,
    columns,
    row_dice,
    row_forward,
    row_reverse,
    dice,
    forward,
    reverse,
):
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    order = np.empty(widest, dtype=np.int32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        base = target_starts[i]
        # The sentence's target words in ascending order: each search starts where the last one ended.
        for k in range(m):
            at = k
            while at > 0 and target[base + order[at - 1]] > target[base + k]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = k
        for j in range(n):
            local = source[source_starts[i] + j]
            if local >= len(source_words):
                continue
            row = source_words[local]
            low, end = rows[row], rows[row + 1]
            for at in range(m):
                k = order[at]
                wanted = target_words[target[base + k]]
                high = end
                while low < high:
                    middle = (low + high) >> 1
                    if columns[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                if low == end:
                    break
                if columns[low] == wanted:
                    edge = offsets[i] + j * m + k
                    dice[edge] = row_dice[low]
                    forward[edge] = row_forward[low]
                    reverse[edge] = row_reverse[low]


@kernel(error_model="numpy")
def _lexical(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    dice,
    forward,
    reverse,
    null_forward,
    target_starts,
    null_reverse,
    source_starts,
    joint,
    features,
    column,
):
    one, zero = np.float32(1.0), np.float32(0.0)
    tenth, lowest = np.float32(0.1), np.float32(np.exp(LOWEST_LOG))
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    totals = np.empty(widest, dtype=np.float32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for k in range(m):
            totals[k] = null_forward[target_starts[i] + k]
        for j in range(n):
            for k in range(m):
                totals[k] += forward[offsets[i] + j * m + k]
        for j in range(n):
            start = offsets[i] + j * m
            null_source = null_reverse[source_starts[i] + j]
            total = null_source
            for k in range(m):
                total += reverse[start + k]
            for k in range(m):
                edge = start + k
                f, r = forward[edge], reverse[edge]
                null_target = null_forward[target_starts[i] + k]
                out = features[edge]
                out[column] = dice[edge]
                out[column + 1] = f
                out[column + 2] = r
                out[column + 3] = np.log(f) * tenth + one if f > lowest else zero
                out[column + 4] = np.log(r) * tenth + one if r > lowest else zero
                out[column + 5] = np.sqrt(f * r)
                out[column + 6] = f / (f + null_target) if f > zero else zero
                out[column + 7] = r / (r + null_source) if r > zero else zero
                f = f / totals[k] if f > zero else zero
                r = r / total if r > zero else zero
                out[column + 8] = f
                out[column + 9] = r
                joint[edge] = np.sqrt(f * r)
                out[column + 10] = joint[edge]
                out[column + 11] = np.log(f * r) * tenth + one if f * r > lowest else zero
