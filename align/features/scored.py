"""Scores of edges while their features are in the processor's cache: all groups in one compiled call.

A call of a kernel costs some microseconds, and between two of them the interpreter is locked. So a part of a
block is scored in one call, and within it a few pairs at a time: the features of a group are filled for
these, added to their scores, and their memory is used again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features import (
    association,
    chain,
    competition,
    context,
    cosine,
    frequency,
    identity,
    position,
    spelling,
)
from align.features.scoring import add_rows

if TYPE_CHECKING:
    from align.features.block import Block, Side
    from align.text.words import WordTable

# Edges whose features are made at a time: the widest group of them takes a quarter of a megabyte.
EDGES = 5_000

# The order is that of the kernel's branches.
_COSINE, _PRODUCT, _POSITION, _SPELLING, _FREQUENCY, _LEXICAL = range(6)
_CHAIN, _CONTEXT, _POSTERIOR, _IDENTITY, _CONCAT = range(6, 11)
_CODES = {
    "cosine": _COSINE, "product": _PRODUCT, "position": _POSITION, "spelling": _SPELLING,
    "frequency": _FREQUENCY, "lexical": _LEXICAL, "chain": _CHAIN, "context": _CONTEXT,
    "posterior": _POSTERIOR, "identity": _IDENTITY, "concat": _CONCAT,
}  # fmt: skip

# The groups that the chain is run for.
_CHAINED = ("chain", "context")

# Where the competition and the neighbours of a group begin, after its own features.
_OWN_COSINE, _OWN_LEXICAL, _OWN_CHAIN, _COMPETING = 2, 12, 4, len(competition.SUFFIXES)
_JOINT, _ANCHORS = 10, 4

_NO_NUMBERS, _NO_FLAGS = np.zeros(0, dtype=np.float32), np.zeros(0, dtype=bool)
_NO_COMPARISONS, _NO_IDS, _NO_OFFSETS = (np.zeros(0, dtype=kind) for kind in (np.uint16, np.int32, np.int64))
_NO_KINDS, _NO_VECTORS = np.zeros(0, dtype=np.uint8), np.zeros((0, 0), dtype=np.float32)


class _Words(NamedTuple):
    """What the kernel reads of one side; by token but for ``vectors``, ``folds`` and ``kinds``, by word."""

    tokens: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    log_frequencies: np.ndarray
    log_ranks: np.ndarray
    null: np.ndarray
    ids: np.ndarray
    has_vector: np.ndarray
    vectors: np.ndarray
    folds: np.ndarray
    kinds: np.ndarray


class _Maps(NamedTuple):
    """What the kernel reads of edges."""

    comparisons: np.ndarray
    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    sampled_forward: np.ndarray
    sampled_reverse: np.ndarray
    sampled: np.ndarray


def add_groups(
    part: Block,
    groups: Sequence[str],
    sizes: Sequence[int],
    scale: np.float32,
    weights: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Add the shares of groups of features to the scores of a part of a block.

    Parameters
    ----------
    part : Block
        N pairs with E edges.
    groups : sequence of str
        Names from :data:`align.features.GROUPS`, in its order.
    sizes : sequence of int
        Features of each.
    scale : float32
        What features are multiplied by first.
    weights : ndarray of float64, shape (sum of sizes,)
        Weights of the groups' features.
    scores : ndarray of float64, shape (E,)
        Added to, feature after feature: the sums are those of :func:`align.features.scoring.score_edges`, bit
        by bit.
    """
    _add_groups(
        part.shapes,
        part.offsets,
        _words(part, part.source, 0, groups),
        _words(part, part.target, 1, groups),
        _maps(part, groups),
        _asks(groups, "cosine", *_CHAINED),
        _asks(groups, *_CHAINED),
        chain.jumps_of(part.shapes),
        np.array([_CODES[group] for group in groups], dtype=np.int64),
        np.array(sizes, dtype=np.int64),
        scale,
        min(identity.IDENTITIES, part.source.size),
        np.float32(np.sqrt(max(1, part.resources.dimensions))),
        np.ascontiguousarray(weights, dtype=np.float64),
        scores,
    )


def _words(part: Block, side: Side, turned: int, groups: Collection[str]) -> _Words:
    table: WordTable | None = None
    if _asks(groups, "spelling"):
        table = part.target_spellings if turned else part.source_spellings
    null = _NO_NUMBERS
    if _asks(groups, "lexical", *_CHAINED):
        null = part.association.null_forward if turned else part.association.null_reverse
    wanted = _asks(groups, "cosine", "product", "concat", *_CHAINED)
    return _Words(
        side.tokens,
        part.target_starts if turned else part.source_starts,
        side.counts,
        side.log_frequencies,
        side.log_ranks,
        null,
        side.words[side.tokens] if "identity" in groups else _NO_IDS,
        side.has_vector if wanted else _NO_FLAGS,
        side.vectors if wanted else _NO_VECTORS,
        _NO_OFFSETS if table is None else table.folded_offsets,
        _NO_KINDS if table is None else table.kinds,
    )


def _asks(groups: Collection[str], *names: str) -> bool:
    return not set(names).isdisjoint(groups)


def _maps(part: Block, groups: Collection[str]) -> _Maps:
    none = (_NO_NUMBERS,) * 3
    found = part.association if _asks(groups, "lexical", *_CHAINED) else None
    sampled = part.sampled if "posterior" in groups else None
    return _Maps(
        part.comparisons if _asks(groups, "spelling", *_CHAINED) else _NO_COMPARISONS,
        *(none if found is None else (found.dice, found.forward, found.reverse)),
        *(none if sampled is None else (sampled.forward, sampled.reverse, sampled.joint)),
    )


@kernel(error_model="numpy")
def _add_groups(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source,
    target,
    maps,
    near,
    chained,
    jumps,
    groups,
    sizes,
    scale,
    named,
    root,
    weights,
    scores,
):
    most, widest = 0, 0
    for i in range(len(shapes)):
        most = max(most, offsets[i + 1] - offsets[i])
    for group in range(len(groups)):
        widest = max(widest, sizes[group])
    memory = np.empty(max(most, EDGES) * widest, dtype=np.float32)
    here = np.empty(len(offsets), dtype=np.int64)
    cosines, names = np.empty(max(most, EDGES), dtype=np.float32), np.empty(max(most, EDGES), dtype=np.bool_)
    posteriors = np.empty((3, max(most, EDGES)), dtype=np.float32)
    start = 0
    while start < len(shapes):
        first, stop = offsets[start], start + 1
        while stop < len(shapes) and offsets[stop + 1] - first <= EDGES:
            stop += 1
        last = offsets[stop]
        for i in range(start, stop + 1):
            here[i] = offsets[i] - first
        run, starts, edges = shapes[start:stop], here[start : stop + 1], last - first
        near_here, names_here = cosines[:edges], names[:edges]
        chains = (posteriors[0][:edges], posteriors[1][:edges], posteriors[2][:edges])
        if near:
            cosine.write_cosines(
                run, starts, source.tokens, source.starts[start:], source.vectors,
                target.tokens, target.starts[start:], target.vectors, near_here,
            )  # fmt: skip
        if chained:
            spelling.write_same_names(maps.comparisons[first:last], names_here)
            chain.write_chains(
                run, starts, maps.forward[first:last], maps.reverse[first:last], near_here, names_here,
                source.counts, source.null, source.starts[start:],
                target.counts, target.null, target.starts[start:], jumps, chains[0], chains[1], chains[2],
            )  # fmt: skip
        sums, at = scores[first:last], 0
        for group in range(len(groups)):
            size = sizes[group]
            out = memory[: edges * size].reshape(size, edges)
            _fill(
                groups[group],
                run,
                starts,
                start,
                first,
                last,
                source,
                target,
                maps,
                near_here,
                chains,
                named,
                root,
                out,
            )
            add_rows(out, scale, weights[at : at + size], sums)
            at += size
        start = stop


@kernel(error_model="numpy")
def _fill(  # type: ignore[no-untyped-def]
    group, shapes, offsets, start, first, last, source, target, maps, cosines, chains, named, root, out
):
    """Write a group's features of the edges ``first`` to ``last``, of the pairs from ``start`` on."""
    a, b = source.starts[start:], target.starts[start:]
    if group == _COSINE:
        cosine.write_cosine(shapes, offsets, cosines, source.has_vector, a, target.has_vector, b, out)
        competition.write_margins(cosines, shapes, offsets, out[_OWN_COSINE:])
    elif group == _POSITION:
        position.write_position(shapes, offsets, out)
    elif group == _SPELLING:
        spelling.write_spelling(
            shapes, offsets, maps.comparisons[first:last],
            source.tokens, a, source.folds, source.kinds, target.tokens, b, target.folds, target.kinds, out,
        )  # fmt: skip
    elif group == _FREQUENCY:
        frequency.write_frequency(
            shapes, offsets, source.log_frequencies, source.log_ranks, source.counts, a,
            target.log_frequencies, target.log_ranks, target.counts, b, out,
        )  # fmt: skip
    elif group == _LEXICAL:
        dice = maps.dice[first:last]
        association.write_lexical(
            shapes, offsets, dice, maps.forward[first:last], maps.reverse[first:last],
            target.null, b, source.null, a, out,
        )  # fmt: skip
        competition.write_margins(dice, shapes, offsets, out[_OWN_LEXICAL:])
        competition.write_margins(out[_JOINT], shapes, offsets, out[_OWN_LEXICAL + _COMPETING :])
    elif group == _CONTEXT:
        joint = chains[2]
        context.neighbours(shapes, offsets, joint, out)
        context.write_window(shapes, offsets, joint, out)
        context.write_anchors(shapes, offsets, joint, out[_ANCHORS:])
    elif group in (_CHAIN, _POSTERIOR):
        forward, reverse, joint = chains
        if group == _POSTERIOR:
            forward, reverse = maps.sampled_forward[first:last], maps.sampled_reverse[first:last]
            joint = maps.sampled[first:last]
        chain.write_posteriors(forward, reverse, joint, out)
        competition.write_margins(joint, shapes, offsets, out[_OWN_CHAIN:])
        if group == _POSTERIOR:
            context.neighbours(shapes, offsets, joint, out[_OWN_CHAIN + _COMPETING :])
    elif group == _IDENTITY:
        out[:] = 0.0
        identity.write_identity(shapes, offsets, source.ids, a, target.ids, b, named, out)
    else:
        factor = root if group == _PRODUCT else np.float32(0.0)
        cosine.write_pairwise(
            shapes, offsets, source.tokens, a, source.vectors, target.tokens, b, target.vectors, out, factor
        )
