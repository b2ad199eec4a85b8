"""The part of the stage ``lexicon`` that samples who translates whom (:mod:`align.sampler`).

Leaves beside the lexicon ``links/`` (:class:`align.posteriors.Links`), from which the posteriors of any text
follow, and ``posteriors/corpus`` and ``posteriors/gold`` (:class:`align.posteriors.Posteriors`), a row for
each part of either: those of the pairs that were sampled.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

import numpy as np

from align import candidates, sampler
from align.arrays import load_array
from align.corpus import Corpus
from align.features.edges import edge_offsets
from align.lexicon import Lexicon
from align.posteriors import Links, Posteriors
from align.sampler import Known
from pipeline.preprocess_gold import SAME
from pipeline.stage import StageContext
from pipeline.usage import show_size

LINKS, POSTERIORS = "links", "posteriors"
MOST_CHAINS = 100

# Bytes a candidate: its place, its cell, its probability, and what of it is kept.
_BYTES_PER_CANDIDATE = 2 + 4 + 2 + 4
# Pairs that tell how many candidates there are, and how much of that is kept free.
_TRIED, _SPARE = 1000, 1.1
# Bytes a cell: the lexicon, then counts, sums and results of both directions.
_BYTES_PER_CELL = 16 + 2 * (4 + 8 + 4)
# Bytes a token: ids, parents, links, probabilities of NULL and a copy of the text.
_BYTES_PER_TOKEN = 32


def texts(context: StageContext) -> list[Corpus]:
    """Return the corpus and, where its text joins the corpus, the gold text."""
    folder = context.inputs["preprocess"]
    parts = [Corpus.load(folder / "corpus")]
    if context.option("gold.in_corpus") and (folder / "gold").is_dir():
        parts.append(Corpus.load(folder / "gold"))
    return parts


def sample_links(
    context: StageContext,
    lexicon: Lexicon,
    used: np.ndarray,
    *,
    chains: int,
    known: tuple[Known, Known] | None = None,
) -> None:
    """Sample the pairs that the statistics are of, as many as fit the memory.

    Parameters
    ----------
    context : StageContext
        That of the stage ``lexicon``.
    lexicon : Lexicon
        Its tables.
    used : ndarray of bool, shape (N,)
        Which pairs of :func:`texts` they are of.
    chains : int
        As the stage's option, not 0.
    known : tuple of Known, optional
        What is known of the links beforehand.
    """
    whole = Corpus.join(texts(context))
    chosen = _fitting(context, whole, lexicon, used)
    if not len(chosen):
        return
    corpus = whole.take(chosen)
    del whole
    schedule = sampler.schedule_for(len(corpus))
    if chains > 0:
        schedule = replace(schedule, chains=chains)
    both = candidates.find(corpus, lexicon, jobs=context.jobs)
    context.say(f"sampling {len(corpus)} pairs, {len(both[0])} likely links, {schedule.chains} chains")
    sweeps = 2 * schedule.chains * (schedule.lexical + schedule.jumps + schedule.fertility)
    progress = iter(context.progress(range(sweeps), total=sweeps, unit="sweeps"))
    lock = Lock()

    def on_sweep() -> None:
        with lock:
            next(progress, None)

    forward, reverse = sampler.sample(
        corpus,
        both,
        lexicon,
        schedule=schedule,
        known=known,
        seed=context.seed,
        jobs=context.jobs,
        on_sweep=on_sweep,
    )
    next(progress, None)
    Links.of(lexicon, forward, reverse, known).save(context.folder / LINKS)
    found = Posteriors.of_candidates(corpus, both, forward.posterior, reverse.posterior)
    _save(context, found.placed(chosen, len(used)))
    for key, value in (("pairs_sampled", len(corpus)), ("chains", schedule.chains)):
        context.note(key, value)


def _fitting(context: StageContext, corpus: Corpus, lexicon: Lexicon, used: np.ndarray) -> np.ndarray:
    """Return the pairs that are sampled, ascending: gold text first, the others by chance, while they fit."""
    size = len(Corpus.load(context.inputs["preprocess"] / "corpus"))
    wanted = np.flatnonzero(used)
    shuffled = np.random.default_rng(context.seed).permutation(wanted[wanted < size])
    order = np.concatenate([wanted[wanted >= size], shuffled])
    shapes = sampler.shapes_of(corpus)[order]
    tried = corpus.take(np.sort(order[:_TRIED]))
    found = sum(map(len, candidates.find(tried, lexicon)))
    an_edge = found / max(1, int(edge_offsets(sampler.shapes_of(tried))[-1]))
    needed = _SPARE * _BYTES_PER_CANDIDATE * an_edge * edge_offsets(shapes)[1:]
    needed += _BYTES_PER_TOKEN * np.cumsum(shapes.sum(axis=1))
    needed += _BYTES_PER_CELL * lexicon.cells
    count = int(np.searchsorted(needed, context.memory, side="right"))
    if count < len(order):
        context.warn(
            f"sampling {count} of {len(order)} pairs: all take {show_size(int(needed[-1]))} of "
            f"{show_size(context.memory)}; give a larger --memory to sample all"
        )
    return np.sort(order[:count])


def _save(context: StageContext, found: Posteriors) -> None:
    """Write the posteriors of the corpus and those of the gold text, sampled or not.

    A gold pair that is in the corpus has those of its part there.
    """
    folder = context.inputs["preprocess"]
    size = len(Corpus.load(folder / "corpus"))
    found.block(0, size).save(context.folder / POSTERIORS / "corpus")
    if not (folder / "gold").is_dir():
        return
    same = load_array(folder / SAME)
    rows = np.where(same < 0, np.arange(len(same)) + size, same)
    if len(found) == size:  # the gold text did not join
        rows = same[same >= 0]
        gold = found.take(rows).placed(np.flatnonzero(same >= 0), len(same))
    else:
        gold = found.take(rows)
    gold.save(context.folder / POSTERIORS / "gold")
