"""Features of the word vectors: cosine, elementwise product, concatenation.

Vectors are unit vectors of one common space, so the cosine is the inner product <x_j, y_k>. A word
without a vector has a zero one: its cosines are 0 and ``vector_missing`` is 1.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import SIDES
from align.features.block import Block, Resources, chosen, ends
from align.features.maps import compete, competition_names

_NAMES = ("cosine", "vector_missing")
_COSINE, _VECTOR_MISSING = range(len(_NAMES))


def cosines(block: Block) -> np.ndarray:
    """Return the cosine of each edge in [-1, 1], float32, shape (E,)."""
    result = np.zeros(int(block.offsets[-1]), dtype=np.float32)
    if block.resources.dimensions:
        _write_cosines(block.shapes, block.offsets, block.source, block.target, result)
    return result


def cosine_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``cosine``."""
    return (*_NAMES, *competition_names("cosine"))


def fill_cosine(block: Block, out: np.ndarray) -> None:
    """Write the group ``cosine``."""
    found, wanted = block.of_edges(cosines), block.shared(chosen)
    np.take(found, wanted.edges, out=out[_COSINE])
    _write_missing(block.source, block.target, wanted, out[_VECTOR_MISSING])
    compete(found, block.shapes, block.offsets, wanted, out[len(_NAMES) :])


def product_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``product``, one a dimension."""
    return tuple(f"product_{index}" for index in range(resources.dimensions))


def fill_product(block: Block, out: np.ndarray) -> None:
    """Write the group ``product``: sqrt(p) x_jc y_kc in column c, so that the row has norm of about 1."""
    scale = np.float32(np.sqrt(max(1, block.resources.dimensions)))
    of_edges = block.shared(ends)
    x, y = block.source.vectors[of_edges.source_word], block.target.vectors[of_edges.target_word]
    out[:] = (scale * x * y).T


def concat_names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``concat``: the source vector's, then the target vector's."""
    return tuple(f"{side}_{index}" for side in SIDES for index in range(resources.dimensions))


def fill_concat(block: Block, out: np.ndarray) -> None:
    """Write the group ``concat``: (x_j, y_k). Alone it gives scores a_j + b_k, blind to who links whom."""
    of_edges, p = block.shared(ends), block.resources.dimensions
    out[:p] = block.source.vectors[of_edges.source_word].T
    out[p:] = block.target.vectors[of_edges.target_word].T


# Numbers that are added up side by side: a loop over so many becomes vector instructions.
_LANES = 16


@kernel(error_model="numpy")
def _write_cosines(shapes, offsets, source, target, result):  # type: ignore[no-untyped-def]
    """Write the cosine of each edge."""
    # The innermost loop runs over target words, not over dimensions: it vectorises without reordering
    # a sum, so that the result is the same on every machine.
    widest = _LANES
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1] + _LANES)
    p = source.vectors.shape[1]
    columns = np.zeros(p * widest, dtype=np.float32)
    sums = np.empty(widest, dtype=np.float32)
    one, zero = np.float32(1.0), np.float32(0.0)
    whole = p - p % 8
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        width = (m + _LANES - 1) // _LANES * _LANES
        for k in range(m):
            vector = target.vectors[target.tokens[target.starts[i] + k]]
            for c in range(p):
                columns[c * width + k] = vector[c]
        for j in range(n):
            vector = source.vectors[source.tokens[source.starts[i] + j]]
            for k in range(width):
                sums[k] = zero
            for c in range(0, whole, 8):
                _add_eight(vector, columns, c, sums, width)
            for c in range(whole, p):
                for k in range(width):
                    sums[k] += vector[c] * columns[c * width + k]
            start = offsets[i] + j * m
            for k in range(m):
                result[start + k] = min(one, max(-one, sums[k]))


@kernel(error_model="numpy")
def _add_eight(factors, columns, at, sums, width):  # type: ignore[no-untyped-def]
    """Add eight dimensions at a time: the sums are then seldom fetched and put back."""
    a, b, c, d = factors[at], factors[at + 1], factors[at + 2], factors[at + 3]
    e, f, g, h = factors[at + 4], factors[at + 5], factors[at + 6], factors[at + 7]
    rows = columns[at * width : (at + 8) * width]
    first, second, third, fourth = rows, rows[width:], rows[2 * width :], rows[3 * width :]
    fifth, sixth, seventh, eighth = rows[4 * width :], rows[5 * width :], rows[6 * width :], rows[7 * width :]
    for k in range(width):
        low = (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])
        high = (e * fifth[k] + f * sixth[k]) + (g * seventh[k] + h * eighth[k])
        sums[k] += low + high


@kernel
def _write_missing(source, target, wanted, out):  # type: ignore[no-untyped-def]
    """Write 1 where a word of an edge has no vector, else 0."""
    for i in range(len(source.starts) - 1):
        has = target.has_vector[target.starts[i] :]
        for token in range(source.starts[i], source.starts[i + 1]):
            here = source.has_vector[token]
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                out[at] = np.float32(0.0) if here & has[wanted.targets[at]] else np.float32(1.0)
