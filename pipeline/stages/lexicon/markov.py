"""The part of the stage ``lexicon`` that learns the hidden Markov model (:mod:`align.statistics.markov`).

Leaves ``markov/`` beside the lexicon (:class:`align.statistics.posteriors.Links`), from which the posteriors
of any text follow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from align.data.corpus import Corpus
from align.statistics import markov
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import Links
from align.statistics.sampler import Known
from pipeline.stages.lexicon.sampling import texts
from pipeline.work.stage import StageContext

MARKOV = "markov"
MOST_ROUNDS = 100


def learn_links(
    context: StageContext,
    lexicon: Lexicon,
    used: np.ndarray,
    *,
    rounds: int,
    known: tuple[Known, Known] | None = None,
) -> None:
    """Learn from the pairs that the statistics are of.

    Parameters
    ----------
    context : StageContext
        That of the stage ``lexicon``.
    lexicon : Lexicon
        Its tables.
    used : ndarray of bool, shape (N,)
        Which pairs of :func:`pipeline.stages.lexicon.sampling.texts` they are of.
    rounds : int
        As the stage's option, not 0.
    known : tuple of Known, optional
        What is known of the links beforehand; its jumps are not used.
    """
    parts, start = [], 0
    for part in texts(context):
        parts.append(part.take(np.flatnonzero(used[start : start + len(part)])))
        start += len(part)
    corpus = Corpus.join(parts) if parts[1:] else parts[0]
    del parts
    if known is not None:
        known = replace(known[0], jumps=None), replace(known[1], jumps=None)
    likelihoods: list[tuple[float, float]] = []
    progress = iter(context.progress(range(rounds), total=rounds, unit="rounds"))

    def on_round(forward: float, reverse: float) -> None:
        likelihoods.append((round(forward, 1), round(reverse, 1)))
        next(progress, None)

    context.say(f"hidden Markov model of {len(corpus)} pairs")
    both = markov.train(corpus, lexicon, rounds=rounds, known=known, jobs=context.jobs, on_round=on_round)
    next(progress, None)
    Links.of(lexicon, *both, known).save(context.folder / MARKOV)
    context.note("markov_log_likelihoods", likelihoods)
