"""What is known of a bitext's links before it is sampled: those of another corpus, and words spelt alike."""

from __future__ import annotations

import numpy as np

from align.lexicon import Lexicon
from align.posteriors import Links
from align.sampler import Known


def from_links(
    links: Links,
    old: Lexicon,
    new: Lexicon,
    source_ids: np.ndarray,
    target_ids: np.ndarray,
    *,
    weight: float = 1.0,
) -> tuple[Known, Known]:
    """Return the links of another corpus as counts to begin with.

    Parameters
    ----------
    links : Links
        Over the cells of `old`.
    old, new : Lexicon
        The tables of the other corpus and of this one.
    source_ids, target_ids : ndarray of int, shapes (Vs,) and (Vt,)
        The id in `new` of each word of `old`, -1 for a word it does not have.
    weight : float
        What a link of the other corpus counts against one of this, > 0.

    Returns
    -------
    forward, reverse : Known
        The totals of a word keep its links to words that `new` does not have.
    """
    cells = cells_in(old, new, source_ids, target_ids)
    n_source, n_target = len(new.source_counts), len(new.target_counts)

    def moved(values: np.ndarray, where: np.ndarray, size: int) -> np.ndarray:
        result = np.zeros(size, dtype=np.float32)
        result[where[where >= 0]] = values[where >= 0] * np.float32(weight)
        return result

    return (
        Known(
            moved(links.forward, cells, new.cells),
            moved(links.forward_totals, source_ids, n_source),
            moved(links.null_forward, target_ids, n_target),
            links.forward_jumps * np.float32(weight),
        ),
        Known(
            moved(links.reverse, cells, new.cells),
            moved(links.reverse_totals, target_ids, n_target),
            moved(links.null_reverse, source_ids, n_source),
            links.reverse_jumps * np.float32(weight),
        ),
    )


def cells_in(lexicon: Lexicon, other: Lexicon, source_ids: np.ndarray, target_ids: np.ndarray) -> np.ndarray:
    """Return the number that each cell of a lexicon has in another one, int64; -1 where it has none.

    ``source_ids`` and ``target_ids`` are the ids in `other` of the words of `lexicon`, -1 for none.
    """
    width = len(other.target_counts)
    keys = other.sources().astype(np.int64) * width + other.targets
    source, target = source_ids[lexicon.sources()].astype(np.int64), target_ids[lexicon.targets]
    wanted = np.where((source >= 0) & (target >= 0), source * width + target, -1)
    where = np.searchsorted(keys, wanted)
    there = where < len(keys)
    there[there] = keys[where[there]] == wanted[there]
    return np.where(there, where, -1)
