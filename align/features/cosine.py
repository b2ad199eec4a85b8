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
            source.starts,
            source.vectors,
            target.tokens,
            target.starts,
            np.ascontiguousarray(target.vectors.T),
            result,
        )
    return result


def cosine_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``cosine``."""
    return ("cosine", "vector_missing", *competition.names("cosine"))


def fill_cosine(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``cosine``."""
    features[:, column] = block.cosines
    _missing(
        block.shapes,
        block.offsets,
        block.source.has_vector[block.source.tokens],
        block.source.starts,
        block.target.has_vector[block.target.tokens],
        block.target.starts,
        features,
        column + 1,
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
        source.starts,
        source.vectors,
        target.tokens,
        target.starts,
        target.vectors,
        features,
        column,
        scale,
    )


@kernel(error_model="numpy")
def _cosines(  # type: ignore[no-untyped-def]
    shapes, offsets, source, source_starts, source_vectors, target, target_starts, transposed, result
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
            word = target[target_starts[i] + k]
            for c in range(p):
                columns[c, k] = transposed[c, word]
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
def _missing(  # type: ignore[no-untyped-def]
    shapes, offsets, has_source, source_starts, has_target, target_starts, features, column
):
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            source_has = has_source[source_starts[i] + j]
            for k in range(m):
                both = source_has and has_target[target_starts[i] + k]
                features[offsets[i] + j * m + k, column] = np.float32(0.0 if both else 1.0)


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
                edge = offsets[i] + j * m + k
                for c in range(p):
                    if scale > np.float32(0.0):
                        features[edge, column + c] = scale * x[c] * y[c]
                    else:
                        features[edge, column + c] = x[c]
                        features[edge, column + p + c] = y[c]
