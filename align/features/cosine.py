"""Features of the word vectors: cosine, elementwise product, concatenation.

Vectors are unit vectors of one common space, so the cosine is the inner product <x_j, y_k>. A word
without a vector has a zero one: its cosines are 0 and ``vector_missing`` is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.features import competition, rows
from align.features.resources import Resources

if TYPE_CHECKING:
    from align.features.block import Block


def cosines(block: Block) -> np.ndarray:
    """Return the cosine of each edge in [-1, 1], float32, shape (E,)."""
    result = np.zeros(int(block.offsets[-1]), dtype=np.float32)
    if block.resources.dimensions:
        source, target = block.source, block.target
        write_cosines(
            block.shapes,
            block.offsets,
            source.tokens,
            block.source_starts,
            source.vectors,
            target.tokens,
            block.target_starts,
            target.vectors,
            result,
        )
    return result


def cosine_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``cosine``."""
    return ("cosine", "vector_missing", *competition.names("cosine"))


def fill_cosine(block: Block, out: np.ndarray) -> None:
    """Write the group ``cosine``."""
    write_cosine(
        block.shapes,
        block.offsets,
        block.cosines,
        block.source.has_vector,
        block.source_starts,
        block.target.has_vector,
        block.target_starts,
        out,
    )
    competition.compete(block.cosines, block.shapes, block.offsets, out[2:])


def product_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``product``, one a dimension."""
    return tuple(f"product_{index}" for index in range(resources.dimensions))


def fill_product(block: Block, out: np.ndarray) -> None:
    """Write the group ``product``: sqrt(p) x_jc y_kc in column c, so that the row has norm of about 1."""
    scale = np.float32(np.sqrt(max(1, block.resources.dimensions)))
    _fill_pairwise(block, out, scale)


def concat_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``concat``: the source vector's, then the target vector's."""
    sides = ("source", "target")
    return tuple(f"{side}_{index}" for side in sides for index in range(resources.dimensions))


def fill_concat(block: Block, out: np.ndarray) -> None:
    """Write the group ``concat``: (x_j, y_k). Alone it gives scores a_j + b_k, blind to who links whom."""
    _fill_pairwise(block, out, np.float32(0.0))


def _fill_pairwise(block: Block, out: np.ndarray, scale: np.float32) -> None:
    source, target = block.source, block.target
    write_pairwise(
        block.shapes,
        block.offsets,
        source.tokens,
        block.source_starts,
        source.vectors,
        target.tokens,
        block.target_starts,
        target.vectors,
        out,
        scale,
    )


# Numbers that are added up side by side: a loop over so many becomes vector instructions.
_LANES = 16


@kernel(error_model="numpy")
def write_cosines(  # type: ignore[no-untyped-def]
    shapes, offsets, source, source_starts, source_vectors, target, target_starts, target_vectors, result
):
    """Write the cosine of each edge."""
    # The innermost loop runs over target words, not over dimensions: it vectorises without reordering
    # a sum, so that the result is the same on every machine.
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    p = source_vectors.shape[1]
    columns = np.zeros(p * (widest + _LANES), dtype=np.float32)
    sums = np.empty(widest + _LANES, dtype=np.float32)
    one, zero = np.float32(1.0), np.float32(0.0)
    whole = p - p % 8
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        width = (m + _LANES - 1) // _LANES * _LANES
        by_dimension = columns[: p * width].reshape(p, width)
        for k in range(m):
            vector = target_vectors[target[target_starts[i] + k]]
            for c in range(p):
                by_dimension[c, k] = vector[c]
        for j in range(n):
            vector = source_vectors[source[source_starts[i] + j]]
            sums[:width] = zero
            for c in range(0, whole, 8):
                _add_eight(vector[c : c + 8], by_dimension[c : c + 8], sums, width)
            for c in range(whole, p):
                row = by_dimension[c]
                for k in range(width):
                    sums[k] += vector[c] * row[k]
            start = offsets[i] + j * m
            row = result[start : start + m]
            for k in range(m):
                row[k] = min(one, max(-one, sums[k]))


@kernel(error_model="numpy")
def _add_eight(factors, vectors, sums, width):  # type: ignore[no-untyped-def]
    """Add eight dimensions at a time: the sums are then seldom fetched and put back."""
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    e, f, g, h = factors[4], factors[5], factors[6], factors[7]
    first, second, third, fourth = vectors[0], vectors[1], vectors[2], vectors[3]
    fifth, sixth, seventh, eighth = vectors[4], vectors[5], vectors[6], vectors[7]
    for k in range(width):
        low = (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])
        high = (e * fifth[k] + f * sixth[k]) + (g * seventh[k] + h * eighth[k])
        sums[k] += low + high


@kernel(error_model="numpy")
def write_cosine(  # type: ignore[no-untyped-def]
    shapes, offsets, cosines, has_source, source_starts, has_target, target_starts, out
):
    """Write the cosines and where a vector is missing."""
    zero, one = np.float32(0.0), np.float32(1.0)
    rows.copy(cosines, out[0])
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        has = has_target[target_starts[i] :]
        for j in range(n):
            start = offsets[i] + j * m
            missing = out[1, start : start + m]
            if has_source[source_starts[i] + j]:
                for k in range(m):
                    missing[k] = zero if has[k] else one
            else:
                missing[:] = one


@kernel(error_model="numpy")
def write_pairwise(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source,
    source_starts,
    source_vectors,
    target,
    target_starts,
    target_vectors,
    out,
    scale,
):
    """Write scaled products; with scale 0 the two vectors side by side instead."""
    p = source_vectors.shape[1]
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            x = source_vectors[source[source_starts[i] + j]]
            for k in range(m):
                y = target_vectors[target[target_starts[i] + k]]
                edge = offsets[i] + j * m + k
                for c in range(p):
                    if scale > np.float32(0.0):
                        out[c, edge] = scale * x[c] * y[c]
                    else:
                        out[c, edge] = x[c]
                        out[p + c, edge] = y[c]
