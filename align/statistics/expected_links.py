"""Expected numbers of links, as the sampler leaves them: the tables for text that was not sampled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np

from align.core.codes import COUNTS
from align.core.errors import InputError
from align.core.mapped import give_pages_back
from align.statistics.jumps import GAPS, OTHERS, Jumps
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
    forward_jumps, reverse_jumps : ndarray of float32, shapes (C, GAPS, 2 L + 1)
        Counts of jumps, and
    forward_classes, reverse_classes : ndarray of int32, shapes (Vs,) and (Vt,)
        the classes of the hidden words (:class:`align.statistics.jumps.Jumps`).
    """

    DIMENSIONS = MappingProxyType({"forward_jumps": 3, "reverse_jumps": 3})
    PACKED = MappingProxyType(
        {f"{way}{what}": COUNTS for way in ("forward", "reverse") for what in ("", "_totals", "_jumps")}
        | {"null_forward": COUNTS, "null_reverse": COUNTS}
        | {"forward_classes": np.int32, "reverse_classes": np.int32}
    )

    forward: np.ndarray
    reverse: np.ndarray
    forward_totals: np.ndarray
    reverse_totals: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    forward_jumps: np.ndarray
    reverse_jumps: np.ndarray
    forward_classes: np.ndarray
    reverse_classes: np.ndarray

    @cached_property
    def jumps(self) -> tuple[Jumps, Jumps]:
        """The jumps of both directions."""
        return (
            Jumps(self.forward_jumps, self.forward_classes),
            Jumps(self.reverse_jumps, self.reverse_classes),
        )

    @cached_property
    def null_totals(self) -> tuple[float, float]:
        """The sums of ``null_forward`` and of ``null_reverse``."""
        return (
            float(self.null_forward.sum(dtype=np.float64)),
            float(self.null_reverse.sum(dtype=np.float64)),
        )

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
        sizes: dict[str, int | tuple[int, ...]] = {"forward": lexicon.cells, "reverse": lexicon.cells}
        sizes |= dict.fromkeys(("forward_totals", "null_reverse"), n_source)
        sizes |= dict.fromkeys(("reverse_totals", "null_forward"), n_target)
        for name in cls.DIMENSIONS:
            sizes[name] = (len(found[name]), GAPS, found[name].shape[2] | 1)
        expected = {name: (np.float32, size) for name, size in sizes.items()}
        check_columns(found, expected, folder)
        of_words = {"forward_classes": (np.int32, n_source), "reverse_classes": (np.int32, n_target)}
        check_columns(found, of_words, folder)
        for name, values in found.items():
            if not (values.min(initial=0) >= 0 and values.max(initial=0) < np.inf):
                raise InputError(f"{folder / f'{name}.npy'}: a value is no number of links; {REMEDY}")
            give_pages_back(values)
        for jumps, classes in zip(cls.DIMENSIONS, of_words, strict=True):
            values = found[classes]
            if values.min(initial=OTHERS) < OTHERS or values.max(initial=OTHERS) >= len(found[jumps]):
                raise InputError(f"{folder / f'{classes}.npy'}: a class that has no jumps; {REMEDY}")
        return cls(**found)
