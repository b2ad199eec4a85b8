"""A model made small, to be handed on: what changes no links goes, and numbers take fewer bits.

Nearly all pairs of words that occur together never made each other; nor does a table say more of the rarest
words than their spelling does. Vectors are kept of the frequent words: it is their neighbours that they tell.
What is left is written in a byte a number (:mod:`align.core.codes`), and read as any other model is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from align.core.errors import InputError
from align.core.ragged import offsets_of
from align.data.vocabulary import Vocabulary
from align.features import Resources
from align.model.folder import Model
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import OTHERS, Jumps
from align.statistics.lexicon import Lexicon

# So many words have numbers of 16 bits.
MOST_WORDS = 1 << 16

# Longer jumps, in words, count as this one: they are rare.
_REACH = 30


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a packed model keeps.

    Attributes
    ----------
    links : float
        Of pairs of words: those expected to be linked so often in the text, either way, >= 0.
    words : int
        The most frequent words of each side, 1 to 65,536.
    vectors : int
        Vectors of so many of the most frequent words of each side, >= 0.

    Raises
    ------
    InputError
        If a limit is out of range.
    """

    links: float = 0.5
    words: int = MOST_WORDS
    vectors: int = 20_000

    def __post_init__(self) -> None:
        if not 0 <= self.links < np.inf:
            raise InputError(f"links: {self.links:g} is no number of links; give 0 or more")
        if not 1 <= self.words <= MOST_WORDS:
            raise InputError(f"words: {self.words} is not in 1 to {MOST_WORDS:,}; give another number")


def pack(model: Model, limits: Limits | None = None) -> Model:
    """Return a smaller model; ``save(folder, packed=True)`` writes it.

    Parameters
    ----------
    model : Model
        With expected links.
    limits : Limits, optional

    Raises
    ------
    InputError
        If the model has no tables of expected links, by which its pairs of words are chosen.
    """
    limits = limits or Limits()
    given = model.resources
    if given.lexicon is None or given.links is None:
        raise InputError("this model has no tables of sampled links; only a model that has them is packed")
    lexicon, links = given.lexicon, given.links
    sources = lexicon.sources()
    kept = np.flatnonzero(
        (np.maximum(links.forward, links.reverse) >= limits.links)
        & (sources < limits.words)
        & (np.asarray(lexicon.targets) < limits.words)
    )
    resources = Resources(
        _cells(lexicon, sources, kept, limits.words),
        _vectors(given.source_vectors, limits),
        _vectors(given.target_vectors, limits),
        _words(given.source_vocabulary, limits.words),
        _words(given.target_vocabulary, limits.words),
        _links(links, kept, limits),
    )
    return replace(model, resources=resources)


def _cells(lexicon: Lexicon, sources: np.ndarray, kept: np.ndarray, words: int) -> Lexicon:
    per_source = np.bincount(sources[kept], minlength=len(lexicon.source_counts))[:words]
    return Lexicon(
        offsets_of(per_source),
        *(values[kept] for values in (lexicon.targets, lexicon.dice, lexicon.forward, lexicon.reverse)),
        *(values[:words] for values in (lexicon.null_forward, lexicon.null_reverse)),
        *(values[:words] for values in (lexicon.source_counts, lexicon.target_counts)),
    )


def _links(links: ExpectedLinks, kept: np.ndarray, limits: Limits) -> ExpectedLinks:
    """Return the links of kept cells; the totals of a word stay, those of cells that went included."""
    jumps = [_jumps(each, limits.words) for each in links.jumps]
    return ExpectedLinks(
        *(values[kept] for values in (links.forward, links.reverse)),
        *(values[: limits.words] for values in (links.forward_totals, links.reverse_totals)),
        *(values[: limits.words] for values in (links.null_forward, links.null_reverse)),
        *(each.counts for each in jumps),
        *(each.classes for each in jumps),
    )


def _jumps(jumps: Jumps, words: int) -> Jumps:
    """Return the jumps from the most frequent words; those from the others are put together."""
    classes = np.where(np.arange(len(jumps.classes)) < words, jumps.classes, OTHERS).astype(np.int32)
    return replace(jumps.moved(classes, min(_REACH, jumps.longest)), classes=classes[:words])


def _vectors(vectors: np.ndarray | None, limits: Limits) -> np.ndarray | None:
    if vectors is None:
        return None
    kept = np.array(vectors[: limits.words])
    kept[limits.vectors :] = 0
    return kept


def _words(vocabulary: Vocabulary, words: int) -> Vocabulary:
    return Vocabulary(vocabulary.words[:words], vocabulary.counts[:words])
