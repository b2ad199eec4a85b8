"""Features of the word vectors: cosine, elementwise product, concatenation.

Vectors are unit vectors of one common space, so the cosine is the inner product <x_j, y_k>. A word
without a vector has a zero one: its cosines are 0 and ``vector_missing`` is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features import competition
from align.features.resources import Resources
from align.kernels import kernel

if TYPE_CHECKING:
    from align.features.block import Block


def cosines(block: Block) -> np.ndarray:
    """Return the cosine of each edge in [-1, 1], float32, shape (E,)."""
    result = np.zeros(int(block.offsets[-1]), dtype=np.float32)
    if block.resources.dimensions:
        source, target = block.source, block.target
        _cosines(
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


def fill_cosine(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``cosine``."""
    _cosine_and_missing(
        block.shapes,
        block.offsets,
        block.cosines,
        block.source.has_vector,
        block.source_starts,
        block.target.has_vector,
        block.target_starts,
        features,
        column,
    )
    competition.compete(block.cosines, block.shapes, block.offsets, features, column + 2)


def product_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``product``, one a dimension."""
    return tuple(f"product_{index}" for index in range(resources.dimensions))


def fill_product(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``product``: sqrt(p) x_jc y_kc in column c, so that the row has norm of about 1."""
    scale = np.float32(np.sqrt(max(1, block.resources.dimensions)))
    _fill_pairwise(block, features, column, scale)


def concat_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``concat``: the source vector's, then the target vector's."""
    sides = ("source", "target")
    return tuple(f"{side}_{index}" for side in sides for index in range(resources.dimensions))


def fill_concat(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``concat``: (x_j, y_k). Alone it gives scores a_j + b_k, blind to who links whom."""
    _fill_pairwise(block, features, column, np.float32(0.0))


def _fill_pairwise(block: Block, features: np.ndarray, column: int, scale: np.float32) -> None:
    source, target = block.source, block.target
    _pairwise(
        block.shapes,
        block.offsets,
        source.tokens,
        block.source_starts,
        source.vectors,
        target.tokens,
        block.target_starts,
        target.vectors,
        features,
        column,
        scale,
    )


@kernel(error_model="numpy")
def _cosines(  # type: ignore[no-untyped-def]
    shapes, offsets, source, source_starts, source_vectors, target, target_starts, target_vectors, result
):
    # The innermost loop runs over target words, not over dimensions: it vectorises without reordering
    # a sum, so that the result is the same on every machine.
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    p = source_vectors.shape[1]
    columns = np.empty((p, widest), dtype=np.float32)
    sums = np.empty(widest, dtype=np.float32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for k in range(m):
            vector = target_vectors[target[target_starts[i] + k]]
            for c in range(p):
                columns[c, k] = vector[c]
        for j in range(n):
            vector = source_vectors[source[source_starts[i] + j]]
            for k in range(m):
                sums[k] = np.float32(0.0)
            for c in range(p):
                factor = vector[c]
                row = columns[c]
                for k in range(m):
                    sums[k] += factor * row[k]
            start = offsets[i] + j * m
            for k in range(m):
                result[start + k] = min(np.float32(1.0), max(np.float32(-1.0), sums[k]))


@kernel(error_model="numpy")
def _cosine_and_missing(  # type: ignore[no-untyped-def]
    shapes, offsets, cosines, has_source, source_starts, has_target, target_starts, features, column
):
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            source_has = has_source[source_starts[i] + j]
            for k in range(m):
                both = source_has and has_target[target_starts[i] + k]
                out = features[offsets[i] - offsets[0] + j * m + k]
                out[column] = cosines[offsets[i] + j * m + k]
                out[column + 1] = np.float32(0.0) if both else np.float32(1.0)


@kernel(error_model="numpy")
def _pairwise(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source,
    source_starts,
    source_vectors,
    target,
    target_starts,
    target_vectors,
    features,
    column,
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
                out = features[offsets[i] - offsets[0] + j * m + k]
                for c in range(p):
                    if scale > np.float32(0.0):
                        out[column + c] = scale * x[c] * y[c]
                    else:
                        out[column + c] = x[c]
                        out[column + p + c] = y[c]
