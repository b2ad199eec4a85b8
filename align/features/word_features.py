"""Features of a word from which the cost of its links after the first follows.

A word that takes a second link pays <w, phi> for it, a third again: phi >= 0 are the features made here,
w >= 0 is learnt. Each feature is a reason not to take more links, so that evidence for several links is given
by its complement. They are switched in groups, lie in [0, 1] by fixed formulas, and are multiplied by the
``SCALE`` of the features of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import SIDES
from align.features.block import Block, Resources, Side
from align.features.edges import WordFeatures
from align.features.frequency import FREQUENT, IDENTITIES
from align.features.posterior import sampled_posteriors

WORD_GROUPS: dict[str, str] = {
    "always": "every word",
    "unexpected": "the sampled posteriors do not expect several links of the word",
    "apart": "they do not see two neighbouring words as its partners",
    "content": "the word is not among the very frequent ones",
    "identity": "the word is not a given one of the most frequent ones (of one language pair, by its nature)",
}
DEFAULT_WORD_GROUPS = ("always", "content")


def word_feature_names(groups: Sequence[str], resources: Resources) -> tuple[str, ...]:
    """Return the names of all features of words, those of source words first."""
    found = []
    for side, vocabulary in zip(
        SIDES, (resources.source_vocabulary, resources.target_vocabulary), strict=True
    ):
        for group in groups:
            if group == "identity":
                words = vocabulary.words[:IDENTITIES]
                found += [f"extra.{side}.other.{word}" for word in words]
            else:
                found.append(f"extra.{side}.{group}")
    return tuple(found)


def compute_word_features(block: Block, groups: Sequence[str]) -> WordFeatures:
    """Return the features of the words of a block, not yet scaled.

    With f the posterior that a word was made by another (forward: target words by source words; reverse: the
    other way), e = sum f over what a word has made, and b the largest of min(f, f') over two neighbours it
    has made: ``unexpected`` is 1 - clip(e - 1, 0, 1), ``apart`` 1 - b; both are 1 where nothing was sampled
    and there are no tables. ``content`` is 1 for words of less than 2 in 1,000 tokens.
    """
    sides = [
        np.concatenate([_GROUP_COLUMNS[group](block, turned) for group in groups], axis=1, dtype=np.float32)
        for turned in (False, True)
    ]
    return WordFeatures(sides[0], sides[1], word_feature_names(groups, block.resources))


def join_word_features(
    parts: Sequence[WordFeatures], groups: Sequence[str], resources: Resources
) -> WordFeatures | None:
    """Put the words of several blocks one after the other; None without groups."""
    if not groups:
        return None
    names = word_feature_names(groups, resources)
    own = sum(name.startswith(f"extra.{SIDES[0]}.") for name in names)
    nothing = (np.zeros((0, own), dtype=np.float32), np.zeros((0, len(names) - own), dtype=np.float32))
    return WordFeatures(
        np.concatenate([nothing[0], *(part.source for part in parts)]),
        np.concatenate([nothing[1], *(part.target for part in parts)]),
        names,
    )


def _side(block: Block, turned: bool) -> Side:
    return block.target if turned else block.source


def _always(block: Block, turned: bool) -> np.ndarray:
    return np.ones((len(_side(block, turned).tokens), 1))


def _unexpected(block: Block, turned: bool) -> np.ndarray:
    return 1 - np.clip(_made_by(block, turned)[0][:, None] - 1, 0, 1)


def _apart(block: Block, turned: bool) -> np.ndarray:
    return 1 - np.minimum(_made_by(block, turned)[1][:, None], 1)


def _content(block: Block, turned: bool) -> np.ndarray:
    rare: np.ndarray = _side(block, turned).log_frequencies[:, None] < np.log(FREQUENT)
    return rare


def _identity(block: Block, turned: bool) -> np.ndarray:
    """Return 1 for every word but a column's own."""
    side = _side(block, turned)
    others: np.ndarray = side.words[side.tokens][:, None] != np.arange(min(IDENTITIES, side.size))
    return others


# The columns of a group for the source words, or turned for the target words.
_GROUP_COLUMNS: dict[str, Callable[[Block, bool], np.ndarray]] = {
    "always": _always,
    "unexpected": _unexpected,
    "apart": _apart,
    "content": _content,
    "identity": _identity,
}


def _made_by(block: Block, turned: bool) -> np.ndarray:
    found = block.shared(sampled_posteriors)
    made = np.empty((2, len(_side(block, turned).tokens)), dtype=np.float32)
    _made(found.reverse if turned else found.forward, block.shapes, block.offsets, turned, made)
    return made


@kernel
def _made(  # type: ignore[no-untyped-def]
    posteriors, shapes, offsets, turned, made
):
    """Fill ``made`` with the sum over each word's edges, and the largest of the lesser of two neighbours."""
    made[:] = 0.0
    base = 0
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        words, others = (m, n) if turned else (n, m)
        down, right = (1, m) if turned else (m, 1)
        for j in range(words):
            total, both, before = 0.0, np.float32(0.0), np.float32(0.0)
            for k in range(others):
                here = posteriors[offsets[i] + j * down + k * right]
                total += here
                both = max(both, min(here, before))
                before = here
            made[0, base + j], made[1, base + j] = total, both
        base += words
