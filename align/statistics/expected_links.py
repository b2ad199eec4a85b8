"""Expected numbers of links, as the sampler leaves them: the tables for text that was not sampled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.errors import InputError
from align.core.mapped import give_pages_back
from align.statistics.lexicon import Lexicon
from align.statistics.records import REMEDY, Record, check_columns, load_columns


@dataclass(frozen=True)
class ExpectedLinks(Record):
    """Expected numbers of links, from which those of text that was not sampled follow.

    The cells are those of the :class:`align.statistics.lexicon.Lexicon` they go with. Forward: target words
    were made by source words; reverse: the other way.

    Attributes
    ----------
    forward, reverse : ndarray of float32, shape (cells,)
        Links of each cell, >= 0.
    forward_totals : ndarray of float32, shape (Vs,)
        Sum of ``forward`` over the cells of each source word.
    reverse_totals : ndarray of float32, shape (Vt,)
        Sum of ``reverse`` over the cells of each target word.
    null_forward, null_reverse : ndarray of float32, shapes (Vt,) and (Vs,)
        Links of each target, or source, word to NULL.
    forward_jumps, reverse_jumps : ndarray of float32, shapes (2 L + 1,)
        Jumps by d positions from one linked word to the next, at index L + d.
    """

    forward: np.ndarray
    reverse: np.ndarray
    forward_totals: np.ndarray
    reverse_totals: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    forward_jumps: np.ndarray
    reverse_jumps: np.ndarray

    @classmethod
    def load(cls, folder: Path, lexicon: Lexicon) -> ExpectedLinks:
        """Read what :meth:`save` wrote; large files stay on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing, is no array file, does not fit the lexicon, or has values that are no
            numbers of links.
        """
        found = load_columns(cls, folder)
        n_source, n_target = len(lexicon.source_counts), len(lexicon.target_counts)
        sizes = {"forward": lexicon.cells, "reverse": lexicon.cells}
        sizes |= dict.fromkeys(("forward_totals", "null_reverse"), n_source)
        sizes |= dict.fromkeys(("reverse_totals", "null_forward"), n_target)
        sizes |= {name: len(found[name]) | 1 for name in ("forward_jumps", "reverse_jumps")}
        check_columns(found, {name: (np.float32, size) for name, size in sizes.items()}, folder)
        for name, values in found.items():
            if not (values.min(initial=0) >= 0 and values.max(initial=0) < np.inf):
                raise InputError(f"{folder / f'{name}.npy'}: a value is no number of links; {REMEDY}")
            give_pages_back(values)
        return cls(**found)
