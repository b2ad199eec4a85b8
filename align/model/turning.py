"""A model of two languages turned round: what it knows of English-French serves French-English.

The tables of one direction are those of the other; the weight of a feature of source words is that of the
same of target words. Where features are not quite alike both ways (how far a word is from the next sure
link, counted in source words) links may differ from those of the model as it was: some in a hundred do.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from align.core.ragged import offsets_of
from align.features import Resources
from align.model.folder import Model
from align.model.weights import names_of
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon

_PAIRS = (("source", "target"), ("forward", "reverse"), ("row", "column"))
_OTHER = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_WORDS = re.compile("|".join(_OTHER))


def turned(model: Model) -> Model:
    """Return the model of the same languages the other way round."""
    given = model.resources
    lexicon = links = None
    if given.lexicon is not None:
        lexicon, links = turned_tables(given.lexicon, given.links)
    resources = Resources(
        lexicon,
        given.target_vectors,
        given.source_vectors,
        given.target_vocabulary,
        given.source_vocabulary,
        links,
    )
    names = names_of(model.groups, model.word_groups, resources)
    weights = dict(zip(map(_turned_name, model.names), model.weights.tolist(), strict=True))
    return replace(
        model,
        resources=resources,
        names=names,
        weights=np.array([weights[name] for name in names]),
        missing=tuple(map(_turned_name, model.missing)),
        text={"source": model.text["target"], "target": model.text["source"]},
    )


def turned_tables(lexicon: Lexicon, links: ExpectedLinks | None) -> tuple[Lexicon, ExpectedLinks | None]:
    """Return tables of word pairs by the words of the other side, and the sampled links of their cells."""
    turned, order = _turned_cells(lexicon)
    return turned, None if links is None else _turned_links(links, order)


def _turned_name(name: str) -> str:
    return _WORDS.sub(lambda word: _OTHER[word[0]], name)


def _turned_cells(lexicon: Lexicon) -> tuple[Lexicon, np.ndarray]:
    """Return the tables by target word, and the cell that each of their cells was."""
    sources, targets = lexicon.sources(), np.asarray(lexicon.targets)
    order = np.lexsort((sources, targets))
    turned = Lexicon(
        offsets=offsets_of(np.bincount(targets, minlength=len(lexicon.target_counts))),
        targets=sources[order],
        dice=lexicon.dice[order],
        forward=lexicon.reverse[order],
        reverse=lexicon.forward[order],
        null_forward=lexicon.null_reverse,
        null_reverse=lexicon.null_forward,
        source_counts=lexicon.target_counts,
        target_counts=lexicon.source_counts,
    )
    return turned, order


def _turned_links(links: ExpectedLinks, order: np.ndarray) -> ExpectedLinks:
    return ExpectedLinks(
        forward=links.reverse[order],
        reverse=links.forward[order],
        forward_totals=links.reverse_totals,
        reverse_totals=links.forward_totals,
        null_forward=links.null_reverse,
        null_reverse=links.null_forward,
        forward_jumps=links.reverse_jumps,
        reverse_jumps=links.forward_jumps,
        forward_classes=links.reverse_classes,
        reverse_classes=links.forward_classes,
    )
