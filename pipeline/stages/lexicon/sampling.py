"""The part of the stage ``lexicon`` that samples who translates whom (:mod:`align.statistics.sampler`).

Leaves beside the lexicon ``links/`` (:class:`align.statistics.expected_links.ExpectedLinks`), from which the
posteriors of any text follow, and ``posteriors/corpus`` and ``posteriors/gold``
(:class:`align.statistics.posteriors.Posteriors`), a row for each part of either: those of the pairs that were
sampled.

The candidates and the chains are pieces of work by themselves
(:mod:`pipeline.stages.lexicon.sampling_files`), shared out to threads of this process or to a cluster; what
they add up to is put together here in one fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, save_array
from align.data.corpus import Corpus
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import PosteriorAppender, Posteriors
from align.statistics.sampler import Average, SampledLinks, Schedule, expected_links, schedule_for
from align.statistics.sampler_priors import LexicalPrior
from pipeline.stages.lexicon.copies import distinct, spread
from pipeline.stages.lexicon.places import CORPUS, GOLD, LINKS, POSTERIORS, WORK, text_folders
from pipeline.stages.lexicon.sampling_files import (
    BlockItem,
    Blocks,
    BlockSums,
    ChainItem,
    drop_damaged_pieces,
    find_candidates,
    load_priors,
    sample_chain,
    save_priors,
    settings_of,
)
from pipeline.stages.preprocess.copies import NO_COPIES, load_copies
from pipeline.stages.preprocess.gold import SAME
from pipeline.work import budget
from pipeline.work.checkpoint import wait_for
from pipeline.work.resources import show_size
from pipeline.work.stage import StageContext

MAX_CHAINS = 100

# Tokens of both sides in a block of pairs.
_BLOCK_TOKENS = 250_000


def sample_links(
    context: StageContext,
    lexicon: Lexicon,
    used: np.ndarray,
    *,
    chains: int,
    priors: tuple[LexicalPrior, LexicalPrior] | None = None,
) -> None:
    """Sample the pairs that the statistics are of.

    Parameters
    ----------
    context : StageContext
        That of the stage ``lexicon``.
    lexicon : Lexicon
        Its tables, which are in the stage's folder.
    used : ndarray of bool, shape (N,)
        Which pairs of :func:`texts` they are of.
    chains : int
        As the stage's option, not 0.
    priors : tuple of LexicalPrior, optional
        Of both directions.
    """
    if not used.any():
        return
    work = context.folder / WORK
    work.mkdir(exist_ok=True)
    damaged = drop_damaged_pieces(work)
    if damaged:
        context.say(f"{damaged} pieces of an earlier run cannot be read whole; they are made anew")
    if priors is not None:
        save_priors(work, priors)
    text = _cut(context, work, used)
    schedule = schedule_for(text.pairs)
    if chains > 0:
        schedule = replace(schedule, chains=chains)
    items = [
        ChainItem(
            *(str(work), len(text.blocks), side, chain, text.longest[side]),
            *(schedule, context.seed, priors is not None),
        )
        for chain, side in product(range(schedule.chains), range(2))
    ]
    stems = priors is not None and priors[0].stems is not None
    _sample(context, lexicon, text, items, schedule, stems=stems)
    sampled = _put_together(context, lexicon, text.blocks, items)
    both = None if priors is None else load_priors(work)
    expected_links(lexicon, sampled, both).save(context.folder / LINKS)
    context.notes |= {"pairs_sampled": text.pairs, "chains": schedule.chains}


def _sample(
    context: StageContext,
    lexicon: Lexicon,
    text: _Text,
    items: list[ChainItem],
    schedule: Schedule,
    *,
    stems: bool,
) -> None:
    """Have candidates found and chains run, on as many threads as have room or on the cluster."""

    def takes(workers: int) -> int:
        words = len(lexicon.source_counts) + len(lexicon.target_counts)
        return budget.sampling_memory(
            *(lexicon.cells, text.tokens, words),
            workers=workers,
            longest=max(text.longest),
            stems=stems,
        )

    remote = context.engine.remote
    workers = 1 if remote else budget.most_workers(takes, context.memory, context.jobs)
    context.note("memory_predicted", max(context.notes["memory_predicted"], takes(workers)))
    found = sum(context.share(find_candidates, text.blocks, workers=workers))
    where = f"{context.engine.workers()} workers of the cluster" if remote else f"{workers} at a time"
    context.say(
        f"sampling {text.pairs} pairs, {found} likely links, {schedule.chains} chains each way, {where}, "
        f"about {show_size(takes(workers))} of memory{' here' if remote else ''}"
    )
    done = sum(item.folder.exists() for item in items)
    if done:
        context.say(f"{done} of {len(items)} chains are there already")
    sweeps = schedule.lexical + schedule.jumps + schedule.fertility
    for _ in context.share(sample_chain, items, workers=workers, unit="chains", steps=sweeps):
        pass
    if remote:
        wait_for([block.folder for block in text.blocks])
        wait_for([item.folder for item in items])


@dataclass(frozen=True)
class _Text:
    """What is sampled: pairs, blocks of them, tokens of both sides, the longest sentence of either side."""

    pairs: int
    blocks: list[BlockItem]
    tokens: int
    longest: tuple[int, int]


def _cut(context: StageContext, work: Path, used: np.ndarray) -> _Text:
    """Cut the pairs that are used into blocks of about as many tokens; none has pairs of two texts.

    Of copies of a pair the first is taken, with their number as its weight.
    """
    blocks: list[BlockItem] = []
    pairs, tokens, longest, start = 0, 0, (0, 0), 0
    for folder in text_folders(context):
        shapes = Corpus.load_shapes(folder)
        copies = load_copies(context.inputs["preprocess"]) if folder.name == CORPUS else NO_COPIES
        rows, weights = distinct(used[start : start + len(shapes)], copies)
        start += len(shapes)
        shapes = shapes[rows]
        path = work / f"{folder.name}.npy"
        save_array(path, rows)
        save_array(path.with_suffix(".weights.npy"), weights)
        pairs += len(rows)
        sizes = np.cumsum(shapes.sum(axis=1, dtype=np.int64))
        edges = np.flatnonzero(np.diff(sizes // _BLOCK_TOKENS, prepend=0))
        cuts = np.unique([0, *edges, len(rows)]).tolist()
        for first, last in pairwise(cuts):
            blocks.append(BlockItem(str(work), len(blocks), str(folder), str(path), first, last))
        tokens += int(sizes[-1]) if len(rows) else 0
        longest = tuple(np.maximum(longest, shapes.max(axis=0, initial=0)).tolist())
    return _Text(pairs, blocks, tokens, longest)


def _put_together(
    context: StageContext, lexicon: Lexicon, blocks: list[BlockItem], items: list[ChainItem]
) -> tuple[SampledLinks, SampledLinks]:
    """Add up the chains, write the posteriors, and return the links sampled; one block at a time."""
    work = context.folder / WORK
    own = [[item for item in items if item.side == side] for side in range(2)]
    text = [Blocks(work, len(blocks), side) for side in range(2)]
    averages = [Average(settings_of(chains[0], lexicon)) for chains in own]
    folder = context.inputs["preprocess"]
    gold, copies = _Gold(context), load_copies(folder)
    whole = context.folder / POSTERIORS / CORPUS
    once = work / "once" if len(copies) else whole
    with PosteriorAppender(once, Corpus.load_count(folder / CORPUS)) as out:
        for item in blocks:
            both = [side[item.number] for side in text]
            ahead, back = (
                average.add(block, (BlockSums.load(chain.folder, item.number) for chain in chains))
                for average, block, chains in zip(averages, both, own, strict=True)
            )
            found = Posteriors.of_candidates(
                (both[0].hidden_starts, both[1].hidden_starts),
                (both[0].candidates, both[1].candidates),
                forward=ahead,
                reverse=back,
            )
            (out if Path(item.text).name == CORPUS else gold).append(item.rows, found)
    if len(copies):
        spread(once, whole, copies)
    gold.save(context.folder / POSTERIORS)
    forward, reverse = (
        average.links([load_array(chain.folder / "jumps.npy") for chain in chains])
        for average, chains in zip(averages, own, strict=True)
    )
    return forward, reverse


class _Gold:
    """The posteriors of the gold text, which is short; a pair that is in the corpus has those there."""

    def __init__(self, context: StageContext) -> None:
        folder = context.inputs["preprocess"]
        self._same = load_array(folder / SAME) if (folder / GOLD).is_dir() else None
        self._parts: list[tuple[np.ndarray, Posteriors]] = []

    def append(self, rows: np.ndarray, found: Posteriors) -> None:
        self._parts.append((rows, found))

    def save(self, folder: Path) -> None:
        """Write them beside those of the corpus, which are there."""
        if self._same is None:
            return
        there = np.flatnonzero(self._same >= 0)
        parts = [*self._parts, (there, Posteriors.load_chosen(folder / CORPUS, self._same[there]))]
        whole = Posteriors.join([found for _, found in parts])
        rows = np.concatenate([rows for rows, _ in parts])
        order = np.argsort(rows)
        whole.take(order).placed(rows[order], len(self._same)).save(folder / GOLD)
