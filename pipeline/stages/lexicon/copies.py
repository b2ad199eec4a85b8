"""Copies of a pair in the stage ``lexicon``: sampled once with their number as a weight, told to all of them.

Independent copies would be evidence for each other: what one of them drew by chance the others would draw
too. So a chain has one link for all copies of a word, and leaves all of them out when it draws it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from align.statistics.posteriors import PosteriorAppender, Posteriors

# Rows whose posteriors are written at once.
_ROWS = 1 << 14


def distinct(used: np.ndarray, copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one pair of each kind that is used, and how many of the kind are.

    Parameters
    ----------
    used : ndarray of bool, shape (N,)
        Which pairs of a text are.
    copies : ndarray of int64, shape (K, 2)
        Pairs that are copies, and the first of their kind.

    Returns
    -------
    rows : ndarray of int64, shape (R,)
        The first of each kind, ascending.
    weights : ndarray of float32, shape (R,)
    """
    firsts = copies[used[copies[:, 0]], 1]
    chosen = used.copy()
    chosen[copies[:, 0]] = False
    chosen[firsts] = True
    rows = np.flatnonzero(chosen)
    weights = used[rows] + np.bincount(np.searchsorted(rows, firsts), minlength=len(rows))
    return rows, weights.astype(np.float32)


def spread(folder: Path, out: Path, copies: np.ndarray) -> None:
    """Write posteriors anew, with those of the first of a kind for each of its copies."""
    whole = Posteriors.load(folder)
    firsts = np.arange(len(whole))
    firsts[copies[:, 0]] = copies[:, 1]
    rows = np.flatnonzero(whole.sampled[firsts])
    del whole
    with PosteriorAppender(out, len(firsts)) as appender:
        for piece in np.split(rows, np.arange(_ROWS, len(rows), _ROWS)):
            own, places = np.unique(firsts[piece], return_inverse=True)
            appender.append(piece, Posteriors.load_chosen(folder, own).take(places))
