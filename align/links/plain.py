"""Links of many pairs as text in the Pharaoh format, all sure and without scores, in one compiled call."""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel

# Signs of the ASCII code.
_ZERO, _HYPHEN, _SPACE, _NEWLINE = 48, 45, 32, 10


def pharaoh_lines(offsets: np.ndarray, source: np.ndarray, target: np.ndarray) -> bytes:
    """Return what :func:`align.links.format_pharaoh` writes of each pair, a line a pair.

    Parameters
    ----------
    offsets : ndarray of int64, shape (N + 1,)
        The links of pair i are ``offsets[i]:offsets[i + 1]``.
    source, target : ndarray of int32, shape (L,)
        Tokens, >= 0.

    Returns
    -------
    bytes
        N lines, each with its end.
    """
    digits = sum(len(str(int(tokens.max(initial=0)))) for tokens in (source, target))
    # A hyphen within a link, and after each a space or the end of the line.
    out = np.empty(len(source) * (digits + 2) + len(offsets), dtype=np.uint8)
    return out[: _write_lines(offsets, source, target, out)].tobytes()


@kernel
def _write_lines(offsets: np.ndarray, source: np.ndarray, target: np.ndarray, out: np.ndarray) -> int:
    """Write the lines; returns how many bytes they have."""
    at = 0
    for i in range(len(offsets) - 1):
        for link in range(offsets[i], offsets[i + 1]):
            if link > offsets[i]:
                out[at] = _SPACE
                at += 1
            at = _write_number(source[link], out, at)
            out[at] = _HYPHEN
            at = _write_number(target[link], out, at + 1)
        out[at] = _NEWLINE
        at += 1
    return at


@kernel
def _write_number(number: int, out: np.ndarray, at: int) -> int:
    """Write a number at a place; returns the place after it."""
    end, rest = at + 1, number // 10
    while rest > 0:
        end, rest = end + 1, rest // 10
    rest = number
    for place in range(end - 1, at - 1, -1):
        out[place] = _ZERO + rest % 10
        rest //= 10
    return end
