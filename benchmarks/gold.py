"""What is asked of gold and text that are named on the command line by prefixes, and samples' own links."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus
from align.links import Link
from align.statistics.posteriors import Posteriors
from benchmarks.eflomal import surface_links

_ENDINGS = ("", ".xz", ".gz", ".zst")


def text_file(prefix: Path, language: str) -> Path:
    """Return the file of one side, ``PREFIX.LANGUAGE``, packed or not.

    Raises
    ------
    InputError
        If there is none.
    """
    for ending in _ENDINGS:
        path = prefix.with_name(f"{prefix.name}.{language}{ending}")
        if path.is_file():
            return path.absolute()
    raise InputError(f"{prefix}.{language}: no such file, nor packed (.xz, .gz, .zst); correct the prefix")


def links_file(prefix: Path) -> Path:
    """Return the links of a gold text, ``PREFIX.align``.

    Raises
    ------
    InputError
        If there are none.
    """
    path = prefix.with_name(f"{prefix.name}.align")
    if not path.is_file():
        raise InputError(f"{path}: no such file; gold is PREFIX.align beside its text")
    return path.absolute()


def sampled_links(posteriors: Posteriors, corpus: Corpus, *, least: float = 0.5) -> list[list[Link]]:
    """Return the links that the sampler alone finds: those with sqrt(forward * reverse) > ``least``.

    Parameters
    ----------
    posteriors : Posteriors
        Of the N pairs of the corpus.
    corpus : Corpus
        The pairs.
    least : float
        In [0, 1].

    Returns
    -------
    list of list of Link
        Between surface tokens.
    """
    shapes = corpus.shapes()
    forward, reverse = posteriors.dense(shapes)
    likely = np.flatnonzero(np.sqrt(forward * reverse) > least)
    offsets = edge_offsets(shapes)
    pairs = np.searchsorted(offsets, likely, side="right") - 1
    j, k = np.divmod(likely - offsets[pairs], shapes[pairs, 1])
    links: list[list[Link]] = [[] for _ in range(len(corpus))]
    for pair, source, target in zip(pairs.tolist(), j.tolist(), k.tolist(), strict=True):
        links[pair].append(Link(source, target))
    return surface_links(links, corpus)
