"""Statistics of the very text that is to be aligned: for pairs of languages of which there is no model."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from align.core.ragged import SIDES, offsets_of
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary, WordCounter
from align.features import Resources
from align.model.folder import Model
from align.model.pairs import as_text, split_long
from align.model.weights import Weights
from align.statistics import candidates
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.mapper import Threads
from align.statistics.posteriors import Posteriors
from align.statistics.sampler import (
    Average,
    Block,
    ChainSettings,
    Sums,
    expected_links,
    run_chain,
    schedule_for,
)
from align.statistics.sampler_priors import from_spelling
from align.statistics.stems import MOST_PAIRS, WEIGHT
from align.text.processor import Tokens

# Measured on texts cut from gold of Hansards, Swedish, Spanish, Italian and Bulgarian. Even a single pair is
# better sampled than left to spelling and place, which alone miss half of the links and more.
EXPECTATION = (
    "there is no model here but weights: statistics are made of the given text alone; expect an error rate "
    "(AER) of 35 to 55 % for a single pair, 15 to 30 % for 50 pairs, 8 to 25 % for 500; for better ones run "
    "the pipeline on a bitext (liaison run --config) and take the model it leaves in latest/train"
)


class NoModelWarning(UserWarning):
    """Said where weights are loaded in place of a model."""


# The code for a language that is not known (ISO 639-2).
UNKNOWN_LANGUAGES = ("und", "und")


def model_of(given: Weights, resources: Resources, languages: tuple[str, str], *, where: Path) -> Model:
    """Return weights with statistics as a model; contractions are undone where the languages have rules."""
    own = given.of_features(resources, where=where)
    settings = {"profile": "expand", "tokenizer": "rules"}
    text = {side: {"language": code, **settings} for side, code in zip(SIDES, languages, strict=True)}
    return Model(**vars(own), resources=resources, text=text)


def no_text() -> Resources:
    """Return the statistics of no text."""
    return Resources(None, None, None, Vocabulary([], []), Vocabulary([], []))


class OwnText(NamedTuple):
    """A text of N pairs, and what is known of it from itself.

    Attributes
    ----------
    resources : Resources
        Vocabularies of all its words; lexicon and expected links, but for a text without words.
    parts : ndarray of int64, shape (N + 1,)
        Pair i is the parts ``parts[i]`` to ``parts[i + 1]``: very long pairs have several.
    posteriors : Posteriors or None
        Of all parts; None for a text without words.
    """

    resources: Resources
    parts: np.ndarray
    posteriors: Posteriors | None


def learn(pairs: Iterable[tuple[Tokens, Tokens]], *, seed: int = 0) -> OwnText:
    """Make the statistics of a text, in memory.

    Parameters
    ----------
    pairs : iterable of (Tokens, Tokens)
        The text; it is gone through once.
    seed : int
        Of the sampler, >= 0.

    Returns
    -------
    OwnText
        The same for the same text, whatever the machine.
    """
    texts = [_Side() for _ in SIDES]
    counts = []
    for pair in pairs:
        parts = split_long(*pair)
        counts.append(len(parts))
        for part in parts:
            for side, tokens, (start, stop) in zip(texts, pair, part, strict=True):
                side.add(tokens.analysis[start:stop])
    (source, source_words), (target, target_words) = (side.ranked() for side in texts)
    corpus = Corpus(source, target)
    offsets = offsets_of(counts)
    used = np.flatnonzero((corpus.shapes() > 0).all(axis=1))
    resources = Resources(None, None, None, source_words, target_words)
    if not len(used):
        return OwnText(resources, offsets, None)
    threads = Threads(os.cpu_count() or 1)
    sampled = corpus.take(used)
    lexicon = estimate(sampled, len(source_words), len(target_words), mapper=threads)
    posteriors, links = _sample(sampled, lexicon, resources, threads, seed)
    resources = replace(resources, lexicon=lexicon, links=links)
    return OwnText(resources, offsets, posteriors.placed(used, len(corpus)))


class _Side:
    """The words of one side, as they come."""

    def __init__(self) -> None:
        self._words = WordCounter()
        self._numbers: list[np.ndarray] = []

    def add(self, words: list[str]) -> None:
        ones = np.ones(len(words), dtype=np.int64)
        self._numbers.append(self._words.add([as_text(word) for word in words], ones))

    def ranked(self) -> tuple[Sentences, Vocabulary]:
        """Return the sentences over the vocabulary of all words."""
        vocabulary, ids = self._words.rank()
        offsets = offsets_of([len(numbers) for numbers in self._numbers])
        tokens = ids[np.concatenate([np.zeros(0, dtype=np.int32), *self._numbers])]
        return Sentences(tokens, offsets, np.zeros(len(tokens), dtype=np.int32)), vocabulary


def _sample(
    corpus: Corpus, lexicon: Lexicon, words: Resources, threads: Threads, seed: int
) -> tuple[Posteriors, ExpectedLinks]:
    """Sample the links of all pairs of a text; none has an empty side."""
    stems = WEIGHT if len(corpus) <= MOST_PAIRS else 0.0
    priors = from_spelling(lexicon, words.source_words.whole, words.target_words.whole, stems=stems)
    both = candidates.find(corpus, lexicon)
    schedule = schedule_for(len(corpus))
    longest = corpus.shapes().max(axis=0).tolist()
    blocks = [Block.of(corpus, both, side) for side in range(len(SIDES))]
    settings = [
        ChainSettings.of(lexicon, side, longest[side], schedule, seed=seed, prior=priors[side])
        for side in range(len(SIDES))
    ]

    def run(side: int, chain: int) -> tuple[Sums, np.ndarray]:
        sums = Sums.zeros(blocks[side])
        return sums, run_chain(settings[side], [blocks[side]], [sums], chain=chain)

    done = threads.map(run, list(product(range(len(SIDES)), range(schedule.chains))))
    found, links = [], []
    for side in range(len(SIDES)):
        own = done[side * schedule.chains : (side + 1) * schedule.chains]
        average = Average(settings[side])
        found.append(average.add(blocks[side], (sums for sums, _ in own)))
        links.append(average.links([jumps for _, jumps in own]))
    starts = corpus.source.offsets, corpus.target.offsets
    posteriors = Posteriors.of_candidates(starts, both, forward=found[0], reverse=found[1])
    return posteriors, expected_links(lexicon, (links[0], links[1]), priors)
